"""Agents that only operators may add to chats."""

import pytest

from skein.models.delivery.sms import InboundSms
from tests.support.api_client import Answer, Client
from tests.support.builders import LINE, World, bot, person

HUSAM = person()


@pytest.fixture
def world() -> World:
    world = World()
    world.known(HUSAM)
    world.chat(HUSAM)
    return world


def adding(client: Client, way: str) -> Answer:
    """The answer to a person who adds the agent, in one of three ways."""
    if way == "add":
        return client.put("/v1/chats/chat_1/members/agent/agt_a")
    return client.post("/v1/chats", {"kind": way, "members": [{"kind": "agent", "id": "agt_a"}]})


WAYS = pytest.mark.parametrize("way", ["add", "group", "direct"])


@WAYS
@pytest.mark.parametrize(
    ("listed", "who", "added"),
    [
        (True, None, True),
        (False, None, False),
        (True, "operators", False),
        (False, "anyone", True),
    ],
)
def test_agent_can_be_added_according_to_who_may_add(
    world: World, husam: Client, way: str, listed: bool, who: str | None, added: bool
) -> None:
    world.agent(listed=listed, who_may_add=who)
    before = world.table.all_items()
    answer = adding(husam, way)
    assert (answer.status < 300) == added
    if not added:
        assert (answer.status, answer.code) == (403, "forbidden")
        assert answer.body["details"] == {"agent_ids": ["agt_a"]}
        kept = {key for key in world.table.all_items() if "#AUDIT#" not in key.pk}
        assert kept - before.keys() == set()


@WAYS
def test_operator_who_is_also_a_person_adds_every_agent(world: World, way: str) -> None:
    world.agent(who_may_add="operators")
    assert adding(Client(world, scope="chat support"), way).status in {200, 201}


def test_agent_that_is_there_already_stays(world: World, husam: Client) -> None:
    world.agent()
    world.chat(HUSAM, bot(), chat_id="chat_2")
    world.agent(who_may_add="operators")
    assert husam.put("/v1/chats/chat_2/members/agent/agt_a").status == 200
    world.post("Hello", HUSAM, chat_id="chat_2")
    assert len(world.runs("chat_2")) == 1


def test_sms_to_a_line_opens_the_chat_with_the_lines_agent(world: World) -> None:
    """An operator has given the line its agent, so nobody adds the agent."""
    world.agent(who_may_add="operators")
    world.line()
    sms = InboundSms(
        account_sid="AC1", message_sid="SM1", sender="+15005550100", recipient=LINE, body="Hi"
    )
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    assert world.stored_chat(posted.message.chat_id).has(bot().ref)
