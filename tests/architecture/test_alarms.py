"""The alarms and the dashboard: each failure is seen, and one event alone raises no alarm."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from local.template import ROOT
from tests.support.template import deployed_template

TEMPLATE = deployed_template()
FUNCTIONS = {function.logical_id: function for function in TEMPLATE.functions}
WORKERS = [name for name, function in FUNCTIONS.items() if function.queues]
BEHIND_API = [name for name, function in FUNCTIONS.items() if function.routes]
SCHEDULED = [name for name, function in FUNCTIONS.items() if function.schedules]
WORK_QUEUES = [queue for queue in TEMPLATE.queues if queue.dead_letters]
ALARMS = dict(TEMPLATE.resources("AWS::CloudWatch::Alarm"))
COMPOSITES = dict(TEMPLATE.resources("AWS::CloudWatch::CompositeAlarm"))
PARTS = {
    part
    for composite in COMPOSITES.values()
    for part in re.findall(r"\$\{(\w+)\}", composite["AlarmRule"]["Fn::Sub"])
}
# They stop deployments and notify nobody; the alarms on rates do.
GUARDS = {
    alarm["Ref"]
    for _, function in TEMPLATE.resources("AWS::Serverless::Function")
    for alarm in function.get("DeploymentPreference", {}).get("Alarms", ())
}
# Their metrics count that a limit was reached, so one data point is enough.
LIMITS = {
    "BackgroundOverBudget",
    "ConsolidationsStuck",
    "ErasuresLate",
    "HopLimitReached",
    "ModelTokens",
    "PausesForgotten",
    "RecursiveInvocationsDropped",
    "SegmentsSent",
    "TenantTokensNearLimit",
}
OWN_DIMENSION = [{"Name": "service", "Value": {"Ref": "AWS::StackName"}}]


def stats_of(alarm: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the metrics that an alarm reads, each with its period."""
    stats = [each["MetricStat"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    return [{**each["Metric"], "Period": each["Period"]} for each in stats] or [alarm]


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
                r"/ (\([^()]*(?:\([^()]*\)[^()]*)*\)|\w+)", r"/ NOT0(\1)", each["Expression"]
            )
            result = eval(safe, {"NOT0": lambda value: value or 1}, functions | known)
            known[each["Id"]] = result
    return result


def widgets() -> list[dict[str, Any]]:
    """Return the widgets of the only dashboard."""
    [(_, dashboard)] = TEMPLATE.resources("AWS::CloudWatch::Dashboard")
    body, _ = dashboard["DashboardBody"]["Fn::Sub"]
    found: list[dict[str, Any]] = json.loads(body)["widgets"]
    return found


@pytest.mark.parametrize("queue", WORK_QUEUES, ids=lambda queue: queue.logical_id)
def test_queue_has_alarms_on_its_dead_letters_and_its_age(queue: Any) -> None:
    assert alarms_on("ApproximateNumberOfMessagesVisible", queue.dead_letters)
    assert alarms_on("ApproximateAgeOfOldestMessage", queue.logical_id)
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
    assert alarms_on("Errors", name)


@pytest.mark.parametrize("name", [*WORKERS, *BEHIND_API])
def test_throttled_function_raises_an_alarm(name: str) -> None:
    assert alarms_on("Throttles", name) or name in {"ApiDocs", "Console"}


@pytest.mark.parametrize("name", WORKERS)
def test_worker_whose_jobs_lambda_drops_raises_an_alarm(name: str) -> None:
    assert alarms_on("RecursiveInvocationsDropped", name)


@pytest.mark.parametrize("name", SCHEDULED)
def test_scheduled_function_that_is_silent_or_fails_raises_an_alarm(name: str) -> None:
    [silent] = set(alarms_on("Invocations", name)) & set(alarms_on("Errors", name))
    alarm = ALARMS[silent]
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


@pytest.mark.parametrize(
    "metric",
    [
        "ContextDegraded",
        "DeliveriesFailed",
        "DueFailed",
        "ErasuresLate",
        "PausesForgotten",
        "JobsNotSent",
        "ModelTokens",
        "ResourceCount",
        "RunsFailed",
        "SegmentsSent",
        "SystemErrors",
        "ReadThrottleEvents",
        "WriteThrottleEvents",
    ],
)
def test_metric_has_an_alarm(metric: str) -> None:
    assert any(metric in metrics_of(alarm) for alarm in ALARMS.values())


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
        composite_notifies = name in PARTS | GUARDS
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
@pytest.mark.parametrize(
    ("composite", "windows", "burn"),
    [
        ("FastBurn", {"Hour": 3600, "FiveMinutes": 300}, 14.4),
        ("SlowBurn", {"SixHours": 21600, "HalfHour": 1800}, 6),
    ],
)
def test_burn_rate_alarm_needs_a_long_and_a_short_window(
    slo: str,
    rank: str,
    objective: str,
    budget: float,
    composite: str,
    windows: dict[str, int],
    burn: float,
) -> None:
    rule = COMPOSITES[f"{slo}{composite}Alarm"]["AlarmRule"]["Fn::Sub"]
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
    assert all(metrics[0][2:4] == ["service", "${AWS::StackName}"] for metrics in own)
    shown = {metric[1] for metrics in own for metric in metrics if len(metric) > 1}
    counted = {
        name
        for path in (ROOT / "shared").rglob("*.py")
        for name in re.findall(
            r"""metrics\.count\(\s*["'](\w+)""", path.read_text(encoding="utf-8")
        )
        + re.findall(r"""count\(metrics, ["'](\w+)""", path.read_text(encoding="utf-8"))
    }
    assert shown == counted


def test_widgets_of_the_dashboard_do_not_overlap() -> None:
    places = [(widget["x"], widget["y"]) for widget in widgets()]
    assert len(set(places)) == len(places)
    assert {widget["width"] for widget in widgets()} == {12}
