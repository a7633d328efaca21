"""Measurement of turns: the calls and the time of each turn, and the medians of several turns."""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from bench.turns.wire import SEARCH, Wire, WireCall, rounds

KIB = 1_024
MILLISECONDS = 1_000
SHORT = 100  # messages; measured turns change the cost of a chat of this length or less
MIN_TURNS = 3
MAX_ERROR_CHARACTERS = 160


@dataclass(frozen=True)
class Turn:
    """One turn: its calls to DynamoDB and S3 until the answer was stored, and its duration."""

    calls: tuple[WireCall, ...]
    seconds: float

    @property
    def searches(self) -> int:
        """The number of vector searches among the calls."""
        return sum(call.name == SEARCH for call in self.calls)


class Talk(Protocol):
    """A chat in which turns can be measured."""

    def turn(self) -> object:
        """Carry out the measured turn: post a message, read the context, post the answer."""
        ...

    def settle(self) -> None:
        """Do the work between two turns, which is not measured.

        Raise an error if the last turn was incomplete.
        """
        ...


def series(
    wire: Wire, messages: int, begin: Callable[[int, str], Talk], *, turns: int, seconds: float
) -> list[Turn]:
    """Measure turns in chats of one length. In each chat, the first turn is not counted.

    Each turn in a short chat gets a new chat, because the chat would grow too much. In a long chat,
    all turns follow each other: at least three, and more while time is left.

    Args:
        wire: Counts the calls.
        messages: The number of messages in the chat when a turn begins.
        begin: Makes a chat, given its number of messages and a unique name.
        turns: The maximum number of turns.
        seconds: The time limit in seconds.
    """
    give_up = time.monotonic() + seconds
    found: list[Turn] = []
    talk: Talk | None = None
    for number in range(turns):
        if len(found) >= MIN_TURNS and time.monotonic() > give_up:
            break
        if talk is None or messages <= SHORT:
            talk = begin(messages - 2, f"{messages}n{number}")
            talk.turn()
            talk.settle()
        found.append(measured(wire, talk.turn))
        talk.settle()
    return found


def measured(wire: Wire, turn: Callable[[], object]) -> Turn:
    """Carry out one turn, and return its calls and its duration."""
    wire.calls.clear()
    begun = time.perf_counter()
    turn()
    seconds = time.perf_counter() - begun
    return Turn(tuple(wire.calls), seconds)


@dataclass(frozen=True)
class Row:
    """One line of the table: the medians of several turns at one length of chat.

    Attributes:
        who: Skein, or the peer whose turns were measured.
        messages: The number of messages in the chat before the turns.
        turns: The number of measured turns.
        calls: The requests to tables and S3.
        searches: The vector searches.
        rounds: The rounds of calls in the turn with the fewest rounds. The fewest count, because
            calls that start together sometimes don't overlap by chance, while calls that wait for
            each other never overlap.
        by_name: The number of calls of each operation in the last turn.
        reads: The capacity units of the calls that read; `writes` has those of the calls that
            write.
        searched_kib: The KiB of the passages that vector searches found.
        error: Why there are no figures; None if there are.
    """

    who: str
    messages: int
    turns: int = 0
    calls: float = 0
    searches: float = 0
    rounds: int = 0
    sent_kib: float = 0
    received_kib: float = 0
    units: float = 0
    reads: float = 0
    writes: float = 0
    searched_kib: float = 0
    milliseconds: float = 0
    by_name: dict[str, int] | None = None
    error: str | None = None

    @property
    def kib(self) -> float:
        """The KiB sent and received."""
        return self.sent_kib + self.received_kib

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def row_of(who: str, messages: int, turns: Sequence[Turn]) -> Row:
    """Return the medians of some turns."""

    def median(of: Callable[[Turn], float]) -> float:
        return statistics.median(map(of, turns))

    return Row(
        who=who,
        messages=messages,
        turns=len(turns),
        calls=median(lambda turn: len(turn.calls) - turn.searches),
        searches=median(lambda turn: turn.searches),
        rounds=min(rounds(turn.calls) for turn in turns),
        sent_kib=median(lambda turn: sum(call.sent for call in turn.calls)) / KIB,
        received_kib=median(lambda turn: sum(call.received for call in turn.calls)) / KIB,
        units=median(lambda turn: sum(call.units for call in turn.calls)),
        reads=median(lambda turn: sum(call.reads for call in turn.calls)),
        writes=median(lambda turn: sum(call.writes for call in turn.calls)),
        searched_kib=median(lambda turn: sum(call.searched for call in turn.calls)) / KIB,
        milliseconds=median(lambda turn: turn.seconds) * MILLISECONDS,
        by_name=dict(sorted(Counter(call.name for call in turns[-1].calls).items())),
    )


def failed_row(who: str, messages: int, error: BaseException) -> Row:
    """Return the row of turns that failed."""
    line = f"{type(error).__name__}: {error}".replace("\n", " ")
    return Row(who=who, messages=messages, error=line[:MAX_ERROR_CHARACTERS])
