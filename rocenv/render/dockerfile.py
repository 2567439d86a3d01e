"""The Dockerfile of an image that a profile wants built, from the templates in dockerfiles/ and in the user's folders.

Same recipe, same text, byte for byte: a hash of what it is made of is the built image's tag, so that nothing is built
twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rocenv.errors import UsageError
from rocenv.render.dockerfile_words import FILTERS, Quoted, shown
from rocenv.resources import data_folder

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

    from rocenv.model.recipe import Recipe

END = ".Dockerfile.j2"
_TAG_DIGITS = 16
_LARGEST = 1 << 19  # characters: no Dockerfile is longer, a loop in a template may be


def render_dockerfile(recipe: Recipe, folders: Sequence[str] = ()) -> str:
    """The Dockerfile for a recipe; `folders` may hold templates of the user's, the first wins.

    Raises UsageError for a template that does not exist or is broken, and for a value that may not stand in it.
    """
    import jinja2
    from jinja2.exceptions import SecurityError

    environment = _environment(tuple(folders))
    try:
        template = environment.get_template(recipe.template + END)
        pieces, size = [], 0
        for piece in template.generate(recipe=recipe):
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST:
                raise UsageError(f"the template `{recipe.template}` comes to no end", "look for a loop in it")
    except jinja2.TemplateNotFound as error:
        raise _unknown(environment, str(error.name)) from error
    except jinja2.TemplateSyntaxError as error:
        where = f"{error.filename or error.name}:{error.lineno}"
        raise UsageError(f"`{where}`: {error.message}", "mend the template there") from error
    except (jinja2.TemplateError, SecurityError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        hint = f"mend the template: dockerfiles/{recipe.template}{END}"
        raise UsageError(f"the template `{recipe.template}`: {error}", hint) from error
    return re.sub(r"\n{3,}", "\n\n", "".join(pieces)).strip() + "\n"


def built_reference(recipe: Recipe, profile: str, templates: str, context: str = "") -> str:
    """The name of the image built from a recipe: rocenv/PROFILE:HASH.

    The hash is of all that it is made of: the recipe, the templates and the files to copy from, by their digests.
    What needs no Dockerfile (is it there already?) needs no Jinja.
    """
    whole = "\n".join((recipe.labels["rocenv.image.plan"], templates, context))
    return f"rocenv/{profile.lower()}:{hashlib.sha256(whole.encode()).hexdigest()[:_TAG_DIGITS]}"


@lru_cache(maxsize=4)
def _environment(folders: tuple[str, ...]) -> SandboxedEnvironment:
    """Jinja with nothing but the recipe in it: sandboxed, and every value has to pass a filter.

    That is what autoescape comes to here: text of a template and what filters give is taken as it is, `finalize`
    refuses all else before it could be escaped. `rocenv/NAME` is the built-in template, for one that extends it.
    """
    from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    own = FileSystemLoader(data_folder("dockerfiles"))
    environment = SandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(list(folders)), own, PrefixLoader({"rocenv": own})]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
        finalize=_passed,
    )
    environment.filters.update(FILTERS)
    return environment


def _passed(value: Any) -> Any:
    if isinstance(value, Quoted) or hasattr(value, "__html__"):
        return value
    text = str(value)  # of an undefined one this is the error
    if text == "":
        return Quoted("")
    raise UsageError(
        f"a template writes the value `{text[:60]}` without a filter",
        "end it with one of " + ", ".join(f"`| {name}`" for name in FILTERS),
    )


def _unknown(environment: SandboxedEnvironment, name: str) -> UsageError:
    known = sorted({file.rpartition("/")[2].removesuffix(END) for file in environment.list_templates() if END in file})
    known.remove("base")
    return UsageError(
        f"there is no Dockerfile template {shown(name.removesuffix(END))}", f"there are: {', '.join(known)}"
    )
