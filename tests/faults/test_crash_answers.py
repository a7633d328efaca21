"""A model is asked again after an answer that cannot be used, with a death at every call."""

from collections.abc import Callable

import pytest

from tests.faults.answer_story import STORIES, Retrying
from tests.faults.deployment import every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.webhooks import Webhook

PAIRS = 12

Story = Callable[[], Retrying]

each_story = pytest.mark.parametrize("story", STORIES)
TEXT = Webhook.recorded("sms_webhook")


def sweep(story: Story) -> Sweep[Retrying]:
    return Sweep(
        story,
        play=lambda world: world.tell(TEXT),
        check=lambda world: world.check(lost_answers=world.deaths),
    )


@each_story
def test_retried_answer_death_asks_once_more_and_posts_once(
    story: Story, share: FaultShare
) -> None:
    sweep(story).one_death(share, of=every_death)


@each_story
def test_retried_answer_second_death_asks_once_more_and_posts_once(
    story: Story, share: FaultShare
) -> None:
    sweep(story).two_deaths(share, PAIRS, seed=story.__name__)
