"""Content of docs/prompts.md: the sections of prompts, and four whole prompts."""

from skein.models.common.prompt_sections import SECTIONS
from skein.models.runs.completion import ModelRequest
from tests.support.prompt_situations import SITUATIONS
from tools.reference.markdown import table

HEAD = """# Prompts

The sections of a prompt in their order, and four whole prompts as the model gets them.
[How a prompt is made](context.md#how-a-prompt-is-made) has the rules. `GET /v1/runs/{run_id}` shows
the prompt of a run, and `GET /v1/agents/{agent_id}/context?chat_id=` previews one.

`make reference` writes this page.

## Sections

A section without content is left out.

"""


def page() -> str:
    """Return docs/prompts.md in Markdown."""
    rows = ((f"`{name}`", source, why) for name, (source, why, _) in SECTIONS.items())
    sections = table("section", "content", "why it may be shown", rows=rows)
    return HEAD + sections + "".join(map(_situation, SITUATIONS))


def shown(request: ModelRequest) -> str:
    """Return the messages of a request as text, each below a line with its role."""
    return "\n\n".join(f"--- {each.role}\n{each.content}" for each in request.messages)


def _situation(name: str) -> str:
    play = SITUATIONS[name]
    words = " ".join((play.__doc__ or "").split())
    return f"\n## {name[0].upper()}{name[1:]}\n\n{words}\n\n```text\n{shown(play().request)}\n```\n"
