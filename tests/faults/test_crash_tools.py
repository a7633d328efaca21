"""An agent that acts in several places, asks and waits, with a death at every single call."""

from collections.abc import Callable

import pytest

from tests.faults.sampling import Share
from tests.faults.sweeps import Sweep
from tests.faults.team_story import STORIES, Team

PAIRS = 12

Story = Callable[[], Team]

each_story = pytest.mark.parametrize("story", STORIES)


def sweep(story: Story) -> Sweep[Team]:
    return Sweep(
        story,
        play=lambda world: world.play(),
        check=lambda world: world.check(lost_answers=world.deaths),
    )


@each_story
def test_tool_calls_death_take_effect_once(story: Story, share: Share) -> None:
    sweep(story).one_death(share)


@each_story
def test_tool_calls_second_death_take_effect_once(story: Story, share: Share) -> None:
    sweep(story).two_deaths(share, PAIRS, seed=story.__name__)
