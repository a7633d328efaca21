"""Play a story with deaths of functions, and check that it ends as without any."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from tests.faults.deployment import Deployment, Strike, main_deaths, named
from tests.faults.sampling import FaultShare, pairs
from tests.support.fakes import Fuse

World = TypeVar("World", bound=Deployment)
Deaths = Callable[[Fuse], list[Strike]]


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

    @cached_property
    def fuse(self) -> Fuse:
        """The calls of the story without any fault, recorded once."""
        return self.undisturbed().fuse

    def one_death(self, share: FaultShare, *, of: Deaths = main_deaths) -> None:
        """Play the story once for each death that the share has."""
        for strike in share.of(of(self.fuse)):
            with named(strike, calls=self.fuse.calls):
                assert self._played([strike]).deaths == 1

    def two_deaths(
        self, share: FaultShare, count: int, *, seed: str, of: Deaths = main_deaths
    ) -> None:
        """Play the story once for each random pair of deaths that the share has."""
        for both in share.of(pairs(of(self.fuse), count, seed=seed)):
            with named(*both, calls=self.fuse.calls):
                self._played(both)

    def _played(self, strikes: Sequence[Strike]) -> World:
        world = self.story()
        if strikes:
            world.plan(*strikes)
        self.play(world)
        self.check(world)
        return world
