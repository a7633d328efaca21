"""Templates of all texts for models, in `prompts/`. A missing or unused variable is an error.

The notices that people receive in an agent's name (`notice_*`) are templates, too.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

LAYER_PROMPTS = Path("/opt/prompts")
REPOSITORY_PROMPTS = Path(__file__).resolve().parents[2] / "prompts"


class PromptTemplate(Template):
    """A template in which `$name` and `${name}` are variables and `$$` is a dollar sign."""

    flags = re.VERBOSE  # names are case-sensitive


def prompts_root() -> Path:
    """Return the folder of the prompts: in the Lambda layer, or else in the repository."""
    return LAYER_PROMPTS if LAYER_PROMPTS.is_dir() else REPOSITORY_PROMPTS


@cache
def load(name: str) -> PromptTemplate:
    """Read the template `prompts/<name>.md`, once per process.

    Raises:
        FileNotFoundError: There is no such prompt.
    """
    return PromptTemplate((prompts_root() / f"{name}.md").read_text(encoding="utf-8").strip())


def render(name: str, variables: Mapping[str, str] | None = None) -> str:
    """Render the template `name` with exactly the variables that the template names.

    Raises:
        FileNotFoundError: There is no such prompt.
        KeyError: A variable of the template is missing.
        ValueError: The template does not use a given variable, or has a `$` without a name.
    """
    template = load(name)
    given = dict(variables or {})
    unused = given.keys() - set(template.get_identifiers())
    if unused:
        raise ValueError(f"prompt {name!r} does not use {sorted(unused)}")
    return template.substitute(given)
