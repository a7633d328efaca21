"""The alarms and the dashboard: each failure is seen, and one event alone raises no alarm."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local.template import ROOT, Template
from skein.models.common.reason import Reason
from skein.services.outbox.tick import RETRY
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
# Their metrics count that a limit was reached, so one data point is enough.
LIMITS = {
    "DeskLate",
    "DueAgeSeconds",
    "ErasuresLate",
    "EventsParked",
    "ModelTokens",
    "PausesForgotten",
    "SegmentLimitsNear",
    "SegmentsSent",
    "SmsSilent",
    "SourcesFailing",
    "VisitTokensNearLimit",
}
QUERY = re.compile(
    r"""SELECT SUM\((\w+)\) FROM SCHEMA\("([\w/]+)", .*\) WHERE .* = '\$\{(\w+)\}'"""
)
OWN = {"Fn::Sub": "Skein/${Service}"}  # the metrics that filters read from the log
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
        "MAX": max,
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
    text = (ROOT / "deployment" / "ops.yaml").read_text(encoding="utf-8")
    families = re.findall(r"^  Fn::ForEach::(\w+):$", text, flags=re.MULTILINE)
    assert families
    assert not {*families} & {*OPS.document["Parameters"]}


def test_ops_stack_gets_the_names_of_the_functions_and_queues() -> None:
    given = TEMPLATE.document["Resources"]["Ops"]["Properties"]["Parameters"]
    assert set(given) == set(OPS.document["Parameters"])
    for name in FUNCTIONS:
        condition = TEMPLATE.document["Resources"][name].get("Condition")
        optional = {"Fn::If": [condition, {"Ref": name}, "none"]}
        assert given[name] == (optional if condition else {"Ref": name})
    for queue in TEMPLATE.queues:
        assert given[queue.logical_id] == {"Fn::GetAtt": f"{queue.logical_id}.QueueName"}


@pytest.mark.parametrize("queue", WORK_QUEUES, ids=lambda queue: queue.logical_id)
def test_queue_has_an_alarm_on_its_dead_letters_and_its_age_is_shown(queue: Any) -> None:
    assert alarms_on("ApproximateNumberOfMessagesVisible", queue.dead_letters)
    assert not alarms_on("ApproximateAgeOfOldestMessage", queue.logical_id)
    assert queue.dead_letters in shown("ApproximateNumberOfMessagesVisible")
    assert queue.logical_id in shown("ApproximateAgeOfOldestMessage")
    retention = TEMPLATE.document["Resources"][queue.dead_letters]["Properties"]
    assert retention["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_due_age_alarm_threshold_exceeds_the_visibility_timeout() -> None:
    """SQS hides the job of a worker that died for the visibility timeout of its queue."""
    alarm = ALARMS["DueAgeAlarm"]
    waited_for = [
        queue for queue in WORK_QUEUES if queue.logical_id in {"TurnsQueue", "DeliveriesQueue"}
    ]
    assert all(alarm["Threshold"] > queue.visibility for queue in waited_for)
    # A due item that nobody handles is seen by the tick at least once in each period.
    assert alarm["Period"] >= max(RETRY.waits).total_seconds()


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if f.streams])
def test_feed_has_alarms_on_its_age_and_on_what_it_gave_up(name: str) -> None:
    assert alarms_on("IteratorAge", name)
    for source in FUNCTIONS[name].streams:
        assert source.failures is not None
        assert alarms_on("ApproximateNumberOfMessagesVisible", source.failures)
        retention = TEMPLATE.document["Resources"][source.failures]["Properties"]
        assert retention["MessageRetentionPeriod"] == 14 * 24 * 3600


def filters() -> dict[str, str]:
    """Return the patterns of the metrics that are read from the log, by metric."""
    return {
        one["MetricTransformations"][0]["MetricName"]: one["FilterPattern"]
        for _, one in OPS.resources("AWS::Logs::MetricFilter")
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dashboard_shows_the_errors_of_each_function(name: str) -> None:
    assert name in shown("Errors")


def test_crash_of_any_function_counts_as_an_error() -> None:
    alarm = ALARMS["ErrorsAlarm"]
    assert [found["Namespace"] for found in stats_of(alarm)] == [OWN, OWN]
    pattern = filters()["Errors"]
    assert '$.type = "platform.report"' in pattern
    assert '$.record.status != "success"' in pattern
    # Lambda writes these lines only at this level.
    assert TEMPLATE.document["Globals"]["Function"]["LoggingConfig"]["SystemLogLevel"] == "INFO"
    assert value_of(alarm, errors=2, invocations=2) == 0
    assert value_of(alarm, errors=3, invocations=1000) < alarm["Threshold"]
    assert value_of(alarm, errors=30, invocations=1000) > alarm["Threshold"]


def test_requests_that_the_gateway_refuses_are_counted_from_its_access_log() -> None:
    log = TEMPLATE.document["Resources"]["HttpApi"]["Properties"]["AccessLogSettings"]["Format"]
    fields = set(json.loads(log))
    named = set(re.findall(r"\$\.(\w+)", filters()["GatewayThrottles"]))
    assert named == {"status", "integration_status"} <= fields
    assert ALARMS["GatewayThrottlesAlarm"]["Namespace"] == OWN


def test_half_of_the_sms_with_a_wrong_signature_raise_an_alarm() -> None:
    alarm = ALARMS["SignaturesRefusedAlarm"]
    refused = {one["Id"]: one for one in alarm["Metrics"]}["refused"]["MetricStat"]["Metric"]
    assert {"Name": "reason", "Value": Reason.WRONG_SIGNATURE.value} in refused["Dimensions"]
    assert value_of(alarm, refused=100, invocations=100) > alarm["Threshold"]
    assert value_of(alarm, refused=5, invocations=100) < alarm["Threshold"]


def test_smoke_rule_calls_healthz_each_minute() -> None:
    resources = OPS.document["Resources"]
    rule = resources["SmokeRule"]["Properties"]
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    [target] = rule["Targets"]
    assert target["RetryPolicy"]["MaximumRetryAttempts"] == 0  # a retry would hide the failure
    destination = resources["SmokeDestination"]["Properties"]
    assert destination["InvocationEndpoint"] == {"Fn::Sub": "${ApiUrl}/healthz"}
    assert any(
        r.path == "/healthz" and not r.authorized for f in FUNCTIONS.values() for r in f.routes
    )
    assert alarms_on("FailedInvocations", "SmokeRule") == ["SmokeAlarm"]


@pytest.mark.parametrize("name", WORKERS)
def test_dashboard_shows_workers_that_lambda_throttles_or_whose_jobs_are_dropped(name: str) -> None:
    assert name in shown("Throttles")
    assert name in shown("RecursiveInvocationsDropped")


def test_throttled_poller_raises_the_alarm_of_throttles() -> None:
    """Lambda counts a poller's refused invocation under the worker; all functions are added up."""
    alarm = dict(OPS.resources("AWS::CloudWatch::Alarm"))["ThrottlesAlarm"]
    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Lambda", "Throttles")
    assert not alarm.get("Dimensions")
    assert alarm["Threshold"] == 0
    workers = [each for each in TEMPLATE.functions if each.queues]
    assert all(source.concurrency for each in workers for source in each.queues)


@pytest.mark.parametrize("name", SCHEDULED)
def test_scheduled_function_that_is_silent_or_fails_raises_an_alarm(name: str) -> None:
    [silent] = set(alarms_on("Invocations", name)) & set(alarms_on("Errors", name))
    alarm = ALARMS[silent]
    assert value_of(alarm) == 0  # a disabled schedule leaves no data
    [period] = {found["Period"] for found in stats_of(alarm)}
    rates = {"rate(1 minute)": 60, "rate(1 hour)": 3600, "rate(1 day)": 86400}
    schedules = FUNCTIONS[name].schedules
    [rate] = {rates[schedule.expression] for schedule in schedules}
    assert period >= rate
    assert value_of(alarm, invocations=1) >= alarm["Threshold"]
    assert value_of(alarm, invocations=3, errors=3) < alarm["Threshold"]


def test_no_alarm_is_raised_at_its_creation() -> None:
    """There is no data yet, and FILL turns the time before the first data into zeros."""
    for name, alarm in ALARMS.items():
        assert alarm["TreatMissingData"] in {"notBreaching", "ignore"}, name
        if alarm["ComparisonOperator"] == "LessThanThreshold":
            # The first period with data is not below the threshold, so it cannot be the last one.
            assert alarm["DatapointsToAlarm"] == alarm["EvaluationPeriods"] >= 2, name
            assert value_of(alarm, invocations=1) >= alarm["Threshold"], name


def test_alarm_needs_more_than_one_data_point() -> None:
    for name, alarm in ALARMS.items():
        burns = name.endswith("FastBurnAlarm")
        if not burns and not metrics_of(alarm) <= LIMITS:
            assert alarm["DatapointsToAlarm"] >= 2, name


def test_alarm_on_own_metrics_reads_those_of_its_stack() -> None:
    for name, alarm in ALARMS.items():
        for found in stats_of(alarm):
            if found["Namespace"] == "Skein":
                assert found["Dimensions"][:1] == OWN_DIMENSION, name


# What somebody must act on at once. All other alarms can wait for the next working day.
PAGES = {
    "AnswersFastBurnAlarm",
    "DeskLateAlarm",
    "DueAgeAlarm",
    "ErrorsAlarm",
    "FeedAgeAlarm",
    "GatewayThrottlesAlarm",
    "BackgroundFinderSilentAlarm",
    "RunsFailedAlarm",
    "SegmentsSpentAlarm",
    "ServerErrorsAlarm",
    "SignaturesRefusedAlarm",
    "SmokeAlarm",
    "TableErrorsAlarm",
    "TableIndexesAlarm",
    "TableThrottlesAlarm",
    "TextsFastBurnAlarm",
    "ThrottlesAlarm",
    "TickSilentAlarm",
    "TokensSpentAlarm",
}


def test_alarm_is_a_page_or_a_ticket_and_silent_when_it_ends() -> None:
    assert ALARMS.keys() >= PAGES
    for name, alarm in ALARMS.items():
        actions = {kind: alarm[kind] for kind in ("AlarmActions", "OKActions") if kind in alarm}
        topic = [{"Ref": "PageTopic" if name in PAGES else "TicketTopic"}]
        assert actions == ({} if name in GUARDS else {"AlarmActions": topic}), name


def test_alarm_reads_at_most_ten_metrics() -> None:
    for name, alarm in ALARMS.items():
        assert len(stats_of(alarm)) <= 10, name  # CloudWatch refuses more


@pytest.mark.parametrize(
    ("slo", "ranks", "budget"),
    [
        ("Answers", {"AnswerSeconds": "PR(:60)"}, 1),
        ("Texts", {"HandoverSeconds": "PR(:30)", "ArrivalSeconds": "PR(:60)"}, 0.1),
    ],
)
def test_hour_that_burns_the_budget_of_two_days_raises_an_alarm(
    slo: str, ranks: Mapping[str, str], budget: float
) -> None:
    alarm, burn = ALARMS[f"{slo}FastBurnAlarm"], 14.4
    assert {found["Period"] for found in stats_of(alarm)} == {3600}
    stats = [one["MetricStat"] for one in alarm["Metrics"] if "MetricStat" in one]
    assert ranks == {
        one["Metric"]["MetricName"]: one["Stat"] for one in stats if one["Stat"].startswith("PR")
    }
    assert alarm["Threshold"] == pytest.approx(burn * budget)
    late = burn * budget + 1
    assert value_of(alarm, total=1000, rank=100 - late) > alarm["Threshold"]
    assert value_of(alarm, total=1000, rank=100 - budget) < alarm["Threshold"]
    assert value_of(alarm) == 0
    assert value_of(alarm, total=2, rank=50) == 0  # one late answer of a quiet hour


def test_sms_that_twilio_took_in_time_but_the_carrier_delivered_late_counts() -> None:
    alarm = ALARMS["TextsFastBurnAlarm"]
    in_time = {"total": 1000, "rank": 100, "arrived": 900}
    assert value_of(alarm, **in_time, arrival=90) > alarm["Threshold"]
    assert value_of(alarm, **in_time, arrival=100) == 0


def test_failed_runs_burn_the_budget_of_answers() -> None:
    alarm = ALARMS["AnswersFastBurnAlarm"]
    assert value_of(alarm, total=80, rank=100, failed=20) == 20
    assert value_of(alarm, failed=5) == 100


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
