"""The life of a run on one page agrees with what runs write."""

import re
from collections.abc import Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

import pytest

from skein.models.common.storage import AllOf, Check, Condition, Is, Put, Write
from skein.models.runs.run import RunStatus
from skein.services.runs.lifecycle import LIFECYCLE, Event, event_of
from tests.patterns import chats, desk, runs, turns
from tests.patterns.meter import Meter, Pattern
from tests.support.writes import Writes, pattern

STORIES: dict[str, Pattern] = {
    **runs.patterns,
    **turns.patterns,
    **{name: chats.patterns[name] for name in ("remove a member", "discard a chat")},
    **{name: desk.patterns[name] for name in ("take a chat over",)},
}
# Events of races, pauses and limits, which tests of their own play.
NOT_PLAYED = {"no permit", "hold back", "pause"}


class Runs(Writes):
    """Records the writes of runs as events."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[Event, object, set[str]]] = []

    def record(self, method: str, writes: Sequence[Write]) -> None:
        kinds = [pattern(each.key.sk).partition("#*")[0] for each in writes]
        for number, write in enumerate(writes):
            if kinds[number] != "RUN" or "STEP" in write.key.sk or isinstance(write, Check):
                continue
            others = {kind.partition("#")[0] for kind in [*kinds[:number], *kinds[number + 1 :]]}
            values = dict(write.item if isinstance(write, Put) else getattr(write, "set", {}))
            before = _before(write.condition)
            if before is None and not isinstance(write, Put):
                continue  # the tick moves the due pointer, which is no event of the run
            if "told" in values:
                continue  # bits that a service learns are counted while a call runs
            event = event_of(before, values.get("status"), values)
            self.events.append((event, values.get("reason"), others))


def _before(condition: Condition | None) -> RunStatus | None:
    """The status that a condition asks for."""
    parts = condition.conditions if isinstance(condition, AllOf) else (condition,)
    found = [each.value for each in parts if isinstance(each, Is) and each.attribute == "status"]
    return found[0] if found else None


@pytest.fixture(scope="module")
def seen() -> list[tuple[Event, object, set[str]]]:
    found = []
    for story in STORIES.values():
        meter: Meter = Runs()
        story(meter)
        assert isinstance(meter, Runs)
        found += meter.events
    return found


@pytest.mark.check
def test_every_write_of_a_run_is_an_event_of_its_life(seen: Any) -> None:
    for event, reason, others in seen:
        allowed = {each.partition(" ")[0] for each in event.together}
        assert others <= allowed, (event.name, others - allowed)
        assert reason is None or reason in event.reasons, (event.name, reason)


@pytest.mark.check
def test_every_event_happens_in_a_story(seen: Any) -> None:
    assert {event.name for event, _, _ in seen} == {each.name for each in LIFECYCLE} - NOT_PLAYED


def test_every_event_names_the_functions_that_write_it() -> None:
    for event in LIFECYCLE:
        for path in re.split(", ", event.writes):
            module, _, name = path.partition(".")
            package = "skein.services.runs"
            if module == "replies":
                package, (module, _, name) = "skein.services.replies", name.partition(".")
            assert callable(attrgetter(name)(import_module(f"{package}.{module}"))), path
