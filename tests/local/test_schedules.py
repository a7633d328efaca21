"""Schedules by the local clock, and the clock itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from local.clock import TurnableClock
from local.errors import BadTemplateError
from local.functions import Functions
from local.schedules import Schedules, parse
from local.template import Function, Schedule
from tests.fakes.system import FixedClock

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
def test_what_is_no_schedule_is_refused(expression: str) -> None:
    with pytest.raises(BadTemplateError):
        parse(expression)


class Ticks:
    """In place of `Functions`: remembers events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def invoke(self, _function: Function, event: dict[str, Any]) -> None:
        self.events.append(event)


def test_however_far_the_clock_is_turned_a_rule_fires_once() -> None:
    clock, ticks = FixedClock(NOW), Ticks()
    function = Function(
        logical_id="Tick",
        code=Path(),
        handler="tick.handler",
        timeout=50,
        memory=128,
        environment={},
        routes=(),
        queues=(),
        schedules=(Schedule("TickEveryMinute", "rate(1 minute)", None),),
    )
    schedules = Schedules([function], functions=cast("Functions", ticks), clock=clock)
    assert (schedules.fire_due(), schedules.fire_due()) == (1, 0)
    clock.advance(3600)
    assert (schedules.fire_due(), schedules.fire_due()) == (1, 0)
    event = ticks.events[-1]
    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")
    assert event["time"] == "2026-02-18T16:07:02Z"
    assert event["resources"][0].endswith("rule/TickEveryMinute")


def test_how_far_the_clock_was_turned_is_kept(tmp_path: Path) -> None:
    TurnableClock(tmp_path / "clock").turn(timedelta(days=2))
    clock = TurnableClock(tmp_path / "clock")
    clock.turn(timedelta(hours=1))
    assert TurnableClock(tmp_path / "clock").ahead == timedelta(days=2, hours=1)


def test_the_clock_does_not_turn_back() -> None:
    with pytest.raises(ValueError, match="advanced"):
        TurnableClock().turn(timedelta(seconds=-1))
