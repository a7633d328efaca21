"""A situation: what happens, what is expected of the agent, and two scripts for a model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from bench.eval.stage import Stage
from skein.trials.models.expectation import Expectation, PartOfCall, Played, missing_of

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


class Heard(list[str]):
    """Texts of an agent that record what is expected of them.

    Attributes:
        come: Whether the texts have come. Before a play, there are none, and nothing is judged.
    """

    def __init__(
        self, expect: list[Expectation], texts: Iterable[str] = (), *, come: bool = False
    ) -> None:
        super().__init__(texts)
        self.expect = expect
        self.come = come

    def __bool__(self) -> bool:
        return not self.come or len(self) > 0

    def __getitem__(self, at: Any) -> Any:
        """Return some of the texts; all of them before a play."""
        if not self.come:
            return self
        found = super().__getitem__(at)
        return Heard(self.expect, found, come=True) if isinstance(at, slice) else found


@dataclass(frozen=True, kw_only=True)
class HeardCalls(Played):
    """Calls of an agent that record what is expected of them, as `Heard` does for texts."""

    expect: list[Expectation]
    come: bool = False


class Expected(NamedTuple):
    """What is expected of an agent, with examples that test the expectations of texts themselves.

    Attributes:
        expect: The expectations, all of which must be met.
        right: Texts that meet the expectations, in different words.
        wrong: Texts that don't meet the expectations.
    """

    expect: tuple[Expectation, ...]
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def missing(self, seen: Sequence[str] | Played) -> Missing:
        """Return the expectations that texts or calls don't meet, in words; None if they do."""
        if isinstance(seen, Heard | HeardCalls):
            seen.expect.extend(each for each in self.expect if each not in seen.expect)
            if not seen.come:
                return None
        played = seen if isinstance(seen, Played) else Played(texts=tuple(seen))
        found = missing_of(self.expect, played)
        return "; ".join(filter(None, found)) or None


def one_of(*phrases: str) -> Expectation:
    """Return the expectation that a text contains at least one of these phrases."""
    return Expectation(says=phrases)


def none_of(*phrases: str) -> Expectation:
    """Return the expectation that no text contains any of these phrases."""
    return Expectation(says_not=phrases)


def calls(tool: str, **arguments: object) -> Expected:
    """Return the expectation that an agent calls a tool with these arguments."""
    part = PartOfCall(tool=tool, arguments=arguments)
    return Expected((Expectation(calls=part),), right=(), wrong=())


def calls_not(tool: str, **arguments: object) -> Expected:
    """Return the expectation that an agent makes no such call."""
    part = PartOfCall(tool=tool, arguments=arguments)
    return Expected((Expectation(calls_not=part),), right=(), wrong=())


def unless(met: object, missing: str) -> Missing:
    """Return None if the condition is met, otherwise what is missing. The check reads the stage."""
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
        turns: The answers of each agent, in order. After the last one, the model stays silent.
        memories: The answers to consolidations, in order. After the last one, consolidations find
            nothing to remember.
    """

    turns: Mapping[str, Sequence[ScriptedTurn]] = field(default_factory=dict)
    memories: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """Something that happens to an agent, and how the agent is judged.

    Attributes:
        name: A sentence on what the agent does.
        ability: The ability that the situation tests.
        play: Plays the situation, and yields what is missing for each expectation.
        right: A script with which the situation must pass.
        wrong: A script with which the situation must fail.
        expect: What a case of the situation expects of its last run, if the checks of the stage
            read what a play doesn't show, such as a document.
    """

    name: str
    ability: Ability
    play: Callable[[Stage], Iterable[Missing]]
    right: Script
    wrong: Script
    expect: tuple[Expectation, ...] = ()


def call(name: str, /, **arguments: object) -> ToolCall:
    """Return a call of a tool."""
    return ToolCall(name, arguments)


def says(text: str, **more: object) -> tuple[ToolCall, ToolCall]:
    """Return the calls that send a text and end the run.

    The text goes to the active chat, unless `more` names another chat.
    """
    return call("send_message", text=text, **more), call("end_run")
