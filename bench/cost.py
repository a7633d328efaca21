"""What a turn cost, and several turns of one kind together."""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from bench.turns.wire import Wire, WireCall, rounds

KIB = 1_024
MILLISECONDS = 1_000
SHORT = 100  # messages of a chat that would change its cost while it is measured
MIN_TURNS = 3
MAX_ERROR_CHARACTERS = 160


@dataclass(frozen=True)
class Turn:
    """One turn: all calls to DynamoDB and S3 until its answer was stored, and how long it took."""

    calls: tuple[WireCall, ...]
    seconds: float


class Talk(Protocol):
    """A chat that can be gone on with."""

    def turn(self) -> object:
        """One message in, its context, one answer: what is measured."""
        ...

    def settle(self) -> None:
        """What is between two turns and not measured; raises where the turn was no whole one."""
        ...


def series(
    wire: Wire, messages: int, begin: Callable[[int, str], Talk], *, turns: int, seconds: float
) -> list[Turn]:
    """Turns in chats of so many messages, each after one that is not counted.

    A short chat would soon be a longer one, so each of its turns is made in a chat of its own. Of a
    long one as many are made as there is time for, but three.

    Args:
        wire: Counts the calls.
        messages: How many there are when a turn begins.
        begin: Makes a chat, given how many messages it holds and a name of its own.
        turns: How many, if time allows.
        seconds: How much time there is.
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
    """Carry out one turn and see what it costs."""
    wire.calls.clear()
    begun = time.perf_counter()
    turn()
    seconds = time.perf_counter() - begun
    return Turn(tuple(wire.calls), seconds)


@dataclass(frozen=True)
class Row:
    """One line of the table: the medians of several turns at one length of chat.

    Attributes:
        who: Whose turns they are.
        messages: How many messages the chat held before them.
        turns: How many were measured.
        rounds: The least of the turns: calls that are made at once overlap but for chance, and
            those that wait for each other never do.
        by_name: How often each operation was called in the last of the turns.
        error: Why there are no figures.
    """

    who: str
    messages: int
    turns: int = 0
    calls: float = 0
    rounds: int = 0
    sent_kib: float = 0
    received_kib: float = 0
    units: float = 0
    milliseconds: float = 0
    by_name: dict[str, int] | None = None
    error: str | None = None

    @property
    def kib(self) -> float:
        """Both ways together."""
        return self.sent_kib + self.received_kib

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def row_of(who: str, messages: int, turns: Sequence[Turn]) -> Row:
    """The medians of some turns."""

    def median(of: Callable[[Turn], float]) -> float:
        return statistics.median(map(of, turns))

    return Row(
        who=who,
        messages=messages,
        turns=len(turns),
        calls=median(lambda turn: len(turn.calls)),
        rounds=min(rounds(turn.calls) for turn in turns),
        sent_kib=median(lambda turn: sum(call.sent for call in turn.calls)) / KIB,
        received_kib=median(lambda turn: sum(call.received for call in turn.calls)) / KIB,
        units=median(lambda turn: sum(call.units for call in turn.calls)),
        milliseconds=median(lambda turn: turn.seconds) * MILLISECONDS,
        by_name=dict(sorted(Counter(call.name for call in turns[-1].calls).items())),
    )


def failed_row(who: str, messages: int, error: BaseException) -> Row:
    """What is known of turns that could not be made."""
    said = f"{type(error).__name__}: {error}".replace("\n", " ")
    return Row(who=who, messages=messages, error=said[:MAX_ERROR_CHARACTERS])
