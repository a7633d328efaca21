"""A text and its answer, with a death at every single call to the outside on the way."""

import random
from collections.abc import Callable

import pytest

from tests.faults.deployment import PARTS, deaths, every_death, in_parts, named
from tests.faults.texting_story import TextLine, first_text, known_phone, lost_jobs

PAIRS = 30

Story = Callable[[], TextLine]

each_story = pytest.mark.parametrize("story", [first_text, known_phone, lost_jobs])


def undisturbed(story: Story) -> list[str]:
    """The calls to the outside when all goes well, in order."""
    world = story()
    world.tell()
    world.check()
    return list(world.fuse.calls)


def test_when_all_goes_well_every_function_has_its_part() -> None:
    world = known_phone()
    world.tell()
    world.check()
    calls = world.fuse.calls
    assert calls[0] == "verifier.verify"
    assert calls.count("sms.send") == 1
    # The answer, a note at once, another behind it, and a summary for the session to come.
    assert calls.count("model.complete") == 4
    assert len(world.model.requests) == 2  # the answer to the text before that, and this one
    assert calls[-1] == "table.query_index"


@in_parts
@each_story
def test_wherever_a_function_dies_one_answer_reaches_the_phone(story: Story, part: int) -> None:
    calls = undisturbed(story)
    for strike in every_death(calls)[part::PARTS]:
        with named(strike, calls=calls):
            world = story()
            world.plan(strike)
            world.tell()
            assert world.deaths == 1
            world.check(lost_answers=1)


@each_story
def test_whatever_dies_while_it_makes_good_for_a_death_one_answer_reaches_the_phone(
    story: Story,
) -> None:
    calls, chance = undisturbed(story), random.Random(story.__name__)
    for _ in range(PAIRS):
        first, second = chance.choices(deaths(calls), k=2)
        with named(first, second, calls=calls):
            world = story()
            world.plan(first, second)
            world.tell()
            world.check(lost_answers=world.deaths)
