"""The counters of a person's usage are exported, and deleted by the erasure."""

from datetime import datetime, timedelta

import pytest

from skein.models.common.storage import Key, Put
from skein.models.quotas.usage import (
    USAGE_SHARDS,
    Payer,
    agent_usage_key,
    channel_counts,
    user_usage_key,
)
from skein.models.runs.completion import TokenUsage
from skein.services.quotas.usage_reports import UsageReports
from tests.support.api_client import everything, operator
from tests.support.builders import NOON, TENANT, World
from tests.support.erasure import BEN, ZOE, erase, settle, text, world_of
from tests.support.fakes import says

CALLER = "usr_caller"
EXPORT = f"/v1/users/{ZOE.id}/export"
USED = TokenUsage(input_tokens=100, output_tokens=10, cached_tokens=20, reasoning_tokens=0)


def add(world: World, user_id: str) -> None:
    """Count a call and an SMS of an agent for a person, now."""
    payer, usage = Payer("agt_a", user_id), world.app.usage
    usage.add(TENANT, USED, spread_by="run_1", model="large", payer=payer)
    usage.add_texts(TENANT, payer, "sms", texts=1, units=2, spread_by="run_1")


def put(world: World, user_id: str, day: datetime) -> None:
    """Store a counter of another day."""
    counter = {"counted_for": user_id, **channel_counts("sms", 1, 1)}
    world.table.write(Put(user_usage_key(TENANT, day, user_id), counter))


def counters(world: World, *user_ids: str) -> list[Key]:
    """Return the keys of all counters of these people."""
    ends = {f"USER#{user_id}" for user_id in user_ids}
    return [key for key in everything(world) if "#USAGE#" in key.pk and key.sk in ends]


@pytest.fixture
def world() -> World:
    """Zoë, who was a caller with another id before."""
    world = world_of(says("Noted"))
    world.known(BEN)
    zoe = world.app.users.get(TENANT, ZOE.id).model_copy(update={"former_ids": (CALLER,)})
    world.table.write(Put(zoe.key, zoe.to_item()))
    return world


def test_erasure_of_a_person_deletes_the_usage_counters_of_all_their_ids(world: World) -> None:
    text(world, "Hello")
    settle(world)
    assert counters(world, ZOE.id)
    for user_id in (ZOE.id, CALLER, BEN.id):
        put(world, user_id, NOON - timedelta(days=400))
    erase(world)
    assert counters(world, ZOE.id, CALLER) == []
    assert len(counters(world, BEN.id)) == 1


def test_erasure_of_a_person_keeps_the_usage_counters_of_the_agent(world: World) -> None:
    add(world, ZOE.id)
    before = world.app.get(UsageReports).report(TENANT, "agent", first=NOON.date())
    assert before.total.usage.channels["sms"].units == 2
    erase(world)
    after = world.app.get(UsageReports).report(TENANT, "agent", first=NOON.date())
    assert after.total.usage == before.total.usage
    agents = {agent_usage_key(TENANT, NOON, "agt_a", shard) for shard in range(USAGE_SHARDS)}
    assert agents & everything(world).keys()


def test_export_has_the_usage_of_all_ids_by_day(world: World) -> None:
    put(world, CALLER, NOON - timedelta(days=3))
    add(world, CALLER)
    add(world, ZOE.id)
    add(world, BEN.id)
    old, today = operator(world).get(EXPORT).body["usage"]
    assert old == {
        "day": "2026-02-15",
        "models": {},
        "texts": 1,
        "channels": {"sms": {"texts": 1, "units": 1}},
        "tools": {},
        "tool_cost": 0.0,
    }
    assert (today["day"], today["texts"]) == ("2026-02-18", 2)
    assert today["channels"] == {"sms": {"texts": 2, "units": 4}}
    assert today["models"] == {
        "large": {
            "calls": 2,
            "input_tokens": 200,
            "cached_tokens": 40,
            "output_tokens": 20,
            "cache_written_tokens": 0,
        }
    }


def test_export_in_pages_has_the_usage_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skein.privacy.export.MAX_PAGE_BYTES", 250_000)
    world.chat(ZOE, BEN)
    add(world, ZOE.id)
    for n in range(40):
        world.post(f"{n}: {'x' * 9_000}", ZOE)
    first = operator(world).get(EXPORT).body
    second = operator(world).get(EXPORT, cursor=first["next_cursor"]).body
    assert [len(page["usage"]) for page in (first, second)] == [1, 0]
