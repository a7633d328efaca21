"""An agent's passages follow its memberships, which the chat's members change."""

import pytest

from tests.support.builders import TENANT
from tests.support.recall import ANN, BEN, CLERK, COACH, Indexed


@pytest.fixture
def world() -> Indexed:
    world = Indexed()
    world.agent()
    world.agent("agt_b", "Clerk")
    world.known(ANN, BEN)
    world.chat(ANN, BEN, COACH, respond="manual")
    world.post("Room 4711", ANN)
    return world


def test_agent_that_joins_gets_only_later_messages(world: Indexed) -> None:
    world.app.chat_admin.add_member(TENANT, "chat_1", ANN, CLERK.ref)
    world.post("Room 4712", ANN)
    world.index()
    assert world.seqs("agt_a") == [1, 2]
    assert world.seqs("agt_b") == [2]


def test_agent_that_leaves_keeps_its_messages_and_gets_no_more(world: Indexed) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", ANN.ref, COACH.ref)
    world.post("Room 4712", ANN)
    world.index()
    assert world.seqs() == [1]


def test_agent_that_returns_has_only_messages_since_then(world: Indexed) -> None:
    world.index()
    world.app.chat_admin.remove_member(TENANT, "chat_1", ANN.ref, COACH.ref)
    world.post("Room 4712", ANN)
    world.app.chat_admin.add_member(TENANT, "chat_1", ANN, COACH.ref)
    world.post("Room 4713", ANN)
    world.index(1, 2, agent_id="agt_a")
    world.index(3, 3)
    assert world.seqs() == [3]
    assert set(world.postings()) == {"4713"}
