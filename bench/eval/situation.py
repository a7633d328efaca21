"""A situation: what happens, what is expected of the agent, and two scripts for a model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from bench.eval.stage import Stage
from skein.trials.models.expectation import Expectation, PartOfCall, Played

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


Missing = str | None
"""What is expected and not met, in words; None if it is met."""


class Expected(NamedTuple):
    """What is expected of texts of an agent, with texts on which it is tried.

    Attributes:
        expect: The expectations, all of which must be met.
        right: Texts that meet them, in different words.
        wrong: Texts that do not.
    """

    expect: tuple[Expectation, ...]
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def missing(self, texts: Sequence[str]) -> Missing:
        """Return what the texts do not meet; None if they meet all expectations."""
        found = (each.missing(Played(texts=tuple(texts))) for each in self.expect)
        return "; ".join(filter(None, found)) or None


def one_of(*phrases: str) -> Expectation:
    """Return the expectation that a text has one of some phrases."""
    return Expectation(says=phrases)


def none_of(*phrases: str) -> Expectation:
    """Return the expectation that no text has one of some phrases."""
    return Expectation(says_not=phrases)


def calls(tool: str) -> Expectation:
    """Return the expectation that an agent calls a tool."""
    return Expectation(calls=PartOfCall(tool=tool, arguments={}))


def unless(met: object, missing: str) -> Missing:
    """Return what is missing if a condition of the stage itself is not met."""
    return None if met else missing


ANSWERS = one_of(*"aeiou")
"""A text has a word."""

SILENT = Expected((Expectation(silent=True),), right=(), wrong=())


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
        play: Plays the situation and yields for each expectation what is missing.
        right: A script that is right.
        wrong: A script that is wrong.
    """

    name: str
    ability: Ability
    play: Callable[[Stage], Iterable[Missing]]
    right: Script
    wrong: Script


def call(name: str, /, **arguments: object) -> ToolCall:
    """Return a call of a tool."""
    return ToolCall(name, arguments)


def says(text: str, **more: object) -> tuple[ToolCall, ToolCall]:
    """Return calls that send a text, to the active chat if `more` names none, and end the run."""
    return call("send_message", text=text, **more), call("end_run")
