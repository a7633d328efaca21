"""The generated reference pages are up to date and complete."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from local.template import ROOT
from routes.document import openapi
from skein.models.common.reason import Reason
from tests.support.template import deployed_template
from tools.reference import alarms, calls, reasons
from tools.reference.pages import PAGES


@cache
def generated(name: str) -> str:
    """Return the content of a generated page."""
    return PAGES[name]()


@pytest.mark.parametrize("name", PAGES)
def test_reference_page_is_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == generated(name), (
        "run `make reference`"
    )


# ---------------------------------------------------------------------- calls


def rows(text: str) -> list[list[str]]:
    """Return the cells of each row that begins with a name between backticks."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


def test_calls_page_has_each_call_once() -> None:
    expected = {
        f"{method.upper()} {path}"
        for path, operations in openapi.document()["paths"].items()
        for method in operations
    }
    for function in deployed_template().functions:
        expected |= {f"{each.method} {each.path}" for each in function.routes}
    listed = [cells[0].strip("` ") for cells in rows(generated("calls.md"))]
    assert sorted(listed) == sorted(call for call in expected if "{proxy+}" not in call)


def document(**operation: Any) -> dict[str, Any]:
    told = {
        "tags": ["chats"],
        "operationId": "get_chat",
        "security": [{"chat": []}],
        "summary": "Get a chat",
        "responses": {"200": {}, "401": {}, "404": {}, "429": {}},
    }
    return {"tags": [{"name": "chats"}], "paths": {"/v1/chats": {"get": {**told, **operation}}}}


def test_calls_page_shows_scope_summary_and_particular_errors() -> None:
    page = calls.page(document())
    assert "| `GET /v1/chats` | `get_chat` | `chat` | Get a chat | 404 |\n" in page
    assert "| `GET /v1/chats` | `get_chat` | - | Get a chat | - |\n" in calls.page(
        document(security=[], responses={"200": {}, "500": {}})
    )


def test_calls_page_with_an_unplaced_tag_is_refused() -> None:
    described = {**document(), "tags": [{"name": "boats"}]}
    with pytest.raises(ValueError, match="boats"):
        calls.page(described)


# ---------------------------------------------------------------------- reasons


def test_reasons_page_has_each_reason_with_its_meaning() -> None:
    listed = [(cells[0].strip("` "), cells[1]) for cells in rows(generated("reasons.md"))]
    named = {each.value for each in Reason}
    assert sorted(row for row in listed if row[0] in named) == sorted(
        (each.value, each.meaning) for each in Reason
    )


def test_reasons_page_without_a_reason_is_refused() -> None:
    first, *others = reasons.GROUPS
    less = replace(first, entries=first.entries[1:])
    with pytest.raises(ValueError, match="wrong_signature"):
        reasons.page([less, *others])


def test_each_reason_has_known_places_and_an_advice() -> None:
    places = set(re.findall(r"^\| `(\w+)` \|", reasons.HEAD, flags=re.MULTILINE))
    for group in reasons.GROUPS:
        for entry in group.entries:
            assert entry.places, entry.reason
            assert set(entry.places) <= places, entry.reason
            assert entry.advice.endswith("."), entry.reason


# ---------------------------------------------------------------------- alarms


def test_alarm_list_has_each_alarm_once() -> None:
    resources = deployed_template().document["Resources"].items()
    expected = sorted(name for name, each in resources if each["Type"].endswith("Alarm"))
    listed = [name for cells in rows(generated("alarm-list.md")) for name in cells[0].split(", ")]
    assert sorted(name.strip("` ") for name in listed) == expected


@pytest.mark.parametrize(
    ("name", "row"),
    [
        (
            "RunsFailedAlarm",
            "`RunsFailed` of `RunsFailed` and `AnswerSeconds`: over 5 % and 3 or more events,",
        ),
        ("TokensSpentAlarm", "`ModelTokens`: over `AlarmTokensPerHour`, in 1 hour | yes"),
        ("TickSilentAlarm", "`Invocations` without `Errors`: under 16, in 2 of 3 periods of 5 min"),
        ("ConcurrencyAlarm", "`ResourceCount` of its quota: over 80 %, in 3 of 5 minutes | yes"),
        (
            "TextsHourAlarm",
            "`HandoverSeconds` over 30 s: over 1.44 % and 3 or more events, in 1 hour | no",
        ),
    ],
)
def test_alarm_list_states_the_condition_of_the_template(name: str, row: str) -> None:
    assert f"| `{name}` | {row}" in generated("alarm-list.md")


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("FeedErrorsAlarm", "errors of functions"),
        ("TableErrorsAlarm", "TableErrorsAlarm"),
        ("ServerErrorsAlarm", "ServerErrorsAlarm"),
        ("AnswersHourAlarm", "slow answers"),
    ],
)
def test_alarm_leads_to_its_section_of_the_runbook(name: str, section: str) -> None:
    assert alarms.section_of(name) == section
