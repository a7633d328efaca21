"""Texts and tools, while every single write of the table in turn fails, or leaves it unclear."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import mobile_api
import sms_webhook
from skein.errors import Ambiguous, Contention, Throttled, Unavailable
from tests.faults import team_story, texting_story
from tests.faults.deployment import WRITES, Deployment, Strike, named
from tests.faults.sampling import FaultShare

FAILURES = (Contention, Throttled, Unavailable, Ambiguous)


def of_every_kind(call: int) -> Iterator[Strike]:
    """Everything that can become of a write but its success."""
    yield Strike(call, after=True, error=Ambiguous)
    for failure in FAILURES:
        yield Strike(call, after=False, error=failure)


def in_turn(call: int) -> Iterator[Strike]:
    """Success without an answer, and one of the failures, which hardly anybody tells apart."""
    yield Strike(call, after=True, error=Ambiguous)
    yield Strike(call, after=False, error=FAILURES[call % len(FAILURES)])


def strikes(calls: list[str], kinds: Callable[[int], Iterator[Strike]]) -> list[Strike]:
    """List the failures of each call that writes to the table."""
    writes = [number for number, call in enumerate(calls, 1) if call in WRITES]
    return [strike for number in writes for strike in kinds(number)]


def believe_answers(world: Deployment) -> None:
    """Fail once a webhook is accepted without its message, or refused as our fault with it."""
    known = stored(world)

    def compare(function: ModuleType, answer: Any) -> None:
        nonlocal known
        before, known = known, stored(world)
        if function in {sms_webhook, mobile_api}:
            if answer["statusCode"] >= 500:
                assert known == before, "what was stored is called a failure"
            else:
                assert known > before, "what was not stored is called a success"

    world.watchers.insert(0, compare)


def stored(world: Deployment) -> int:
    """How many messages and runs there are."""
    return sum(sk.startswith(("MSG#", "RUN#")) for _, sk in world.table.all_keys())


@pytest.mark.parametrize("story", texting_story.STORIES)
def test_sms_failed_write_delivers_one_answer(
    story: texting_story.Story, share: FaultShare
) -> None:
    calls = texting_story.sweep(story).fuse.calls
    for strike in share.of(
        strikes(calls, of_every_kind if story is texting_story.first_sms else in_turn)
    ):
        with named(strike, calls=calls):
            world = story()
            believe_answers(world)
            world.plan(strike)
            world.tell()
            world.check(lost_answers=1)


@pytest.mark.parametrize("story", team_story.STORIES)
def test_tool_calls_failed_write_take_effect_once(
    story: team_story.Story, share: FaultShare
) -> None:
    calls = team_story.sweep(story).fuse.calls
    for strike in share.of(strikes(calls, in_turn)):
        with named(strike, calls=calls):
            world = story()
            believe_answers(world)
            world.plan(strike)
            world.play()
            world.check(lost_answers=1)
