"""A client that repeats every POST after a lost answer makes nothing twice."""

from collections.abc import Sequence
from typing import Any

import pytest

from routes.router import TakesKey
from skein.models.common.storage import Key, Write
from skein.models.directory.keyed_call import KeyedCall
from tests.matrix.calls import ROUTES, Request, Route, caller
from tests.matrix.tenant_data import Neighbours
from tests.support.api_client import Answer, tells_who_looked

# Calls whose body has the caller's own id of what they create, or of what they state.
BY_CLIENT_ID = {
    "POST /v1/chats/{chat_id}/messages",
    "POST /v1/chats/{chat_id}/desk/messages",
}
# Calls that bring about a state: the second one finds it, and creates nothing.
TO_A_STATE = {
    "POST /v1/agents/{agent_id}/memories",  # known by its words
    "POST /v1/agents/{agent_id}/memories/{memory_id}/restore",
    "POST /v1/agents/{agent_id}/versions/{version}/restore",
    "POST /v1/approvals/{approval_id}",
    "POST /v1/chats/{chat_id}/consolidate",
    "POST /v1/chats/{chat_id}/desk",
    "POST /v1/chats/{chat_id}/invitation",
    "POST /v1/chats/{chat_id}/read",
    "POST /v1/chats/{chat_id}/sharing/keep",
    "POST /v1/chats/{chat_id}/sharing/withdraw",
    "POST /v1/event-endpoints/{endpoint_id}/redeliver",  # an event keeps its id
    "POST /v1/tools/{name}/offered",
    "POST /v1/sources/{source_id}/refresh",
    "POST /v1/sources/{source_id}/versions/{version}/restore",
    "POST /v1/tools/{name}/versions/{version}/restore",
    "POST /v1/users/{user_id}/profile-changes/{profile_change_id}/undo",
    "POST /v1/users/{user_id}/sign-out",
}
# Calls that run again, with what makes that harmless or wanted.
RUNS_AGAIN = {
    "POST /v1/agents/{agent_id}/recall/rebuild": "the index is rebuilt to the same state",
    "POST /v1/chats/{chat_id}/recall/rebuild": "the index is rebuilt to the same state",
    "POST /v1/recall/rebuild": "the index is rebuilt to the same state",
    "POST /v1/chats/{chat_id}/desk/drafts": "a draft is not stored",
    "POST /v1/event-endpoints/{endpoint_id}/secret": "the newest secret is valid",
    "POST /v1/services/{service_id}/secret": "the newest secret is valid",
    "POST /v1/tools/{name}/secret": "the newest secret is valid",
    "POST /v1/visit/end": "the visit has ended",
    "POST /v1/widgets/{widget_id}/visits": "a repeated renewal gives the same visit",
    "POST /v1/live": "a ticket opens one connection, and expires after a minute",
    "POST /v1/runs/{run_id}/replay": "a replay is not stored",
    "POST /v1/sources/search": "a search is not stored",
    "POST /v1/sources/uploads": "a file that no source names is deleted after a day",
    "POST /v1/tools/{name}/try": "the operator tries the tool once more",
}

POSTS = {str(route): route for route in ROUTES if route.method == "POST"}
KEYED = {
    name for name, each in POSTS.items() if any(isinstance(m, TakesKey) for m in each.middlewares)
}
every_keyed_route = pytest.mark.parametrize("name", sorted(KEYED))
KEY = {"Idempotency-Key": "5f0c"}
VERSIONS = "#VERSIONS"  # a rotated secret is a new version of a tool
# The chat of the tenant has a queued run, which takes the wish up: nothing is created.
JOINS = "POST /v1/chats/{chat_id}/runs"


@pytest.fixture
def world() -> Neighbours:
    return Neighbours()


def _send(
    world: Neighbours, route: Route, request: Request, headers: dict[str, str] = KEY, **changes: Any
) -> Answer:
    body = request.body
    if body is not None and "client_id" in body and str(route) not in BY_CLIENT_ID:
        body = {name: value for name, value in body.items() if name != "client_id"}
    client = caller(world, route, **changes)
    return client.call("POST", request.path, body, query=request.query, headers=headers)


def _kept(world: Neighbours) -> dict[Key, str]:
    """What is stored, but for who looked and how often."""
    return {
        key: text
        for key, text in world.table.all_stored().items()
        if not tells_who_looked(key) and "#LIMIT#" not in key.pk
    }


def _spied(world: Neighbours, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Write]]:
    """Return the list to which all writes are added from now on, by transaction."""
    write, transact, seen = world.table.write, world.table.transact, list[Sequence[Write]]()

    def one(given: Write) -> None:
        write(given)
        seen.append([given])

    def several(given: Sequence[Write]) -> None:
        transact(given)
        seen.append(given)

    monkeypatch.setattr(world.table, "write", one)
    monkeypatch.setattr(world.table, "transact", several)
    return seen


def _records(writes: Sequence[Write]) -> bool:
    """Tell whether writes store the record of a call."""
    return any(each.key.sk.startswith(KeyedCall.PREFIX) for each in writes)


def test_every_post_says_how_it_is_repeated() -> None:
    kinds = [KEYED, BY_CLIENT_ID, TO_A_STATE, set(RUNS_AGAIN)]
    assert set().union(*kinds) == set(POSTS), (
        "a POST takes an Idempotency-Key (`keyed`), or stands in a table here that says why not"
    )
    assert sum(map(len, kinds)) == len(POSTS)


@every_keyed_route
def test_repeated_key_creates_nothing_and_answers_from_the_item(
    world: Neighbours, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = POSTS[name]
    request = route.request(world.ours.own)
    transactions = _spied(world, monkeypatch)
    first = _send(world, route, request)
    assert 200 < first.status < 300, first.body
    [writes] = filter(_records, transactions)
    assert len(writes) > 1 or name == JOINS, "the record is stored with the item"
    before = _kept(world)
    again = _send(world, route, request)
    assert again.status in {first.status, 200}, again.body
    made = again.body.get("items", [again.body])
    known = first.body.get("items", [first.body])
    for mark in ("id", "name", "phone", "expires_at"):
        assert [each.get(mark) for each in made] == [each.get(mark) for each in known]
    assert {key for key in _kept(world) if not key.pk.endswith(VERSIONS)} <= before.keys()


@pytest.mark.parametrize("name", sorted(BY_CLIENT_ID | TO_A_STATE))
def test_repeated_call_creates_nothing(world: Neighbours, name: str) -> None:
    route = POSTS[name]
    request = route.request(world.ours.own)
    assert _send(world, route, request).status < 300
    before = _kept(world)
    again = _send(world, route, request)
    assert again.status < 300 or again.status == 409, again.body
    assert _kept(world).keys() == before.keys()
