"""What an idle stack costs at most, and which memory runs are cheapest with."""

from collections.abc import Mapping

import pytest

from skein.adapters.sqlite_table.calls import Call
from tests.support.template import deployed_template, ops_template
from tools.deployment.deploy import PROFILES
from tools.reference import cost
from tools.reference.cost import SMS_ON

SMALL = PROFILES["small"]


@pytest.mark.parametrize(
    ("parameters", "secrets", "most"),
    [
        (SMS_ON, 2, 10.6),
        ({}, 1, 10),
        ({**SMALL, **SMS_ON}, 1, 2),  # both keys are in one secret
        (SMALL, 1, 2),
    ],
    ids=["with alarms", "with alarms, without SMS", "small", "small, without SMS"],
)
def test_idle_stack_costs_at_most(parameters: Mapping[str, str], secrets: int, most: float) -> None:
    found = cost.idle(parameters, secrets=secrets)
    assert sum(found.values()) <= most, found
    has_alarms = any("alarms" in name for name in found)
    assert has_alarms is (parameters.get("Alarms") != "off")


def test_run_worker_has_the_memory_that_is_cheapest_in_the_bench() -> None:
    memory = {function.logical_id: function.memory for function in deployed_template().functions}
    assert memory["RunWorker"] == cost.cheapest_memory()


def test_message_costs_less_without_frames_and_every_item_costs_something() -> None:
    app, sms = cost.message("app"), cost.message("sms")
    assert sms["requests and frames"] < app["requests and frames"]
    assert min(*app.values(), *sms.values()) > 0


def test_units_follow_the_rules_of_dynamodb() -> None:
    call = Call("transact", items=2, bytes=3_000)
    assert cost.units_of(call).writes == 2 * 3 + 1
    assert cost.units_of(Call("get_many", items=3, bytes=100)).reads == 3
    assert cost.units_of(Call("get_many_eventual", items=3, bytes=100)).reads == 1.5
    assert cost.units_of(Call("query", items=50, bytes=9_000)).reads == 3
    assert cost.units_of(Call("query_index", items=50, bytes=9_000)).reads == 1.5


def test_alarm_is_billed_for_each_of_its_metrics() -> None:
    canary = deployed_template().document["Resources"]["CanaryAlarm"]["Properties"]
    assert cost._metrics(canary) == 8
    assert cost._metrics({"MetricName": "Throttles"}) == 1


def test_query_of_an_alarm_is_billed_for_each_metric_that_it_reads() -> None:
    ops = dict(ops_template().resources("AWS::CloudWatch::Alarm"))
    assert cost._metrics(ops["TableThrottlesAlarm"]) == 8
    assert cost._metrics(ops["TableIndexesAlarm"]) == 2


def test_message_by_sms_reads_as_full_a_chat_as_one_by_the_app() -> None:
    assert cost._of_a_full_chat().reads > 0


@pytest.mark.parametrize("kind", ["app", "sms"])
def test_ten_million_messages_cost_less_with_provisioned_capacity(kind: str) -> None:
    volume, message = 10_000_000, cost.message(kind)
    on_demand = sum(cost.idle(SMS_ON).values()) + volume * sum(message.values())
    assert on_demand <= 1_400
    assert on_demand - volume * message["table"] + cost.provisioned(kind, volume) <= 1_150


def test_idle_table_with_provisioned_capacity_costs_its_least_units() -> None:
    hours = cost.MONTH_MINUTES / 60
    least = 100 + 2 * 25
    assert cost.provisioned("app", 0) == pytest.approx(hours * least * (0.00065 + 0.00013))


def test_message_of_the_app_is_listed_and_marked_as_read() -> None:
    assert {"read a page of messages", "set a read receipt"} <= cost.APP.keys()
