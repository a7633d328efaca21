"""The simulation of the tick and the finders at a small size, and the computed costs."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from bench.scale.assumptions import Assumptions
from bench.scale.cost import Bill, Costs
from bench.scale.limits import Limits
from bench.scale.meter import CallMeter, Lanes, Pace
from bench.scale.report import MARK, facts, filled, number, simulated
from bench.scale.roles import role_of
from bench.scale.scenarios import BEFORE, SCENARIOS, ScenarioResult, Script, played
from bench.scale.stage import Shape, deployment
from bench.scale.traffic import Activity, Traffic
from local.template import ROOT
from tests.fakes.system import FixedClock
from tests.support.builders import NOON, tokens

PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
SMALL = Script(Assumptions.load().pace.of(0), size=0.0004)  # of ten million, 4,000
NEAR = 0.15  # small changes of calls need no new tables


@pytest.fixture(scope="module")
def found() -> dict[str, ScenarioResult]:
    return {name: played(SMALL, name) for name in SCENARIOS}


def figures(found: dict[str, ScenarioResult], name: str) -> dict[str, Any]:
    return dict(found[name].figures)


# ---------------------------------------------------------------------- the simulation


@pytest.mark.slow
def test_backlog_of_runs_is_sent_once(found: dict[str, ScenarioResult]) -> None:
    backlog = figures(found, "backlog")
    assert (backlog["sent"], backlog["twice"], backlog["kept"]) == (backlog["due"], 0, 0)
    assert backlog["minutes"] == 1


@pytest.mark.slow
def test_sms_behind_many_runs_are_sent_by_next_tick(found: dict[str, ScenarioResult]) -> None:
    mixture = figures(found, "mixture")
    assert mixture["texts_sent"] == mixture["texts"]
    assert mixture["text_late"] < 120


@pytest.mark.slow
def test_runs_behind_many_direct_chats_are_sent_by_next_tick(
    found: dict[str, ScenarioResult],
) -> None:
    direct = figures(found, "direct_chats")
    assert direct["runs_sent"] == direct["runs"]
    assert direct["chats_sent"] == direct["chats"]
    assert (direct["minutes"], direct["twice"]) == (1, 0)


@pytest.mark.slow
def test_concurrent_ticks_send_no_job_twice(found: dict[str, ScenarioResult]) -> None:
    overlap = figures(found, "overlap")
    assert overlap["first"] + overlap["second"] == overlap["due"] == overlap["done"]
    assert overlap["twice"] == 0


@pytest.mark.slow
def test_slow_workers_finish_all_runs_within_an_hour(found: dict[str, ScenarioResult]) -> None:
    slow = figures(found, "slow_workers")
    assert slow["minutes"] < 60
    assert slow["again"] > 1


@pytest.mark.slow
def test_finders_handle_all_due_items_with_one_job_per_agent(
    found: dict[str, ScenarioResult],
) -> None:
    for name in ("consolidations", "reflections"):
        for one in figures(found, name).values():
            assert one["moved"] == one["due"] == 160
            assert one["left"] == 0
    jobs = {one["sent"] for one in figures(found, "reflections").values()}
    assert jobs == {8}


@pytest.mark.slow
def test_slow_tick_ends_in_time_and_continues_a_minute_later() -> None:
    slow = Script(Pace(1_000, 0, 0), size=0.001)
    [before, *_, deployed] = slow.rates().values()
    assert before["moved"] * 10 < deployed["moved"] < 1_000
    assert all(row["seconds"] < BEFORE.seconds + 60 for row in (before, deployed))
    backlog = slow.backlog()
    assert backlog["minutes"] == 2
    assert backlog["sent"] == backlog["due"] == 1_000


@pytest.mark.slow
def test_lanes_wait_in_parallel_but_share_a_cpu() -> None:
    def seconds(pace: Pace, lanes: int) -> float:
        clock = FixedClock(NOON)
        meter = CallMeter(clock, pace)

        def work(number: int) -> int:
            meter.call("get")
            return number

        assert Lanes(meter, lanes)(work, range(8)) == list(range(8))
        return (clock.now() - NOON).total_seconds()

    assert seconds(Pace(10, 0, 1_769), 1) == pytest.approx(0.08)
    assert seconds(Pace(10, 0, 1_769), 4) == pytest.approx(0.02)
    assert seconds(Pace(0, 10, 1_769), 4) == pytest.approx(0.08)
    assert seconds(Pace(0, 10, 1_769 // 2), 8) == pytest.approx(0.16, rel=0.01)
    assert Lanes(CallMeter(FixedClock(NOON), Pace(1, 1, 1)), 2)(str, []) == []


def test_deployed_shape_matches_template() -> None:
    shape = Shape.deployed("Tick")
    assert shape.seconds + 5 < timedelta(minutes=1).total_seconds()
    assert len(shape.parts) == 4
    assert Shape.deployed("ReflectionFinder").parts == (tuple(range(8)),)


# ---------------------------------------------------------------------- what is computed


@pytest.fixture(scope="module")
def turn() -> Activity:
    return Traffic(tokens()).turns("direct")


def documented(table: str, first: str) -> list[str]:
    """The row of a table of the document that begins with `first`."""
    [match] = [match for match in MARK.finditer(PAGE) if match["name"] == table]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in match[0].splitlines()]
    [row] = [row for row in rows if row and row[0] == first]
    return row


@pytest.mark.slow
def test_page_states_what_a_turn_consumes(turn: Activity) -> None:
    _, calls, reads, writes, *_ = documented("activities", turn.name)
    assert float(calls) == pytest.approx(turn.each(turn.calls.total()), rel=NEAR)
    assert float(reads) == pytest.approx(turn.reads, rel=NEAR)
    assert float(writes) == pytest.approx(turn.writes, rel=NEAR)


def test_turn_is_charged_to_partitions_by_role(turn: Activity) -> None:
    assert set(turn.shares) >= {"a chat", "an agent's open items", "due runs (gsi2)"}
    assert turn.of("a chat").writes > turn.writes / 2
    assert turn.of("an agent's postings of one scope").reads > 0
    assert turn.of("a line").writes == 0
    with pytest.raises(ValueError, match="without a role"):
        role_of("acme#SOMETHING#new")


@pytest.mark.slow
def test_page_states_values_of_code_and_template() -> None:
    [match] = [match for match in MARK.finditer(PAGE) if match["name"] == "facts"]
    for row in facts(deployment()):
        assert f"| {' | '.join(row)} |" in match[0]


def test_message_to_connected_people_costs_a_frame_for_each() -> None:
    two, ten, hundred, hour = Traffic(tokens()).live(ping_seconds=120)
    assert [one.each(one.frames) for one in (two, ten, hundred)] == [3, 19, 199]
    assert two.writes == hundred.writes == 0
    assert hour.frames == 60
    costs = Costs(Assumptions.load(), deployment())
    assert costs.of(hundred).gateway == pytest.approx(199)
    assert costs.of(hour).gateway == pytest.approx(1 + 60 + 60 * 0.25)


@pytest.mark.slow
def test_bill_total_is_sum_of_parts(turn: Activity) -> None:
    costs = Costs(Assumptions.load(), deployment())
    bill = costs.of(turn)
    assert bill.writes == pytest.approx(turn.writes * 0.625)
    assert bill.reads == pytest.approx(turn.reads * 0.125)
    assert bill.total == pytest.approx(bill.plus(Bill(queues=2.0), 0.5).total - 1.0)
    slower = Costs(Assumptions.load(wire_ms=100), deployment())
    assert slower.of(turn).functions > bill.functions


@pytest.mark.slow
def test_bounds_are_sorted_and_follow_deployment(turn: Activity) -> None:
    template, assumed = deployment(), Assumptions.load()
    other = deepcopy(turn)  # any activity does where only the order is looked at
    other.invocations.update({"SummaryWorker": 1, "ConsolidationWorker": 1, "SmsDelivery": 1})
    activities = [turn, *[other] * 5]
    bounds = Limits(assumed, Costs(assumed, template), template, activities).bounds()
    assert [bound.holds for bound in bounds] == sorted(bound.holds for bound in bounds)
    assert all(bound.turned >= bound.holds for bound in bounds)
    holds = {bound.name: bound.holds for bound in bounds}
    assert holds["API requests"] == 250
    assert holds["due runs (gsi2)"] > holds["a chat"]


# ---------------------------------------------------------------------- how it is told


@pytest.mark.slow
def test_filled_page_has_all_tables(
    found: dict[str, ScenarioResult],
) -> None:
    tables = simulated(found)
    page = filled(PAGE, tables)
    assert all(table in page for table in tables.values())
    assert filled(page, tables) == page
    with pytest.raises(KeyError):
        filled(PAGE, {"nowhere": ""})


@pytest.mark.slow
def test_page_has_no_empty_table() -> None:
    names = [match["name"] for match in MARK.finditer(PAGE)]
    assert len(names) == len(set(names)) == PAGE.count("<!-- /scale -->")
    assert all(match[0].count("\n|") > 2 for match in MARK.finditer(PAGE))


@pytest.mark.slow
def test_number_formats_by_size() -> None:
    assert [number(n) for n in (7, 1_234.5, 12.34, 0.126, 0.004, float("inf"))] == [
        "7",
        "1,234",
        "12.3",
        "0.13",
        "0.00",
        "AWS quota",
    ]
