"""A function that is held up while others do its work, and then goes on as if nothing had been."""

import pytest

from tests.faults import team_story, texting_story
from tests.faults.deployment import CHANGING, Strike, named
from tests.faults.sampling import FaultShare


def delays(calls: list[str]) -> list[Strike]:
    """A long delay before each call that changes something outside.

    Not before a text is handed over: Twilio takes the same text twice, and only the invocation's
    own end keeps a worker from that.
    """
    numbers = [number for number, call in enumerate(calls, 1) if call in CHANGING - {"sms.send"}]
    return [Strike(number, after=False, holds_up=True) for number in numbers]


@pytest.mark.parametrize("story", texting_story.STORIES)
def test_sms_delayed_call_delivers_one_answer(
    story: texting_story.Story, share: FaultShare
) -> None:
    calls = texting_story.sweep(story).fuse.calls
    for strike in share.of(delays(calls)):
        with named(strike, calls=calls):
            world = story()
            world.plan(strike)
            world.tell()
            world.check(lost_answers=1)


@pytest.mark.parametrize("story", team_story.STORIES)
def test_tool_calls_delayed_call_take_effect_once(
    story: team_story.Story, share: FaultShare
) -> None:
    calls = team_story.sweep(story).fuse.calls
    for strike in share.of(delays(calls)):
        with named(strike, calls=calls):
            world = story()
            world.plan(strike)
            world.play()
            world.check(lost_answers=1)
