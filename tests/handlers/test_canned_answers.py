"""Canned answers: the texts that a tenant keeps for its team at the desk."""

from typing import Any

import pytest

import admin_api
from tests.support.api_client import Client
from tests.support.builders import World

PATH = "/v1/canned-answers"
HOURS = {"name": "hours", "text": "Hello {name}, we are open from 9 to 17."}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def support(world: World) -> Client:
    return Client(world, api=admin_api, sub="op_mia", scope="support", claims={})


def test_answers_are_listed_by_name_and_texts_are_stripped(support: Client) -> None:
    for body in (HOURS, {"name": "bye", "text": " Bye "}):
        assert support.post(PATH, body).status == 201
    items = support.get(PATH).body["items"]
    assert [(each["name"], each["text"]) for each in items] == [
        ("bye", "Bye"),
        tuple(HOURS.values()),
    ]
    assert (
        support.patch(f"{PATH}/bye", {"text": " We are closed. "}).body["text"] == "We are closed."
    )


def test_canned_answer_with_used_name_is_409(support: Client) -> None:
    assert support.post(PATH, HOURS).status == 201
    again = support.post(PATH, HOURS | {"text": "Other"})
    assert (again.status, again.code) == (409, "conflict")
    assert support.get(f"{PATH}/hours").body["text"] == HOURS["text"]


def test_tenant_has_a_limited_number_of_answers(
    support: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skein.desk.canned_answers.MAX_ANSWERS", 10)
    for n in range(10):
        assert support.post(PATH, {"name": f"n{n}", "text": "Hello"}).status == 201
    assert support.post(PATH, HOURS).status == 409


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Hours", "text": "x"},
        {"name": "/hours", "text": "x"},
        {"name": "two words", "text": "x"},
        {"name": "x" * 41, "text": "x"},
        {"name": "hours", "text": " "},
        {"name": "hours", "text": "x" * 4_001},
        {"name": "hours"},
    ],
)
def test_answer_that_does_not_fit_is_refused(support: Client, body: dict[str, Any]) -> None:
    assert support.post(PATH, body).status == 422


def test_answers_of_another_tenant_are_not_found(world: World, support: Client) -> None:
    support.post(PATH, HOURS)
    other = Client(world, api=admin_api, sub="x", tenant="other", scope="support", claims={})
    assert other.get(PATH).body["items"] == []
    assert other.get(f"{PATH}/hours").status == 404


def test_each_call_is_audited_as_one_of_the_desk(world: World, support: Client) -> None:
    support.post(PATH, HOURS)
    support.patch(f"{PATH}/hours", {"text": "x"})
    owner = Client(world, api=admin_api, sub="op_eve", scope="admin", claims={})
    seen = [
        (each["verb"], each["kind"], each["ids"])
        for each in owner.get("/v1/audit").body["items"]
        if each["who"] == "op_mia"
    ]
    assert sorted(seen) == [
        ("change", "desk", {"answer_name": "hours"}),
        ("create", "desk", {"name": "hours"}),
    ]
