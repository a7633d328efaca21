"""Tours through all ordered pairs of moves, each as few stories as possible."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.attacks.steps import Story
from tests.stories.deeds import Fault
from tests.stories.judge import judge
from tests.stories.moves import MOVES, Place
from tests.stories.telling import Telling

Pair = tuple[str, str]
MAX_MOVES = 24  # of a story
MAX_TRIES = 2  # for a pair whose second move is impossible after the first
MOST = 6  # writes until a worker dies
CALLING = frozenset({"approve", "approve by number", "typed yes", "notify", "tell", "look_up"})
"""The moves after which a service is called, so that workers may die at that call."""


@dataclass
class Tour:
    """The pairs of a share that are still to be played, and those that were.

    Attributes:
        open: The second moves that are still to follow each first move.
        played: The number of times that each pair was played.
        impossible: Why a pair cannot be played.
        stories: How many stories were played.
        moves: How many moves these had.
        deaths: How many workers died.
    """

    place: Place
    dies: bool
    open: dict[str, dict[str, int]]
    draws: random.Random
    played: Counter[Pair] = field(default_factory=Counter)
    impossible: dict[Pair, str] = field(default_factory=dict)
    stories: int = 0
    moves: int = 0
    deaths: int = 0

    @classmethod
    def of(cls, place: Place, pairs: Iterable[Pair], *, dies: bool, seed: object) -> "Tour":
        """A tour of some pairs in a place."""
        wanted: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for first, second in pairs:
            wanted[first][second] = 0
        return cls(place, dies, dict(wanted), random.Random(str(seed)))

    def play(self, failed: Callable[[Story, Exception], None]) -> None:
        """Play stories until no pair is left."""
        while first := max(self.open, key=lambda each: len(self.open[each]), default=None):
            self._story(first, failed)

    def _story(self, first: str, failed: Callable[[Story, Exception], None]) -> None:
        telling = Telling(self.place)
        try:
            self._tell(telling, first)
            judge(telling.town)
        except Exception as leak:
            self._close_last(telling)
            failed(tuple(telling.story), leak)
        self.stories += 1
        self.moves += len(telling.story)
        self.deaths += telling.town.deaths

    def _tell(self, telling: Telling, first: str) -> None:
        """Play the pairs of a move, and then those that can follow, as long as there are any."""
        while first in self.open and len(telling.story) < MAX_MOVES:
            second = min(self.open[first], key=self.open[first].__getitem__)
            self._prepare(telling, first, second)
            last = self._do(telling, first)
            why = telling.why_not(MOVES[second]) or f"before {first!r}, it is over"
            if last is not None and second in self.open.get(first, {}):
                last = self._do(telling, second)
            if last is None and second in self.open.get(first, {}):
                self._missed((first, second), why)
            while last is not None and len(telling.story) < MAX_MOVES:
                last = self._follow(telling, last)
            if telling.over:
                return
            self._calm(telling)
            first = max(self.open, key=lambda each: len(self.open[each]), default="")

    def _calm(self, telling: Telling) -> None:
        """End the states in which others would only be refused."""
        for name in (telling.before, telling.last):
            undo = MOVES[name].undo if name is not None else ""
            if undo:
                self._do(telling, undo, calm=True)

    def _prepare(self, telling: Telling, first: str, second: str) -> None:
        """Make both moves possible; when it was tried before, each with what it alone needs."""
        again = self.open[first][second] > 0
        for wanted in (second, first):
            for name in needed(wanted):
                if (again or telling.why_not(MOVES[wanted])) and not telling.why_not(MOVES[name]):
                    self._do(telling, name, calm=True)

    def _do(self, telling: Telling, name: str, *, calm: bool = False) -> str | None:
        """Play a move if it is possible; count its pair with the one before."""
        if telling.why_not(MOVES[name]):
            return None
        before, died = telling.last, telling.died
        try:
            telling.do(MOVES[name], None if calm else self._fault(name, telling))
        finally:
            if before is not None:
                self._count((before, name), died=died)
        return name

    def _fault(self, name: str, telling: Telling) -> Fault | None:
        """The death of a worker of a move; on a second try, of any worker, at its first write."""
        if not self.dies or MOVES[name].by == "fault" or telling.town.fault is not None:
            return None
        if any(self.open.get(name, {}).values()):
            return Fault()
        return Fault(at=self.draws.randint(0 if name in CALLING else 1, MOST), runs=True)

    def _count(self, pair: Pair, *, died: bool) -> None:
        if self.dies and not died:
            if pair[1] in self.open.get(pair[0], {}):
                self._missed(pair, f"no worker is at work after {pair[0]!r}")
            return
        self.played[pair] += 1
        self._close(pair)

    def _close_last(self, telling: Telling) -> None:
        """Play no pair again that ended a story."""
        if telling.last is not None:
            for second in [*self.open.get(telling.last, ())][:1]:
                self._close((telling.last, second))

    def _close(self, pair: Pair) -> None:
        first, second = pair
        if first in self.open:
            self.open[first].pop(second, None)
            if not self.open[first]:
                del self.open[first]

    def _missed(self, pair: Pair, why: str) -> None:
        first, second = pair
        self.open[first][second] += 1
        if self.open[first][second] >= MAX_TRIES:
            self.impossible[pair] = why
            self._close(pair)

    def _follow(self, telling: Telling, last: str) -> str | None:
        """Play a move that is still to follow the last one; None if none can, or the story ends.

        A state in which others would only be refused is ended when one move was tried in it.
        """
        before = telling.before
        if before is not None and MOVES[before].ends:
            return None
        undo = MOVES[before].undo if before is not None else ""
        if undo and last != undo and (done := self._do(telling, undo, calm=True)):
            return done
        open_now = self.open.get(last, {})
        possible = [each for each in open_now if not telling.why_not(MOVES[each])]
        if not possible:
            return None
        fresh = max(possible, key=lambda each: (len(self.open.get(each, ())), each))
        return self._do(telling, fresh)


def needed(name: str) -> list[str]:
    """The moves that make a move possible, in their order."""
    needs = MOVES[name].needs
    return [*needed(needs), needs] if needs else []
