"""An agent that acts in several places, asks and waits, with a death at every single call."""

import random
from collections.abc import Callable

import pytest

from tests.faults.deployment import PARTS, deaths, in_parts, named
from tests.faults.team_story import STORIES, Team

PAIRS = 12

Story = Callable[[], Team]

each_story = pytest.mark.parametrize("story", STORIES)


def undisturbed(story: Story) -> list[str]:
    """The calls to the outside when all goes well, in order."""
    world = story()
    world.play()
    world.check()
    return list(world.fuse.calls)


@in_parts
@each_story
def test_wherever_a_function_dies_every_effect_happens_once(story: Story, part: int) -> None:
    calls = undisturbed(story)
    for strike in deaths(calls)[part::PARTS]:
        with named(strike, calls=calls):
            world = story()
            world.plan(strike)
            world.play()
            assert world.deaths == 1
            world.check(lost_answers=1)


@each_story
def test_whatever_dies_while_it_makes_good_for_a_death_every_effect_happens_once(
    story: Story,
) -> None:
    calls, chance = undisturbed(story), random.Random(story.__name__)
    for _ in range(PAIRS):
        first, second = chance.choices(deaths(calls), k=2)
        with named(first, second, calls=calls):
            world = story()
            world.plan(first, second)
            world.play()
            world.check(lost_answers=world.deaths)
