"""What `dockerfile` and `build` share: their options, and the plan of an image for a host that may have no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rocenv.cli import console, wishes

if TYPE_CHECKING:
    from rocenv.model.plan import EngineFacts, Plan
    from rocenv.model.wish import Profile

HostPath = Annotated[
    str | None, typer.Option("--host", metavar="PATH", help="For a captured host's GPUs instead of this one's.")
]
Template = Annotated[
    str | None, typer.Option("--template", metavar="NAME", help="This template instead of the profile's.")
]
Gfx = Annotated[
    list[str] | None, typer.Option("--gfx", metavar="TARGET", help="For these targets, whatever GPUs the host has.")
]
Apt = Annotated[list[str] | None, typer.Option("--apt", metavar="PACKAGE", help="Install this with apt, and no other.")]
Pip = Annotated[list[str] | None, typer.Option("--pip", metavar="PACKAGE", help="Install this with pip, and no other.")]


def wished(
    profile: str | None,
    *,
    image: str | None,
    gpus: str | None,
    template: str | None,
    gfx: list[str] | None,
    apt: list[str] | None,
    pip: list[str] | None,
) -> tuple[Profile, bool]:
    """The profile with these options in it, and whether its GPUs are named on the command line."""
    more = {"build.template": template, "build.gfx": gfx, "build.packages.apt": apt, "build.packages.pip": pip}
    found, _ = wishes.read_wishes(profile, gpus=gpus, image=image, more=more)
    if not found.build.wanted:
        found = found._replace(build=found.build._replace(template="on-image"))
    return found, gpus is not None


def planned(
    profile: Profile, *, host: str | None, facts: EngineFacts, lock: str, named: bool, text: bool = True
) -> Plan:
    """The plan whose image is to be built. On a host without a GPU it is planned for none, unless some are named."""
    from rocenv.host import read_host
    from rocenv.lifecycle import held

    seen = read_host(host)
    cpu = not seen.gpus and not named
    if cpu and not profile.build.gfx:
        console.warn("this host has no GPU: what is built is for none in particular (`--host CAPTURE` names a host)")
    return held.planned(profile, seen, facts, wishes.read_request(cpu=cpu), lock, text=text)
