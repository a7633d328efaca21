"""An agent that acts in several places, asks and waits, with a death at every single call."""

from collections.abc import Callable

import pytest

from tests.faults.deployment import deaths, named
from tests.faults.sampling import Share, pairs
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


@each_story
def test_tool_calls_death_take_effect_once(story: Story, share: Share) -> None:
    calls = undisturbed(story)
    for strike in share.of(deaths(calls)):
        with named(strike, calls=calls):
            world = story()
            world.plan(strike)
            world.play()
            assert world.deaths == 1
            world.check(lost_answers=1)


@each_story
def test_tool_calls_second_death_take_effect_once(story: Story, share: Share) -> None:
    calls = undisturbed(story)
    for first, second in share.of(pairs(deaths(calls), PAIRS, seed=story.__name__)):
        with named(first, second, calls=calls):
            world = story()
            world.plan(first, second)
            world.play()
            world.check(lost_answers=world.deaths)
