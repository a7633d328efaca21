"""Which pairs are played in which place, and the report of what was played.

Each pair is played in one place: those of a pair's kinds of chats take turns. Pairs that are
impossible in all kinds are told with the reason.
"""

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.steps import Story
from tests.stories.moves import MOVES, PLACES, Place
from tests.stories.telling import report_of
from tests.stories.walk import Pair, Tour

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "pairs"
SEED = 1


@dataclass(frozen=True)
class Share:
    """Some of the pairs of a place, with the deaths of workers between them or without."""

    place: Place
    dies: bool
    pairs: tuple[Pair, ...]

    @property
    def name(self) -> str:
        """Of the report."""
        return f"{self.place.name}{'-deaths' if self.dies else ''}"


def nowhere() -> dict[Pair, str]:
    """The pairs of moves that have no kind of chat in common, each with the reason."""
    return {
        (one, other): MOVES[one].where.elsewhere or MOVES[other].where.elsewhere
        for one in MOVES
        for other in MOVES
        if not _places(one, other)
    }


def _places(one: str, other: str) -> list[str]:
    both = MOVES[one].where.kinds & MOVES[other].where.kinds
    return [name for name, place in PLACES.items() if place.kind in both]


def shares(of: float = 1) -> list[Share]:
    """All pairs, or a part of them, by place.

    Args:
        of: The part.
    """
    draws = random.Random(SEED)
    by_place: defaultdict[str, list[Pair]] = defaultdict(list)
    for n, one in enumerate(MOVES):
        for k, other in enumerate(MOVES):
            places = _places(one, other)
            if places and draws.random() < of:
                by_place[places[(n + k) % len(places)]].append((one, other))
    return [
        Share(PLACES[name], dies, tuple(pairs))
        for name, pairs in sorted(by_place.items())
        for dies in (False, True)
    ]


def play(share: Share, seed: object = SEED) -> tuple[Tour, list[str]]:
    """Play a share; return the tour and what went wrong, with the shortest story of each kind."""
    tour = Tour.of(share.place, share.pairs, dies=share.dies, seed=f"{seed} {share.name}")
    failed: dict[str, tuple[Story, Exception]] = {}

    def note(story: Story, wrong: Exception) -> None:
        kind = str(wrong).partition(":")[0]
        if kind not in failed or len(story) < len(failed[kind][0]):
            failed[kind] = (story, wrong)

    tour.play(note)
    return tour, [report_of(story, wrong) for story, wrong in failed.values()]


def write(share: Share, tour: Tour) -> None:
    """Write what a share has played, for the report."""
    CACHE.mkdir(parents=True, exist_ok=True)
    told = {
        "played": sorted(" > ".join(pair) for pair in tour.played),
        "impossible": {" > ".join(pair): why for pair, why in sorted(tour.impossible.items())},
        "stories": tour.stories,
        "moves": tour.moves,
        "deaths": tour.deaths,
    }
    (CACHE / f"{share.name}.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


def report(names: Iterable[str]) -> Mapping[str, int]:
    """Write the page of all pairs from what the shares wrote, and return its sums."""
    parts = [json.loads((CACHE / f"{name}.json").read_text("utf-8")) for name in names]
    played = {pair for part in parts for pair in part["played"]}
    never = {pair: why for part in parts for pair, why in part["impossible"].items()}
    never |= {" > ".join(pair): why for pair, why in nowhere().items()}
    never = {pair: why for pair, why in never.items() if pair not in played}
    lines = ["# Pairs of moves", "", *(f"- {pair}" for pair in sorted(played))]
    lines += ["", "# Impossible", "", *(f"- {pair}: {why}" for pair, why in sorted(never.items()))]
    (CACHE / "pairs.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sums = {name: sum(part[name] for part in parts) for name in ("stories", "moves", "deaths")}
    return {"moves of the list": len(MOVES), "pairs": len(played), "impossible": len(never), **sums}


if __name__ == "__main__":
    told = report(each.name for each in shares())
    sys.stdout.write(
        "pairs: " + ", ".join(f"{count:,} {name}" for name, count in told.items()) + "\n"
    )
