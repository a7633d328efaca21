"""Table of the alarms of `template.yaml` and `deployment/ops.yaml`, for docs/stack.md."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from local.template import Template
from tools.reference import markdown

RUNBOOK = re.compile(r" Runbook: docs/alarms\.md#([\w-]+)$")


def table(*templates: Template) -> str:
    """Return a Markdown table of all alarms. Alarms with the same description share a row."""
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, alarm in alarms_of(*templates):
        text, section = described(alarm)
        names[text, _level(alarm), section].append(f"`{name}`")
    rows = (
        (", ".join(found), text, level, f"[{section}](alarms.md#{section})")
        for (text, level, section), found in names.items()
    )
    return markdown.table("alarm", "raised when", "tells", "runbook", rows=rows)


def _level(alarm: Mapping[str, Any]) -> str:
    """Return how an alarm notifies the team: by a page, by a ticket or not at all."""
    actions = alarm.get("AlarmActions", [])
    return str(actions[0]["Ref"]).removesuffix("Topic").lower() if actions else "nobody"


def alarms_of(*templates: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each alarm with its properties."""
    for template in templates:
        yield from template.resources("AWS::CloudWatch::Alarm")


def described(alarm: Mapping[str, Any]) -> tuple[str, str]:
    """Return an alarm's description, and the anchor of its section in the runbook.

    Raises:
        ValueError: The description does not end with a link to a section.
    """
    text = str(alarm["AlarmDescription"])
    found = RUNBOOK.search(text)
    if found is None:
        raise ValueError(f"the description needs a link to the runbook: {text}")
    return text[: found.start()], found[1]
