"""Calls with an idempotency key create their item once, also at the same time and after a crash."""

from dataclasses import replace
from datetime import timedelta

import pytest

from skein.models.api.directory import NewAgent
from skein.models.directory.agent import Agent
from skein.models.directory.keyed_call import KeyedCall
from skein.services.directory.agents import Agents
from skein.services.directory.keyed_calls import KeyedCalls
from tests.support.api_client import Answer, operator
from tests.support.builders import TENANT, World

KEY = {"Idempotency-Key": "5f0c"}


@pytest.fixture
def world() -> World:
    return World()


def _create(world: World, name: str = "Hermes", sub: str = "usr_op", **headers: str) -> Answer:
    caller = replace(operator(world), sub=sub)
    return caller.call("POST", "/v1/agents", {"name": name}, headers={**KEY, **headers})


def _agents(world: World) -> int:
    return len(operator(world).get("/v1/agents").body["items"])


def test_same_key_and_body_answers_the_item_as_it_is_now(world: World) -> None:
    first = _create(world)
    operator(world).patch(f"/v1/agents/{first.body['id']}", {"name": "Iris"})
    again = _create(world)
    assert (again.status, again.body["id"], again.body["name"]) == (201, first.body["id"], "Iris")
    [record] = [i for k, i in world.table.all_items().items() if k.sk.startswith("KEYED#")]
    assert set(record) - {"pk", "sk"} == {
        "tenant",
        "caller",
        "call",
        "digest",
        "item_id",
        "expires_at",
    }


def test_same_key_with_another_body_answers_409(world: World) -> None:
    _create(world)
    answer = _create(world, "Iris")
    assert (answer.status, _agents(world)) == (409, 1)


def test_key_of_another_caller_or_another_path_is_another_key(world: World) -> None:
    ids = {_create(world).body["id"], _create(world, sub="usr_other").body["id"]}
    assert len(ids) == 2
    for agent_id in ids:
        path = f"/v1/agents/{agent_id}/goals"
        assert operator(world).call("POST", path, {"text": "Grow"}, headers=KEY).status == 201


def test_key_is_free_again_after_24_hours_although_the_record_is_not_deleted(world: World) -> None:
    first = _create(world).body["id"]
    world.clock.advance(timedelta(hours=24, seconds=1).total_seconds())
    assert _create(world).body["id"] != first
    assert _create(world, "Iris").status == 409


@pytest.mark.parametrize("key", ["", "with space", "k" * 256, "ü"])
def test_unfit_key_answers_400(world: World, key: str) -> None:
    answer = _create(world, **{"Idempotency-Key": key})
    assert (answer.status, _agents(world)) == (400, 0)


def test_call_that_loses_a_race_answers_the_item_of_the_faster_one(world: World) -> None:
    calls, agents = world.app.get(KeyedCalls), world.app.get(Agents)
    call = KeyedCall.of(
        TENANT, "usr_op", key="1", route="POST /v1/agents", request="", now=world.clock.now()
    )

    def named(name: str) -> Agent:
        return agents.create(TENANT, NewAgent(name=name))

    def again(agent_id: str) -> Agent:
        return agents.get(TENANT, agent_id)

    def slower() -> Agent:
        calls.once(call, Agent, lambda: named("Faster"), again)
        return named("Slower")

    assert calls.once(call, Agent, slower, again).name == "Faster"
    assert _agents(world) == 1
