"""An agent that acts in several places, asks and waits, with a death at every single call."""

import pytest

from tests.faults.sampling import FaultShare
from tests.faults.team_story import STORIES, Story, sweep

PAIRS = 12

each_story = pytest.mark.parametrize("story", STORIES)


@each_story
def test_tool_calls_death_take_effect_once(story: Story, share: FaultShare) -> None:
    sweep(story).one_death(share)


@each_story
def test_tool_calls_second_death_take_effect_once(story: Story, share: FaultShare) -> None:
    sweep(story).two_deaths(share, PAIRS, seed=story.__name__)
