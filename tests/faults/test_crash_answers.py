"""A model is asked again after an answer that cannot be used, with a death at every call."""

from collections.abc import Callable

import pytest

from tests.faults.answer_story import STORIES, Retrying
from tests.faults.deployment import deaths, every_death, named
from tests.faults.sampling import Share, pairs
from tests.support.webhooks import Webhook

PAIRS = 12

Story = Callable[[], Retrying]

each_story = pytest.mark.parametrize("story", STORIES)
TEXT = Webhook.recorded("sms_webhook")


def undisturbed(story: Story) -> list[str]:
    """The calls to the outside when all goes well, in order."""
    world = story()
    world.tell(TEXT)
    world.check()
    return list(world.fuse.calls)


@each_story
def test_retried_answer_death_asks_once_more_and_posts_once(story: Story, share: Share) -> None:
    calls = undisturbed(story)
    for strike in share.of(every_death(calls)):
        with named(strike, calls=calls):
            world = story()
            world.plan(strike)
            world.tell(TEXT)
            assert world.deaths == 1
            world.check(lost_answers=1)


@each_story
def test_retried_answer_second_death_asks_once_more_and_posts_once(
    story: Story, share: Share
) -> None:
    calls = undisturbed(story)
    for first, second in share.of(pairs(deaths(calls), PAIRS, seed=story.__name__)):
        with named(first, second, calls=calls):
            world = story()
            world.plan(first, second)
            world.tell(TEXT)
            world.check(lost_answers=world.deaths)
