"""The table of commands, and the one place where an error becomes words and an exit code.

A command's module is imported when that command is called, so that none pays for another's imports.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence

import typer

from rocenv.cli import console
from rocenv.errors import RocenvError, UsageError

# name → (module, one line). A module has `command` (a Typer command function) or `app` (a Typer of subcommands).
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("rocenv.cli.up", "start a proven container for a profile, or use the one that runs"),
    "stop": ("rocenv.cli.stop", "stop an environment; its container and caches stay"),
    "start": ("rocenv.cli.start", "start a stopped environment, after a look at its devices"),
    "down": ("rocenv.cli.down", "stop and remove environments of this project"),
    "ps": ("rocenv.cli.ps", "list environments"),
    "top": ("rocenv.cli.top", "show who uses which GPU"),
    "prune": ("rocenv.cli.prune", "remove what rocenv made and nobody uses any more"),
    "shell": ("rocenv.cli.shell", "open a shell in a running environment"),
    "exec": ("rocenv.cli.exec", "run a command in a running environment"),
    "run": ("rocenv.cli.run", "run one command in a fresh container, removed afterwards"),
    "lease": ("rocenv.cli.lease", "show who has leased which GPU (`run --lease`), or end one's own leases"),
    "logs": ("rocenv.cli.logs", "show what an environment's container printed"),
    "test": ("rocenv.cli.test", "prove by smoke tests that every GPU of an environment works"),
    "detect": ("rocenv.cli.detect", "show the GPUs, driver, ROCm and access of a host"),
    "doctor": ("rocenv.cli.doctor", "say what keeps ROCm containers from running, and what mends it"),
    "audit": ("rocenv.cli.audit", "say which GPUs an image really has code for, without running it"),
    "plan": ("rocenv.cli.plan", "show what `up` would do, and why"),
    "explain": ("rocenv.cli.explain", "show why that image is chosen, and why no other"),
    "dockerfile": ("rocenv.cli.dockerfile", "show the Dockerfile of a profile's image"),
    "build": ("rocenv.cli.build", "build a profile's image, or check its Dockerfile"),
    "lock": ("rocenv.cli.lock", "pin each profile's image by digest in rocenv.lock; check or renew it"),
    "bundle": ("rocenv.cli.bundle", "carry images, lock and settings to a machine without a network"),
    "images": ("rocenv.cli.images", "list the images that the catalog knows, those that fit this host first"),
    "cdi": ("rocenv.cli.cdi", "write, list and check CDI specifications, by which engines give GPUs by name"),
    "catalog": ("rocenv.cli.catalog", "show what is known of a GPU, a ROCm release, an image family or a hazard"),
    "profiles": ("rocenv.cli.profiles", "list, show and check profiles"),
}
# These pass the command's own exit status through; when rocenv fails around it they end with 125, as docker does.
PASS_THROUGH = frozenset({"run", "exec", "shell"})
AROUND_COMMAND = 125
INTERRUPTED = 130


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status: 0 to 7, 125 around a command, 130 for an interrupt."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in own
    passing = bool(own) and own[0] in PASS_THROUGH
    try:
        status = _dispatch(arguments)
        if status == INTERRUPTED:  # Typer makes this status of a KeyboardInterrupt, in silence
            console.say("interrupted")
        return status
    except RocenvError as error:
        fault = error
    except typer.TyperException as error:
        message = error.format_message().rstrip(".")
        context = getattr(error, "ctx", None)
        fault = UsageError(
            message[:1].lower() + message[1:],
            f"`{context.command_path if context else 'rocenv'} --help` shows what it takes",
        )
    except (KeyboardInterrupt, typer.Abort):
        console.say("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, console.ReaderGoneError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads any more: say nothing while Python closes stdout
        return 0
    except Exception as error:  # the one last resort: a fault of rocenv's own, in words
        if os.environ.get("ROCENV_DEBUG"):
            raise
        fault = RocenvError(
            f"unexpected {type(error).__name__}: {error}",
            "this is a fault of rocenv's own: run it again with ROCENV_DEBUG=1 and report what that shows",
        )
    console.failed(fault, as_json=as_json)
    return AROUND_COMMAND if passing else fault.code


def _dispatch(arguments: Sequence[str]) -> int:
    """Find the command, build it alone with Typer, and run it."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        console.data(_help())
        return 0 if arguments else UsageError.code
    name = arguments[0]
    if name not in COMMANDS:
        what = "option" if name.startswith("-") else "command"
        raise UsageError(f"there is no {what} `{name}`", _nearest(name))
    module = importlib.import_module(COMMANDS[name][0])
    app = getattr(module, "app", None)
    if app is not None and len(arguments) == 1:  # what it can do, as the bare `rocenv` shows
        _dispatch([name, "--help"])
        return UsageError.code
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(context_settings=getattr(module, "CONTEXT", None))(module.command)
    own, behind = list(arguments[1:]), None
    if name in PASS_THROUGH and "--" in own:  # what stands behind `--` is another program's: it goes by unread
        cut = own.index("--")
        own, behind = own[:cut], own[cut + 1 :]
    status = typer.main.get_command(app).main(
        args=own,
        prog_name=f"rocenv {name}",
        standalone_mode=False,
        help_option_names=["-h", "--help"],
        obj=behind,
    )
    return status if isinstance(status, int) else 0


def _nearest(word: str) -> str:
    """A hint with the nearest command, or with the way to see them all."""
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, n=1)
    return f"did you mean `rocenv {close[0]}`?" if close else "`rocenv --help` lists the commands"


def _help() -> str:
    """The commands in the order in which people need them, without importing a single one."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            "rocenv: from a bare host to an AMD GPU container that is known to work, in one command",
            "",
            "usage: rocenv COMMAND [ARGUMENTS]",
            "",
            *lines,
            "",
            "`rocenv COMMAND --help` shows what a command takes. First steps: `rocenv detect`, `rocenv up pytorch`.",
        ]
    )
