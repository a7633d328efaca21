"""Content of docs/tools.md: each tool of agents, from the registry of tools."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from skein.adapters.openai.model import tools_on_wire
from skein.agent.tools import TOOLS
from skein.interface.tool import Tool
from skein.models.directory.agent import DEFAULT_TOOLS
from skein.ports import TokenCounter
from tools.reference.markdown import table

HEAD = """# Tools of agents

An agent acts through tools: functions that its model can call. `enabled_tools` of the agent lists
its tools (`PATCH /v1/agents/{{agent_id}}`). By default, it has those with "yes" in the column
"given". [Tool calls](runs.md#tool-calls) has the rules for all tools.

The column "effect" says what a tool does: `read` returns content to the model, `send` posts in
chats, `save` changes what Skein keeps, and `end` ends the run. It decides
[when a run ends](runs.md#the-end-of-a-run).

All {tools} tools take {tokens} tokens of a request, the {given} given ones {given_tokens}. Each
tool below has the text that the model gets. Arguments with `?` are optional.

`make reference` writes this page.

"""


def page(counter: TokenCounter) -> str:
    """Return docs/tools.md in Markdown."""
    given = [TOOLS[name] for name in TOOLS if name in DEFAULT_TOOLS]
    head = HEAD.format(
        tools=len(TOOLS),
        tokens=f"{_tokens(TOOLS.values(), counter):,}",
        given=len(given),
        given_tokens=f"{_tokens(given, counter):,}",
    )
    rows = (
        (
            f"[`{each.name}`](#{each.name})",
            "yes" if each in given else "no",
            each.effect,
            str(_tokens([each], counter)),
        )
        for each in TOOLS.values()
    )
    listed = table("tool", "given", "effect", "tokens", rows=rows)
    return head + listed + "".join(map(_section, TOOLS.values()))


def _tokens(tools: Iterable[Tool], counter: TokenCounter) -> int:
    return counter.count(json.dumps(tools_on_wire(tool.spec for tool in tools)))


def _section(tool: Tool) -> str:
    """Return the part of the page that describes one tool, with a table of its arguments."""
    schema: Mapping[str, Any] = tool.spec.parameters
    required = schema.get("required", ())
    rows = [
        (f"`{name}{'' if name in required else '?'}`", _type(part), part.get("description", ""))
        for name, part in schema["properties"].items()
    ]
    arguments = f"\n{table('argument', 'type', 'meaning', rows=rows)}" if rows else ""
    return f"\n## `{tool.name}`\n\n{tool.description}\n{arguments}"


def _type(part: Mapping[str, Any]) -> str:
    if "anyOf" in part:
        return " or ".join(map(_type, part["anyOf"]))
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if part["type"] == "array":
        return f"list of {_type(part['items'])}"
    return str(part["type"])
