"""The alarms and the dashboard: each failure is seen, and one event alone raises no alarm."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local.template import ROOT, Template
from tests.support.background import DUE_TASKS
from tests.support.template import deployed_template, ops_template
from tools.deployment.families import expanded

TEMPLATE, OPS = deployed_template(), ops_template()
FUNCTIONS = {function.logical_id: function for function in TEMPLATE.functions}
WORKERS = [name for name, function in FUNCTIONS.items() if function.queues]
BEHIND_API = [name for name, function in FUNCTIONS.items() if function.routes]
SCHEDULED = [name for name, function in FUNCTIONS.items() if function.schedules]
WORK_QUEUES = [queue for queue in TEMPLATE.queues if queue.dead_letters]
GUARDS = dict(TEMPLATE.resources("AWS::CloudWatch::Alarm"))  # they stop deployments; nobody is told
ALARMS = {**GUARDS, **dict(OPS.resources("AWS::CloudWatch::Alarm"))}
COMPOSITES = dict(OPS.resources("AWS::CloudWatch::CompositeAlarm"))
PARTS = {
    part
    for composite in COMPOSITES.values()
    for part in re.findall(r"\$\{(\w+)\}", composite["AlarmRule"]["Fn::Sub"])
}
# Their metrics count that a limit was reached, so one data point is enough.
LIMITS = {
    "ErasuresLate",
    "HopLimitReached",
    "ModelTokens",
    "PausesForgotten",
    "SegmentLimitsNear",
    "SegmentsSent",
}
# The dashboard alone shows their failures: nobody would get up for a page, or for stale frames.
QUIET = {"ApiDocs", "Console", "LiveDisconnect", "PushesQueue"}
QUERY = re.compile(
    r"""SELECT SUM\((\w+)\) FROM SCHEMA\("([\w/]+)", .*\) WHERE .* = '\$\{(\w+)\}'"""
)
OWN_DIMENSION = [{"Name": "service", "Value": {"Ref": "Service"}}]


def stats_of(alarm: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the metrics that an alarm reads, each with its period."""
    if "Metrics" not in alarm:
        return [alarm]
    return [_stat(each) for each in alarm["Metrics"] if {"MetricStat", "Period"} & {*each}]


def _stat(data: Mapping[str, Any]) -> Mapping[str, Any]:
    if "MetricStat" in data:
        return {**data["MetricStat"]["Metric"], "Period": data["MetricStat"]["Period"]}
    found = QUERY.fullmatch(data["Expression"]["Fn::Sub"])
    assert found is not None, data
    dimensions = [{"Value": {"Ref": found[3]}}]
    return {**data, "MetricName": found[1], "Namespace": found[2], "Dimensions": dimensions}


def alarms_on(metric: str, dimension: str) -> list[str]:
    """Return the alarms on a metric of one resource, by its logical id."""
    return [
        name
        for name, alarm in ALARMS.items()
        if any(
            found["MetricName"] == metric
            and re.search(rf"'{dimension}['.]", str(found.get("Dimensions")))
            for found in stats_of(alarm)
        )
    ]


def metrics_of(alarm: Mapping[str, Any]) -> set[str]:
    return {str(found["MetricName"]) for found in stats_of(alarm)}


def value_of(alarm: Mapping[str, Any], **metrics: float) -> float:
    """Evaluate an alarm's expressions; metrics that are not given have no data."""
    known: dict[str, Any] = {}
    for each in alarm["Metrics"]:
        if "MetricStat" in each:
            known[each["Id"]] = metrics.get(each["Id"])
    functions = {
        "FILL": lambda value, other: other if value is None else value,
        "IF": lambda condition, yes, no: yes if condition else no,
    }
    result = 0.0
    for each in alarm["Metrics"]:
        if "Expression" in each:
            # Both branches of IF are computed here, and CloudWatch has no error for 0 / 0.
            safe = re.sub(
                r"/ (\([^()]*(?:\([^()]*\)[^()]*)*\)|\w+(?:\([^()]*\))?)",
                r"/ NOT0(\1)",
                each["Expression"],
            )
            result = eval(safe, {"NOT0": lambda value: value or 1}, functions | known)
            known[each["Id"]] = result
    return result


def widgets() -> list[dict[str, Any]]:
    """Return the widgets of the only dashboard."""
    [(_, dashboard)] = OPS.resources("AWS::CloudWatch::Dashboard")
    found: list[dict[str, Any]] = json.loads(dashboard["DashboardBody"]["Fn::Sub"])["widgets"]
    return found


def shown(metric: str) -> set[str]:
    """Return the resources whose metric the dashboard shows, by their logical ids."""
    lists = [widget["properties"]["metrics"] for widget in widgets()]
    [found] = [metrics for metrics in lists if metrics[0][1] == metric]
    return {each[-1].strip("${}") for each in found if isinstance(each[-1], str)}


FAMILY = """
Mappings:
  Wait: {Turns: {Seconds: "60"}}
Resources:
  Topic: {Type: AWS::SNS::Topic}
  Fn::ForEach::Old:
    - Queue
    - [Turns]
    - ${Queue}Alarm:
        Name: !Ref Queue
        Text: !Sub ["${Queue}: ${Seconds} s", {Seconds: !FindInMap [Wait, !Ref Queue, Seconds]}]
        Query: !Sub "${Queue} of ${Table}"
        Values: [{Ref: !Sub "${Queue}Queue"}, "plain ${Queue}"]
"""


def test_family_becomes_a_resource_for_each_member(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(FAMILY, encoding="utf-8")
    assert expanded(Template.load(path)).document["Resources"] == {
        "Topic": {"Type": "AWS::SNS::Topic"},
        "TurnsAlarm": {
            "Name": "Turns",
            "Text": "Turns: 60 s",
            "Query": {"Fn::Sub": "Turns of ${Table}"},
            "Values": [{"Ref": "TurnsQueue"}, "plain ${Queue}"],
        },
    }


def test_name_of_a_family_is_no_name_of_a_parameter() -> None:
    """SAM refuses such a template."""
    text = (ROOT / "ops.yaml").read_text(encoding="utf-8")
    families = re.findall(r"^  Fn::ForEach::(\w+):$", text, flags=re.MULTILINE)
    assert families
    assert not {*families} & {*OPS.document["Parameters"]}


def test_ops_stack_gets_the_names_of_the_functions_and_queues() -> None:
    given = TEMPLATE.document["Resources"]["Ops"]["Properties"]["Parameters"]
    assert set(given) == set(OPS.document["Parameters"])
    for name in FUNCTIONS:
        optional = {"Fn::If": ["HasConsole", {"Ref": name}, "none"]}
        assert given[name] == (optional if name == "Console" else {"Ref": name})
    for queue in TEMPLATE.queues:
        assert given[queue.logical_id] == {"Fn::GetAtt": f"{queue.logical_id}.QueueName"}


@pytest.mark.parametrize("queue", WORK_QUEUES, ids=lambda queue: queue.logical_id)
def test_queue_has_alarms_on_its_dead_letters_and_its_age(queue: Any) -> None:
    if queue.logical_id not in QUIET:
        assert alarms_on("ApproximateNumberOfMessagesVisible", queue.dead_letters)
        [age] = alarms_on("ApproximateAgeOfOldestMessage", queue.logical_id)
        # SQS counts the job of a worker that died as waiting until the job is visible again.
        assert int(ALARMS[age]["Threshold"]) > queue.visibility
    assert queue.dead_letters in shown("ApproximateNumberOfMessagesVisible")
    assert queue.logical_id in shown("ApproximateAgeOfOldestMessage")
    retention = TEMPLATE.document["Resources"][queue.dead_letters]["Properties"]
    assert retention["MessageRetentionPeriod"] == 14 * 24 * 3600


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if f.streams])
def test_feed_has_alarms_on_its_age_and_on_what_it_gave_up(name: str) -> None:
    assert alarms_on("IteratorAge", name)
    for source in FUNCTIONS[name].streams:
        assert source.failures is not None
        assert alarms_on("ApproximateNumberOfMessagesVisible", source.failures)
        retention = TEMPLATE.document["Resources"][source.failures]["Properties"]
        assert retention["MessageRetentionPeriod"] == 14 * 24 * 3600


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_raises_an_alarm_when_it_fails(name: str) -> None:
    assert set(alarms_on("Errors", name)) - set(GUARDS) or name in QUIET
    assert name in shown("Errors")


@pytest.mark.parametrize("name", BEHIND_API)
def test_throttled_function_behind_the_api_raises_an_alarm(name: str) -> None:
    assert alarms_on("Throttles", name) or name in QUIET


@pytest.mark.parametrize("name", WORKERS)
def test_dashboard_shows_workers_that_lambda_throttles_or_whose_jobs_are_dropped(name: str) -> None:
    assert name in shown("Throttles")
    assert name in shown("RecursiveInvocationsDropped")


@pytest.mark.parametrize("name", SCHEDULED)
def test_scheduled_function_that_is_silent_or_fails_raises_an_alarm(name: str) -> None:
    [silent] = set(alarms_on("Invocations", name)) & set(alarms_on("Errors", name))
    alarm = ALARMS[silent]
    assert value_of(alarm) == 0  # a disabled schedule leaves no data
    [period] = {found["Period"] for found in stats_of(alarm)}
    rates = {"rate(1 minute)": 60, "rate(1 hour)": 3600, "rate(1 day)": 86400}
    schedules = FUNCTIONS[name].schedules
    [rate] = {rates[schedule.expression] for schedule in schedules}
    expected = period // rate * len(schedules)
    one_schedule_less = period // rate * (len(schedules) - 1)
    assert value_of(alarm, invocations=expected) >= alarm["Threshold"]
    assert value_of(alarm, invocations=one_schedule_less) < alarm["Threshold"]
    assert value_of(alarm, invocations=expected, errors=expected) < alarm["Threshold"]
    assert alarm["TreatMissingData"] == "breaching"


def test_alarm_needs_more_than_one_data_point() -> None:
    for name, alarm in ALARMS.items():
        if name not in PARTS and not metrics_of(alarm) <= LIMITS:
            assert alarm["DatapointsToAlarm"] >= 2, name


def test_alarm_on_own_metrics_reads_those_of_its_stack() -> None:
    for name, alarm in ALARMS.items():
        for found in stats_of(alarm):
            if found["Namespace"] == "Skein":
                assert found["Dimensions"] == OWN_DIMENSION, name


def test_alarm_notifies_once_and_by_default_not_when_it_ends() -> None:
    topic = [{"Ref": "AlarmTopic"}]
    if_wanted = {"Fn::If": ["HasOkMails", topic, {"Ref": "AWS::NoValue"}]}
    for name, alarm in {**ALARMS, **COMPOSITES}.items():
        actions = {kind: alarm[kind] for kind in ("AlarmActions", "OKActions") if kind in alarm}
        composite_notifies = name in PARTS | set(GUARDS)
        expected = {} if composite_notifies else {"AlarmActions": topic, "OKActions": if_wanted}
        assert actions == expected, name
    assert TEMPLATE.parameters()["OkMails"] == "off"


def test_alarm_reads_at_most_ten_metrics() -> None:
    for name, alarm in ALARMS.items():
        assert len(stats_of(alarm)) <= 10, name  # CloudWatch refuses more


@pytest.mark.parametrize(
    ("slo", "rank", "objective", "budget"),
    [("Answers", "PR(:60)", "AnswerSeconds", 1), ("Texts", "PR(:30)", "HandoverSeconds", 0.1)],
)
def test_burn_rate_alarm_needs_a_long_and_a_short_window(
    slo: str,
    rank: str,
    objective: str,
    budget: float,
) -> None:
    windows, burn = {"Hour": 3600, "FiveMinutes": 300}, 14.4
    rule = COMPOSITES[f"{slo}FastBurnAlarm"]["AlarmRule"]["Fn::Sub"]
    assert rule == " AND ".join(f'ALARM("${{{slo}{window}Alarm}}")' for window in windows)
    for window, seconds in windows.items():
        alarm = ALARMS[f"{slo}{window}Alarm"]
        assert {found["Period"] for found in stats_of(alarm)} == {seconds}
        [ranked] = [each for each in alarm["Metrics"] if each["Id"] == "rank"]
        assert ranked["MetricStat"]["Stat"] == rank
        assert ranked["MetricStat"]["Metric"]["MetricName"] == objective
        assert alarm["Threshold"] == pytest.approx(burn * budget)
        late = burn * budget + 1
        assert value_of(alarm, total=1000, rank=100 - late) > alarm["Threshold"]
        assert value_of(alarm, total=1000, rank=100 - budget) < alarm["Threshold"]
        assert value_of(alarm) == 0
    # One late answer in a quiet hour is not enough for the long windows.
    long = ALARMS[f"{slo}{next(iter(windows))}Alarm"]
    assert value_of(long, total=2, rank=50) == 0


def test_failed_runs_burn_the_budget_of_answers() -> None:
    alarm = ALARMS["AnswersHourAlarm"]
    assert value_of(alarm, total=80, rank=100, failed=20) == 20
    assert value_of(alarm, failed=5) == 100


def test_alarm_on_a_rate_ignores_a_few_events() -> None:
    alarm = ALARMS["RunWorkerErrorsAlarm"]
    assert value_of(alarm, errors=2, invocations=2) == 0
    assert value_of(alarm, errors=3, invocations=1000) < alarm["Threshold"]
    assert value_of(alarm, errors=60, invocations=1000) > alarm["Threshold"]


def test_dashboard_shows_every_metric_that_the_code_counts() -> None:
    lists = [widget["properties"]["metrics"] for widget in widgets()]
    own = [metrics for metrics in lists if metrics[0][0] == "Skein"]
    assert all(metrics[0][2:4] == ["service", "${Service}"] for metrics in own)
    found = {metric[1] for metrics in own for metric in metrics if len(metric) > 1}
    counted = {
        name
        for path in (ROOT / "shared").rglob("*.py")
        for name in re.findall(
            r"""metrics\.count\(\s*["'](\w+)""", path.read_text(encoding="utf-8")
        )
        + re.findall(r"""count\(metrics, ["'](\w+)""", path.read_text(encoding="utf-8"))
    }
    assert found == counted | {due.task.failures for due in DUE_TASKS}
