"""Schedules by the local clock, and the clock itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast, get_args

import pytest

import background_finder
from local.errors import BadTemplateError
from local.functions import Functions
from local.greeting import clock_line
from local.template import TEMPLATE, Function, Schedule, Template
from local.timing.clock import TurnableClock
from local.timing.due_index import DueIndex
from local.timing.schedules import KINDS, Schedules, parse
from skein.models.common.storage import Key, Put
from skein.models.outbox.due import DueKind, due_partition, due_pointer
from skein.services.outbox.pause_scanner import HELD_BACK
from skein.services.outbox.tick import BACKGROUND_KINDS
from skein.services.outbox.tick import KINDS as TICK_KINDS
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.support.builders import World
from tests.support.functions import a_function

NOW = datetime(2026, 2, 18, 15, 7, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "every"),
    [
        ("rate(1 minute)", timedelta(minutes=1)),
        ("rate(2 hours)", timedelta(hours=2)),
        ("rate(1 day)", timedelta(days=1)),
    ],
)
def test_the_time_between_two_firings(expression: str, every: timedelta) -> None:
    assert parse(expression) == every


@pytest.mark.parametrize("expression", ["every day", "rate(1 week)", "cron(0 8 * * ? *)"])
def test_malformed_schedule_is_refused(expression: str) -> None:
    with pytest.raises(BadTemplateError):
        parse(expression)


class Ticks:
    """In place of `Functions`: remembers events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def invoke(self, _function: Function, event: dict[str, Any]) -> None:
        self.events.append(event)


def function(name: str, expression: str, given: str | None = None) -> Function:
    schedule = Schedule(f"{name}Rule", expression, given)
    return a_function(name, handler="tick.handler", timeout=50, schedules=(schedule,))


class Rig:
    """Schedules of some functions, on an empty table."""

    def __init__(self, *functions: Function) -> None:
        self.clock, self.table, self.ticks = FixedClock(NOW), MemoryTable(), Ticks()
        self.schedules = Schedules(
            functions,
            functions=cast("Functions", self.ticks),
            clock=self.clock,
            due_index=DueIndex(self.table),
        )

    def due(self, kind: DueKind, after: timedelta, shard: int = 0) -> None:
        """Store an item that is due, in one shard of the index."""
        key = Key("demo#CHAT#1", f"ITEM#{kind}#{shard}")
        due = due_pointer(kind, key, NOW + after) | {"gsi2pk": due_partition(kind, shard)}
        self.table.write(Put(key, due))


def test_rule_whose_time_has_come_fires_once_however_late_it_is() -> None:
    rig = Rig(function("Tick", "rate(1 minute)"))
    assert (rig.schedules.fire_due(), rig.schedules.fire_due()) == (1, 0)
    rig.clock.advance(3600)
    assert (rig.schedules.fire_due(), rig.schedules.fire_due()) == (1, 0)
    event = rig.ticks.events[-1]
    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")
    assert event["time"] == "2026-02-18T16:07:02Z"
    assert event["resources"][0].endswith("rule/TickRule")


def test_rule_is_useful_at_its_first_time_after_something_is_due() -> None:
    rig = Rig(function("Tick", "rate(1 minute)"), function("BackgroundFinder", "rate(1 hour)"))
    assert rig.schedules.next_useful() is None
    rig.due("consolidation", timedelta(minutes=90))
    assert rig.schedules.next_useful() == NOW + timedelta(hours=2)
    rig.due("run", timedelta(seconds=61))
    assert rig.schedules.next_useful() == NOW + timedelta(minutes=2)


def test_rule_fires_before_its_time_only_if_asked_to() -> None:
    rig = Rig(function("Tick", "rate(1 minute)"))
    rig.schedules.fire_due()
    rig.due("plan", timedelta(seconds=10))
    rig.clock.advance(20)
    assert rig.schedules.fire_useful(early=False) == 0
    assert rig.schedules.fire_useful(early=True) == 1


def test_rule_of_an_unknown_function_is_fired_at_each_of_its_times() -> None:
    rig = Rig(function("Other", "rate(1 hour)"))
    rig.schedules.fire_due()
    assert rig.schedules.next_useful() == NOW + timedelta(hours=1)
    rig.clock.advance(3600)
    assert rig.schedules.fire_useful(early=False) == 1


def test_error_of_a_function_is_logged_with_its_stack_and_other_rules_fire(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(function("Tick", "rate(1 minute)"), function("Other", "rate(1 minute)"))
    fired: list[str] = []

    def invoke(called: Function, _: object) -> None:
        fired.append(called.logical_id)
        raise LookupError("a defect of the handler")

    monkeypatch.setattr(rig.ticks, "invoke", invoke)
    rig.schedules.fire_due()
    assert sorted(fired) == ["Other", "Tick"]
    assert sorted(caplog.messages) == ["Other failed", "Tick failed"]
    assert "LookupError: a defect of the handler" in caplog.text


def test_kinds_of_functions_are_those_that_they_look_for() -> None:
    assert set(KINDS["Tick"]) == {*TICK_KINDS, *BACKGROUND_KINDS, "pause", *World().app.firing}
    assert KINDS["BackgroundFinder"] == background_finder.KINDS
    held_back = set(HELD_BACK)  # looked for only after the end of a pause
    assert {kind for kinds in KINDS.values() for kind in kinds} == {*get_args(DueKind)} - held_back
    scheduled = {each.logical_id for each in Template.load(TEMPLATE).functions if each.schedules}
    assert scheduled == KINDS.keys()


def test_clock_reset_forgets_the_offset(tmp_path: Path) -> None:
    clock = TurnableClock(tmp_path / "clock")
    clock.turn(timedelta(days=2))
    assert clock.reset() == timedelta(days=2)
    assert clock.ahead == TurnableClock(tmp_path / "clock").ahead == timedelta(0)


def test_clock_offset_survives_a_restart(tmp_path: Path) -> None:
    TurnableClock(tmp_path / "clock").turn(timedelta(days=2))
    clock = TurnableClock(tmp_path / "clock")
    clock.turn(timedelta(hours=1))
    assert TurnableClock(tmp_path / "clock").ahead == timedelta(days=2, hours=1)


def test_the_clock_does_not_turn_back() -> None:
    with pytest.raises(ValueError, match="advanced"):
        TurnableClock().turn(timedelta(seconds=-1))


def test_greeting_shows_the_offset_of_a_turned_clock_and_how_to_reset_it() -> None:
    url = "http://127.0.0.1:8787"
    assert clock_line(timedelta(0), url) == "real time"
    assert clock_line(timedelta(days=7, hours=1, microseconds=-9), url) == (
        "7 days, 1:00:00 ahead of real time; reset: "
        """curl -s http://127.0.0.1:8787/local/clock -d '{"reset": true}'"""
    )
