"""The sections of a prompt: each a pure function from what was read to a `Section`.

A section starts a line with its name. It is rendered once and never parsed back.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from skein.models.agent import Agent, ReplyMode
from skein.models.base import rfc3339
from skein.ports import TokenCounter
from skein.prompts import render


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a prompt.

    Attributes:
        name: In capitals, as it stands in the text.
        text: The whole section, its name included.
        tokens: Its exact size.
        volatile: Whether it changes from turn to turn, and so belongs behind what does not.
    """

    name: str
    text: str
    tokens: int
    volatile: bool = False


def section(name: str, body: str, counter: TokenCounter, *, volatile: bool = False) -> Section:
    """A section of the given name, counted."""
    text = f"{name}:\n{body}"
    return Section(name, text, counter.count(text), volatile)


def identity(agent: Agent, counter: TokenCounter) -> Section:
    """Who the agent is, in its owner's words."""
    lines = [f"  name: {quoted(agent.name)}", f"  id: {agent.id}"]
    if agent.system_prompt.strip():
        lines += ["", agent.system_prompt.strip()]
    return section("IDENTITY", "\n".join(lines), counter)


def instructions(mode: ReplyMode, counter: TokenCounter) -> Section:
    """How an answer reaches people."""
    return section("INSTRUCTIONS", render(f"instructions_{mode}"), counter)


def now(moment: datetime, agent: Agent, counter: TokenCounter) -> Section:
    """The clock, in UTC and as the agent's own wall clock shows it."""
    local = moment.astimezone(ZoneInfo(agent.time_zone))
    body = f"  {rfc3339(moment)} ({local:%A %Y-%m-%d %H:%M} in {agent.time_zone})"
    return section("NOW", body, counter, volatile=True)


def quoted(text: str) -> str:
    """`text` as a JSON string in which every kind of line separator is escaped.

    Whatever somebody typed stays inside its quotes and on its line.
    """
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}" for character in plain
    )
