"""`rocenv profiles`: which profiles there are, what each holds and where from, and whether a file is one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rocenv.cli import console, project
from rocenv.model.wish import Profile

app = typer.Typer(
    rich_markup_mode=None, add_completion=False, help="List, show and check profiles.", no_args_is_help=True
)
Json = Annotated[bool, typer.Option("--json", help="The answer as JSON.")]


@app.command("list")
def list_profiles(as_json: Json = False) -> None:
    """List the profiles that can be used here."""
    from rocenv.profile import available
    from rocenv.report.text import table

    found = available(project.folder())
    if as_json:
        rows = [{"name": one.name, "summary": one.summary, "origin": one.origin} for one in found]
        console.data_json({"version": 1, "status": "ok", "profiles": rows})
    else:
        console.data(table(["profile", "from", "summary"], [[one.name, one.origin, one.summary] for one in found]))


@app.command()
def show(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", show_default=False, help="The profile.")] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Tell for each key which layer set it.")] = False,
    as_json: Json = False,
) -> None:
    """Show a profile with all of its layers laid over each other."""
    from rocenv.profile import load_profile
    from rocenv.report.text import table

    profile = load_profile(name, project=project.folder(), overrides={})
    keys = _flat(profile)
    if as_json:
        origins = {"origins": dict(profile.origins)} if origin else {}
        console.data_json({"version": 1, "status": "ok", "name": profile.name, "keys": keys, **origins})
    elif origin:
        rows = [[key, _shown(value), profile.origins.get(key, "default")] for key, value in keys.items()]
        console.data(table(["key", "value", "set by"], rows))
    else:
        console.data("\n".join(f"{key}: {_shown(value)}" for key, value in keys.items()))


@app.command()
def validate(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="A rocenv.yaml or a profile.")] = Path("rocenv.yaml"),
    as_json: Json = False,
) -> None:
    """Check a file's keys and values without using it."""
    from rocenv.profile.load import check_file

    check_file(file, str(file))
    if as_json:
        console.data_json({"version": 1, "status": "ok", "file": str(file)})
    else:
        console.data(f"{file}: every key and value is sound")


@app.command()
def schema() -> None:
    """Print the JSON Schema of rocenv.yaml and of profiles, for editors."""
    from rocenv.profile.schema import json_schema

    console.data_json(json_schema())


def _flat(profile: Profile) -> dict[str, Any]:
    """What a profile says, by dotted key; keys that say nothing are left out."""
    values = {**profile._asdict(), "origins": None}
    flat: dict[str, Any] = {}

    def put(prefix: str, value: object) -> None:
        if hasattr(value, "_asdict"):  # a part of it, such as `image`
            value = value._asdict()
        if isinstance(value, Mapping):
            for key, one in value.items():
                put(f"{prefix}.{key}" if prefix else key, one)
        elif isinstance(value, (tuple, list)):
            if value:
                flat[prefix] = list(value)
        elif value not in (None, "", False):
            flat[prefix] = value

    put("", values)
    return flat


def _shown(value: object) -> str:
    return (
        ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower() if value is True else str(value)
    )
