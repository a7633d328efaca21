"""A situation: what happens, what is expected of the agent, and two scripts for a model."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, NamedTuple

from bench.eval.stage import Stage

Ability = Literal[
    "knows who asked",
    "speaks in the right chat",
    "borrows",
    "waits",
    "stays silent",
    "switches a thread",
    "keeps a secret",
    "remembers across channels",
    "honours a reset",
    "forgets on request",
    "follows no planted order",
    "works with documents",
    "reckons with numbers and dates",
    "asks and hears",
    "writes an SMS",
]


FLAGS = re.IGNORECASE | re.DOTALL


class Check(NamedTuple):
    """One expectation, and whether it was met."""

    expected: str
    met: bool


@dataclass(frozen=True, slots=True)
class Goal:
    """What is expected of texts of an agent, with texts on which the patterns are tried.

    Attributes:
        expected: The expectation in words.
        wants: A pattern that one of the texts has, in any case.
        bars: A pattern that none of the texts has; empty for none.
        right: Texts that meet the expectation, in different words.
        wrong: Texts that do not.
    """

    expected: str
    wants: str
    bars: str = ""
    _: KW_ONLY
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def of(self, texts: Sequence[str]) -> Check:
        """Return whether texts meet the expectation."""
        found = any(re.search(self.wants, text, FLAGS) for text in texts)
        barred = self.bars and any(re.search(self.bars, text, FLAGS) for text in texts)
        return Check(self.expected, met=found and not barred)


class ToolCall(NamedTuple):
    """A tool's name and its arguments."""

    name: str
    arguments: Mapping[str, Any]


Turn = str | ToolCall | Sequence[ToolCall]
"""What a scripted model answers to one request: a text, or calls of tools."""

ScriptedTurn = Turn | Callable[[Stage], Turn]


@dataclass(frozen=True, slots=True)
class Script:
    """What a scripted model answers in one situation.

    Attributes:
        turns: The answers of each agent, in order. Further requests are answered with silence.
        memories: The answers to consolidations, in order; later ones find nothing to remember.
    """

    turns: Mapping[str, Sequence[ScriptedTurn]] = field(default_factory=dict)
    memories: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation.

    Attributes:
        name: A sentence on what the agent does.
        ability: The ability that it tests.
        play: Plays the situation and yields what was expected and whether it was met.
        right: A script that is right.
        wrong: A script that is wrong.
    """

    name: str
    ability: Ability
    play: Callable[[Stage], Iterable[Check]]
    right: Script
    wrong: Script


def call(name: str, /, **arguments: object) -> ToolCall:
    """Return a call of a tool."""
    return ToolCall(name, arguments)


def says(text: str, **more: object) -> tuple[ToolCall, ToolCall]:
    """Return calls that send a text, to the active chat if `more` names none, and end the run."""
    return call("send_message", text=text, **more), call("end_run")
