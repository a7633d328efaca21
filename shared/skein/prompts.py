"""Every word that is said to a model comes from a file in `prompts/`, strictly rendered.

So do the few that people are told in an agent's name (`notice_*`).
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

LAYER_PROMPTS = Path("/opt/prompts")
REPOSITORY_PROMPTS = Path(__file__).resolve().parents[2] / "prompts"


class PromptTemplate(Template):
    """`$name` and `${name}` are filled in; `$$` is a dollar sign."""

    flags = re.VERBOSE  # names are case-sensitive


def prompts_root() -> Path:
    """The folder of the prompts: the layer's in the cloud, the repository's elsewhere."""
    return LAYER_PROMPTS if LAYER_PROMPTS.is_dir() else REPOSITORY_PROMPTS


@cache
def load(name: str) -> PromptTemplate:
    """Read the template `prompts/<name>.md`; files do not change while a process lives.

    Raises:
        FileNotFoundError: There is no such prompt.
    """
    return PromptTemplate((prompts_root() / f"{name}.md").read_text(encoding="utf-8").strip())


def render(name: str, variables: Mapping[str, str] | None = None) -> str:
    """Fill the template `name` with exactly the variables that it names.

    Raises:
        FileNotFoundError: There is no such prompt.
        KeyError: The template names a variable that was not given.
        ValueError: A variable was given that the template does not name, or a `$` stands alone.
    """
    template = load(name)
    given = dict(variables or {})
    unused = given.keys() - set(template.get_identifiers())
    if unused:
        raise ValueError(f"prompt {name!r} does not use {sorted(unused)}")
    return template.substitute(given)
