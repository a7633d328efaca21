"""The generated reference pages are up to date and complete."""

import re
import threading
from functools import cache
from typing import Any

import pytest

from local.template import ROOT
from routes.document import openapi
from skein.adapters.sqlite_table.calls import Call
from skein.models.common.reason import Reason
from skein.settings import Settings
from tests.patterns import meter
from tests.support.template import deployed_template, ops_template
from tools import client_calls
from tools.reference import alarms, calls, data, reasons
from tools.reference.bill import Bills, with_bill
from tools.reference.lifecycle import with_lifecycle
from tools.reference.pages import PAGES

MEASURED = "data.md"  # which takes two seconds


@cache
def generated(name: str) -> str:
    """Return the content of a generated page."""
    return PAGES[name]()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.check] * (name == MEASURED)) for name in PAGES]
)
def test_reference_page_is_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == generated(name), (
        "run `make reference`"
    )


# ---------------------------------------------------------------------- the largest bill


def test_largest_bill_is_up_to_date() -> None:
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    assert page == with_bill(page), "run `make reference`"


def test_calls_of_our_clients_are_those_of_the_document() -> None:
    for path, text in client_calls.texts(openapi.document()).items():
        assert path.read_text(encoding="utf-8") == text, "run `make client-types`"


def test_life_of_a_run_is_up_to_date() -> None:
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    assert page == with_lifecycle(page), "run `make reference`"


def test_bill_follows_the_settings_and_parameters() -> None:
    parameters = deployed_template().parameters()
    usual = Bills(Settings(), parameters)
    assert usual.person(1).tokens < 2_000_000
    assert Bills(Settings(user_tokens_per_day=1_000), parameters).person(1) < usual.person(1)
    longer = Settings(sms_answer_segments=12)
    assert Bills(longer, parameters).texter(1).segments == 2 * usual.texter(1).segments
    larger = parameters | {"Size": "large"}
    assert Bills(Settings(), larger).stranger(1).calls == usual.stranger(1).calls * 10


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


# ---------------------------------------------------------------------- reasons


def test_reasons_page_has_each_reason_with_its_meaning() -> None:
    listed = [(cells[0].strip("` "), cells[1]) for cells in rows(generated("reasons.md"))]
    named = {each.value for each in Reason}
    assert sorted(row for row in listed if row[0] in named) == sorted(
        (each.value, each.meaning) for each in Reason
    )


def test_each_reason_has_known_places_and_an_advice() -> None:
    places = set(re.findall(r"^\| `(\w+)` \|", reasons.HEAD, flags=re.MULTILINE))
    for group in reasons.GROUPS:
        for entry in group.entries:
            assert entry.places, entry.reason
            assert set(entry.places) <= places, entry.reason
            assert entry.advice.endswith("."), entry.reason


# ---------------------------------------------------------------------- data


def test_data_page_without_an_entity_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "GROUPS", {**data.GROUPS, "Runs": {}})
    with pytest.raises(ValueError, match="'Run'"):
        data.page()


def test_data_page_without_a_kind_of_due_pointer_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(data, "KINDS", {})
    with pytest.raises(ValueError, match="'fading'"):
        data.page()


@pytest.mark.parametrize(
    "askers",
    [
        ["MainThread", "ThreadPoolExecutor-0_0", "ThreadPoolExecutor-0_1", "MainThread"],
        ["MainThread", "ThreadPoolExecutor-0_0", "MainThread", "ThreadPoolExecutor-0_1"],
    ],
    ids=["in a row", "around another call"],
)
def test_calls_of_one_pool_are_one_round_in_any_order(askers: list[str]) -> None:
    log = meter.Log()
    for asker in askers:
        thread = threading.Thread(name=asker, target=log.append, args=(Call("get", 1, 0),))
        thread.start()
        thread.join()
    assert log.rounds == 3


# ---------------------------------------------------------------------- the stack


def test_stack_page_names_each_resource_once() -> None:
    template = deployed_template()
    page = generated("stack.md")
    parts = (part.partition("\n") for part in page.split("\n## ")[1:])
    listed = {
        heading: sorted(name for row in rows(text) for name in re.findall(r"`(\w+)`", row[0]))
        for heading, _, text in parts
    }
    functions = sorted(function.logical_id for function in template.functions)
    assert listed["Functions"] == listed["Permissions"] == functions
    assert listed["Queues"] == sorted(q.logical_id for q in template.queues if q.dead_letters)
    assert listed["Parameters"] == sorted(template.document["Parameters"])
    assert listed["Outputs"] == sorted(template.document["Outputs"])
    assert listed["Alarms"] == sorted(
        name for name, _ in alarms.alarms_of(template, ops_template())
    )
