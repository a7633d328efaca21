"""`GET /v1/agents/{id}/recall`: what recall finds for the readers of a chat."""

from collections import deque
from typing import Any

import pytest

from tests.support.agents import results_of
from tests.support.api_client import WHY, Client, operator
from tests.support.builders import TENANT
from tests.support.fakes import ScriptedModel, calls
from tests.support.recalling import DEPOSIT, LENA, SECRET, FailingVectors, deposits

RECALL = "/v1/agents/agt_a/recall"


def texts(answer: Any) -> list[str]:
    assert answer.status == 200, answer.body
    return [item["text"] for item in answer.body["items"]]


def test_recall_of_an_agent_returns_messages_with_their_scores() -> None:
    answer = operator(deposits()).get(RECALL, chat_id="chat_1", q="How high is the deposit?")
    assert answer.status == 200
    [item] = answer.body["items"]
    assert isinstance(item.pop("score"), float)
    assert item == {
        "chat_id": "chat_1",
        "seq": 1,
        "sender": {"kind": "user", "id": "usr_husam", "name": "Husam"},
        "text": DEPOSIT,
        "created_at": "2026-02-18T12:00:00.000Z",
    }
    assert 0 < answer.body["tokens"] < 60


def test_recall_in_an_open_chat_shows_no_private_message() -> None:
    admin = operator(deposits())
    assert texts(admin.get(RECALL, chat_id="chat_1", q="deposit")) == [DEPOSIT]
    assert SECRET in texts(admin.get(RECALL, chat_id="chat_2", reason=WHY, q="deposit"))


def test_recall_without_a_chat_shows_open_messages_alone() -> None:
    assert texts(operator(deposits()).get(RECALL, q="deposit")) == [DEPOSIT]


def test_recall_in_a_chat_finds_the_same_messages_as_the_tool() -> None:
    asked = calls(("recall", {"query": "the deposit"}))
    world = deposits(model=ScriptedModel(deque([asked, "Fine"])))
    found = texts(operator(world).get(RECALL, chat_id="chat_2", reason=WHY, q="the deposit"))
    world.app.manual_trigger.now(TENANT, "chat_2", LENA.ref, agent_id="agt_a")
    world.drain()
    [run] = world.runs("chat_2")
    shown = results_of(world, run)[0].content
    assert found
    for text in (DEPOSIT, SECRET):
        assert (text in found) == (text in shown)


@pytest.mark.parametrize("tokens", [1, 30])
def test_recall_keeps_to_the_given_tokens(tokens: int) -> None:
    answer = operator(deposits()).get(
        RECALL, chat_id="chat_2", reason=WHY, q="deposit", tokens=tokens
    )
    assert answer.body["tokens"] <= tokens
    assert len(answer.body["items"]) == (0 if tokens == 1 else 1)


@pytest.mark.parametrize(
    "query", [{}, {"q": ""}, {"q": "a", "tokens": 0}, {"q": "a", "tokens": 9_000}]
)
def test_recall_with_invalid_parameters_is_refused(query: dict[str, Any]) -> None:
    assert operator(deposits()).get(RECALL, **query).status == 422


def test_recall_of_no_agent_or_in_a_strange_chat_is_not_found() -> None:
    world = deposits()
    admin = operator(world)
    world.agent("agt_b", "Clerk")
    assert admin.get("/v1/agents/agt_gone/recall", q="deposit").status == 404
    assert admin.get("/v1/agents/agt_b/recall", q="deposit", chat_id="chat_1").status == 404
    assert admin.get(RECALL, q="deposit", chat_id="chat_gone").status == 404
    world.app.agents.delete(TENANT, "agt_a")
    assert admin.get(RECALL, q="deposit", chat_id="chat_1").status == 404


def test_recall_without_its_index_fails_temporarily() -> None:
    world = deposits(overrides={"vectors": FailingVectors()})
    assert operator(world).get(RECALL, q="deposit").status == 503


def test_recall_writes_nothing_but_the_audit_entry() -> None:
    world = deposits()
    admin: Client = operator(world)
    world.table.log.clear()
    admin.get(RECALL, chat_id="chat_1", q="deposit")
    methods = {call.method for call in world.table.log}
    assert methods - {"get", "get_many", "get_many_eventual", "nearest", "query"} == {"write"}
