"""The entry point: `rocenv`, and `python -m rocenv`."""

import sys

# A command imports some hundred modules: many objects, no garbage. At Python's own threshold the collector would look
# through all of them a hundred times.
FEW_COLLECTIONS = 50_000


def main() -> None:
    """Answer `--version` at once; hand everything else to the command line proper."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from rocenv import __version__

        print(f"rocenv {__version__}")  # noqa: T201
        return
    import gc
    import os

    gc.set_threshold(FEW_COLLECTIONS)
    # A stream that was closed by the caller is None here: what would go there goes nowhere.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    from rocenv.cli import ahead

    ahead.begin(arguments)
    from rocenv.cli.app import run

    status = run(arguments)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # told already, or there is nobody to tell
            status = status or 1
    os._exit(status)  # all is said and closed: taking the interpreter apart would cost as much as starting it


if __name__ == "__main__":
    main()
