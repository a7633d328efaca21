"""Content of docs/alarm-list.md: each alarm of `template.yaml` with its condition."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from local.template import Template

HEAD = """# List of alarms

All alarms of the stack, with the condition that raises each one, and the section of the
[runbook](alarms.md) that says what to do. Alarms with "yes" in the column "mail" send to the SNS
topic `AlarmTopic`. A rate also needs a number of events, so one failure alone raises no alarm.

`make reference` writes this page from `template.yaml`.

| alarm | raised when | mail | runbook |
|---|---|---|---|
"""
# The sections of the runbook that are about several alarms, by a pattern of their names.
SECTIONS = {
    r"Answers\w+": "slow answers",
    r"Texts\w+": "slow SMS",
    r"\w+DeadLettersAlarm": "dead letters",
    r"\w+AgeAlarm": "old jobs",
    r"\w+CanaryAlarm": "canary alarms",
    r"(?!Table|Server)\w+ErrorsAlarm": "errors of functions",
}

PERIODS = {
    60: "minute",
    300: "5 minutes",
    900: "15 minutes",
    1800: "30 minutes",
    3600: "hour",
    7200: "2 hours",
    21600: "6 hours",
    86400: "day",
}
COMPARISONS = {
    "GreaterThanThreshold": "over",
    "GreaterThanOrEqualToThreshold": "at least",
    "LessThanThreshold": "under",
}
UNITS = {"ApproximateAgeOfOldestMessage": " s", "IteratorAge": " ms"}
SHARES = {"rate", "share"}


def page(template: Template) -> str:
    """Return docs/alarm-list.md in Markdown; alarms with the same row share it."""
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, alarm in _alarms(template):
        mail = "yes" if "AlarmActions" in alarm else "no"
        names[_condition(alarm), mail, section_of(name)].append(f"`{name}`")
    rows = (
        (", ".join(found), condition, mail, f"[{section}](alarms.md#{anchor(section)})")
        for (condition, mail, section), found in names.items()
    )
    return HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def section_of(name: str) -> str:
    """Return the heading of the runbook's section about an alarm, apart from its first capital."""
    found = (heading for pattern, heading in SECTIONS.items() if re.fullmatch(pattern, name))
    return next(found, name)


def anchor(heading: str) -> str:
    """Return the anchor of a heading."""
    return heading.lower().replace(" ", "-")


def _alarms(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each alarm with its properties, in the template's order."""
    kinds = ("AWS::CloudWatch::CompositeAlarm", "AWS::CloudWatch::Alarm")
    found = {name: alarm for kind in kinds for name, alarm in template.resources(kind)}
    yield from ((name, found[name]) for name in template.document["Resources"] if name in found)


def _condition(alarm: Mapping[str, Any]) -> str:
    if "AlarmRule" in alarm:
        parts = re.findall(r"\$\{(\w+)\}", alarm["AlarmRule"]["Fn::Sub"])
        return " and ".join(f"`{part}`" for part in parts)
    subject, events, unit = _subject(alarm)
    threshold = alarm["Threshold"]
    limit = f"`{threshold['Ref']}`" if isinstance(threshold, Mapping) else f"{threshold:,}"
    bound = f"{COMPARISONS[alarm['ComparisonOperator']]} {limit}{unit}"
    return f"{subject}: {bound}{events}, {_periods(alarm)}"


def _subject(alarm: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what an alarm measures, the least number of events, and the unit of its threshold."""
    if "Metrics" not in alarm:
        name = alarm["MetricName"]
        return f"`{name}`", "", UNITS.get(name, "")
    stats = [each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each]
    [result] = [each for each in alarm["Metrics"] if each.get("ReturnData", True)]
    names = list(dict.fromkeys(f"`{stat['Metric']['MetricName']}`" for stat in stats))
    if result["Expression"].startswith("SUM("):
        return f"{' and '.join(names)}, sum of {len(stats)}", "", ""
    if result["Id"] == "done":
        return " without ".join(names), "", ""
    least = re.search(r">= (\d+)", result["Expression"])
    events = "" if least is None else f" and {least[1]} or more events"
    rank = next((stat["Stat"] for stat in stats if stat["Stat"].startswith("PR")), None)
    if rank is not None:
        late = f"{names[0]} over {rank[4:-1]} s"
        failed = f", or {names[1]}" if len(names) > 1 else ""
        return late + failed, events, " %"
    return " of ".join(_share(names)), events, " %" if result["Id"] in SHARES else ""


def _share(names: list[str]) -> list[str]:
    """Return the part and the whole of a rate; the whole includes the part if both are events."""
    if len(names) == 1:
        return [names[0], "its quota"]
    part, whole = names
    includes = {"`Errors`": "`Invocations`", "`5xx`": "`Count`"}
    return [part, whole if includes.get(part) == whole else f"{part} and {whole}"]


def _periods(alarm: Mapping[str, Any]) -> str:
    stats = [each["MetricStat"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    [period] = {each["Period"] for each in stats} or {alarm["Period"]}
    number = alarm["EvaluationPeriods"]
    points = alarm.get("DatapointsToAlarm", number)
    length = PERIODS[period]
    several = length[0].isdigit()
    if number == 1:
        return f"in {length}" if several else f"in 1 {length}"
    unit = f"periods of {length}" if several else f"{length}s"
    return f"in {points} of {number} {unit}"
