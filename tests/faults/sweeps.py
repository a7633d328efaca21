"""Play a story with deaths of functions, and check that it ends as without any."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tests.faults.deployment import Deployment, Strike, deaths, named
from tests.faults.sampling import Share, pairs

World = TypeVar("World", bound=Deployment)
Deaths = Callable[[list[str]], list[Strike]]


@dataclass(frozen=True)
class Sweep(Generic[World]):
    """A story that is played again for each death, or for each pair of deaths.

    Attributes:
        story: Sets the world up; faults count from its end on.
        play: Plays the story to its end, through all repetitions.
        check: Checks how the story ended; `world.deaths` tells how many functions died.
    """

    story: Callable[[], World]
    play: Callable[[World], object]
    check: Callable[[World], object]

    def undisturbed(self) -> World:
        """Play the story without any fault, and check it."""
        return self._played(())

    def one_death(self, share: Share, *, of: Deaths = deaths) -> None:
        """Play the story once for each death that the share has."""
        calls = list(self.undisturbed().fuse.calls)
        for strike in share.of(of(calls)):
            with named(strike, calls=calls):
                assert self._played([strike]).deaths == 1

    def two_deaths(self, share: Share, count: int, *, seed: str, of: Deaths = deaths) -> None:
        """Play the story once for each random pair of deaths that the share has."""
        calls = list(self.undisturbed().fuse.calls)
        for both in share.of(pairs(of(calls), count, seed=seed)):
            with named(*both, calls=calls):
                self._played(both)

    def _played(self, strikes: Sequence[Strike]) -> World:
        world = self.story()
        if strikes:
            world.plan(*strikes)
        self.play(world)
        self.check(world)
        return world
