"""A group finds a time: the right one, in at most three texts each, whatever dies on the way."""

from functools import partial
from typing import Any

import pytest

from tests.faults.deployment import main_deaths
from tests.faults.sampling import Share
from tests.faults.sweeps import Sweep
from tests.support.meetings import Gathering, MeetingStory, gatherings

MEETINGS = 50
PART = 10
LEAST_RIGHT = 0.95


def _played(gathering: Gathering) -> MeetingStory:
    story = MeetingStory(gathering)
    story.play()
    story.check_private()
    return story


def test_small_groups_find_their_time() -> None:
    for gathering in gatherings(3, seed=7, people=3):
        story = _played(gathering)
        assert story.right, (story.told, gathering.told)


@pytest.mark.slow
def test_generated_groups_find_their_time() -> None:
    """Fifty meetings of 2 to 10 people; those who are not right are shown."""
    stories = [_played(gathering) for gathering in gatherings(MEETINGS)]
    wrong = [(story.told, story.gathering.told) for story in stories if not story.right]
    assert len(wrong) <= MEETINGS * (1 - LEAST_RIGHT), wrong


def _check(story: MeetingStory) -> None:
    assert story.right, (story.told, story.gathering.told)
    story.check_private()


SWEEPS = [
    Sweep(partial(MeetingStory, gathering), play=MeetingStory.play, check=_check)
    for gathering in gatherings(4, seed=11, people=2)
]


@pytest.mark.parametrize(
    "sweep", [SWEEPS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in SWEEPS[1:])]
)
def test_meeting_death_tells_and_asks_once(sweep: Sweep[Any], share: Share) -> None:
    """More than 200 deaths in all, in `make test-slow`."""
    sweep.one_death(share, of=main_deaths)
