"""The Dockerfile of an image that a profile wants built, from the templates in dockerfiles/.

Same input, same text, byte for byte: the text's hash is the built image's tag, so that nothing is built twice.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from typing import TYPE_CHECKING

from rocenv import __version__
from rocenv.errors import UsageError
from rocenv.resources import data_folder

if TYPE_CHECKING:
    from rocenv.model.wish import BuildWish

DEFAULT_TEMPLATE = "on-image"
_TAG_DIGITS = 16
# What a reference may hold (distribution's grammar, loosely): no blank, quote or newline can reach a Dockerfile.
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]*")

_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def render_dockerfile(build: BuildWish, *, base: str, profile: str, gfx: tuple[str, ...]) -> str:
    """The Dockerfile for `build` on the image `base`; `gfx` are the targets that it is meant for.

    Raises UsageError for a template that does not exist and for a base that is no image reference.
    """
    from jinja2 import FileSystemLoader, StrictUndefined, TemplateNotFound
    from jinja2.sandbox import SandboxedEnvironment

    if not _REFERENCE.fullmatch(base):
        raise UsageError(f"`{base}` is no image reference", "give one as NAME:TAG or NAME@sha256:DIGEST")
    environment = SandboxedEnvironment(
        loader=FileSystemLoader(data_folder("dockerfiles")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # a Dockerfile is no HTML; every value passes `sh` or `quoted`
    )
    environment.filters.update(sh=_sh, quoted=_quoted)
    name = build.template or DEFAULT_TEMPLATE
    try:
        template = environment.get_template(f"{name}.Dockerfile.j2")
    except TemplateNotFound as error:
        known = sorted(file.removesuffix(".Dockerfile.j2") for file in environment.list_templates())
        raise UsageError(f"there is no Dockerfile template `{name}`", f"there are: {', '.join(known)}") from error
    # rocenv.image.*: a container inherits its image's labels, and rocenv.* alone marks containers that are rocenv's.
    labels = {
        "rocenv.image.base": base,
        "rocenv.image.gfx": ",".join(gfx),
        "rocenv.image.profile": profile,
        "rocenv.image.version": __version__,
    }
    wrong = next((name for name in build.args if not _ARGUMENT.fullmatch(name)), None)
    if wrong is not None:
        raise UsageError(f"`{wrong}` is no name of a build argument", "letters, digits and `_`, no digit first")
    if build.secrets:
        raise UsageError("`build.secrets` is not served yet", "leave it out, and fetch what needs a secret at run time")
    packages = {kind: tuple(build.packages.get(kind, ())) for kind in ("apt", "dnf", "zypper", "pip")}
    text = template.render(base=base, labels=labels, args=build.args, **packages)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def built_reference(profile: str, dockerfile: str) -> str:
    """The name of the image built from this text: rocenv/PROFILE:HASH."""
    return f"rocenv/{profile.lower()}:{hashlib.sha256(dockerfile.encode()).hexdigest()[:_TAG_DIGITS]}"


def _sh(word: str) -> str:
    """One shell word. A newline would end the RUN instruction, so it is refused."""
    if "\n" in word or "\r" in word:
        raise UsageError(f"a package name holds a line break: {word!r}", "write one package per list entry")
    return shlex.quote(word)


def _quoted(value: str) -> str:
    r"""A double-quoted LABEL value: JSON's quoting, with `$` escaped so that Docker expands nothing."""
    return json.dumps(value).replace("$", "\\$")
