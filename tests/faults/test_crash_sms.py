"""A text and its answer, with a death at every single call to the outside on the way."""

import pytest

from tests.faults.deployment import every_death
from tests.faults.sampling import FaultShare
from tests.faults.texting_story import STORIES, Story, known_phone, sweep

PAIRS = 30

each_story = pytest.mark.parametrize("story", STORIES)


def test_sms_without_fault_calls_every_function() -> None:
    world = known_phone()
    world.tell()
    world.check()
    calls = world.fuse.calls
    assert calls[0] == "verifier.verify"
    assert calls.count("sms.send") == 1
    # The answer, and a summary for the session to come.
    assert calls.count("model.complete") == 2
    assert len(world.model.requests) == 2  # the answer to the text before that, and this one
    assert calls[-1] == "table.query_index"


@each_story
def test_sms_death_delivers_one_answer(story: Story, share: FaultShare) -> None:
    sweep(story).one_death(share, of=every_death)


@each_story
def test_sms_second_death_delivers_one_answer(story: Story, share: FaultShare) -> None:
    sweep(story).two_deaths(share, PAIRS, seed=story.__name__)
