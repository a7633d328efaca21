"""Consolidation over the HTTP API for operators."""

import json

import pytest

from skein.errors import Unavailable
from skein.memory.models.records import HISTORY as CONSOLIDATION_HISTORY
from skein.services.common.pagination import RowCursor
from tests.support.api_client import Client, operator
from tests.support.builders import TENANT, World, bot, person

HUSAM, COACH = person(), bot()
NOW = "/v1/chats/chat_1/consolidate"
HISTORY = "/v1/chats/chat_1/consolidations"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual")
    return world


def test_consolidation_request_is_carried_out_and_listed_in_history(
    world: World, admin: Client
) -> None:
    world.model.memories.append(json.dumps({"journal": ["Late"], "core": ["Husam leads sales."]}))
    world.post("Hello", HUSAM)
    answer = admin.post(NOW, {})
    assert answer.status == 202
    assert answer.body == {"chat_id": "chat_1", "to_seq": 1, "agents": 1}
    world.drain()
    page = admin.get(HISTORY).body
    [record] = page["items"]
    assert record.pop("id").startswith("con_")
    assert record.pop("at")
    assert record == {
        "agent_id": "agt_a",
        "from_seq": 1,
        "to_seq": 1,
        "messages": 1,
        "core": 1,
        "journal": 1,
        "superseded": 0,
        "removed": 0,
        "doubles": 0,
        "profile": 0,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0},
        "passed_over": False,
        "failure": None,
    }
    assert page["next_cursor"] is None
    assert admin.post(NOW, {}).body["agents"] == 0


def test_history_has_pages_newest_first_with_failures(world: World, admin: Client) -> None:
    for n in range(5):
        world.post(f"{n}", HUSAM)
        world.model.memories.extend([Unavailable("503")] if n == 2 else [])
        admin.post(NOW, {})
        world.drain()
    pages, cursor = [], None
    while True:
        page = admin.get(HISTORY, limit=2, **({"cursor": cursor} if cursor else {})).body
        pages.append(page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    records = [record for page in pages for record in page]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [record["to_seq"] for record in records] == [5, 4, 3, 2, 1]
    assert [record["failure"] for record in records] == [None, None, "Unavailable", None, None]


def test_the_history_ends_after_its_days(world: World, admin: Client) -> None:
    world.post("Hello", HUSAM)
    admin.post(NOW, {})
    world.drain()
    world.clock.advance(CONSOLIDATION_HISTORY.total_seconds() - 60)
    assert len(admin.get(HISTORY).body["items"]) == 1
    world.clock.advance(60)
    assert admin.get(HISTORY).body["items"] == []


def test_consolidate_request_that_is_not_allowed_is_refused(world: World, admin: Client) -> None:
    assert admin.post("/v1/chats/chat_gone/consolidate", {}).status == 404
    assert admin.get("/v1/chats/chat_gone/consolidations").status == 404
    assert operator(world, tenant="other").get(HISTORY).status == 404
    assert admin.get(HISTORY, cursor="x").status == 400
    beside = RowCursor(of="owned", after="MSG#000000000009").encode()
    assert admin.get(HISTORY, cursor=beside).status == 400
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    assert admin.post(NOW, {}).status == 409


def test_consolidation_routes_do_not_exist_in_the_mobile_api(world: World) -> None:
    person_with_app = Client(world)
    assert person_with_app.post(NOW, {}).status == 404
    assert person_with_app.get(HISTORY).status == 404
