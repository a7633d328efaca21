"""Messages and runs are kept as long as their tenant says, and not a moment longer."""

from datetime import timedelta
from typing import Any

import pytest

from skein.models.api.chats import NewChat
from skein.models.chats.chat import Message
from skein.models.config.overrides import TenantOverridesChange
from skein.models.delivery.sms import InboundSms
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.agents import actor, asked_by_service, settle
from tests.support.api_client import Client, operator
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, says

HUSAM, COACH = person(), bot()
DAY = timedelta(days=1).total_seconds()


def keeping(settings: Settings | None = None, **days: Any) -> World:
    """A world whose tenant keeps things for so many days."""
    world = World(settings or Settings(), model=ScriptedModel.saying(default=says("Hi")))
    actor(world)
    world.line()
    world.app.tenant_settings.change(TENANT, TenantOverridesChange.model_validate(days))
    return world


def opened(world: World) -> str:
    """A chat that Husam has opened with the agent."""
    members = [{"kind": "agent", "id": COACH.id}]
    new = NewChat.model_validate({"kind": "group", "respond": "mention", "members": members})
    return world.app.chat_admin.create(TENANT, HUSAM, new).chat.id


def asked(world: World, chat_id: str) -> None:
    """The agent is spoken to, and answers once."""
    world.model.script.extend([says("Hello, Husam"), "[silence]"])
    world.post("@Coach, hello", HUSAM, chat_id=chat_id, client_id="c1")
    settle(world)


def test_messages_go_after_their_days_and_numbers_stay_dense() -> None:
    world = keeping(message_days=30)
    chat_id = opened(world)
    asked(world, chat_id)
    world.clock.advance(20 * DAY)
    world.post("Later", HUSAM, chat_id=chat_id)
    assert world.texts(chat_id) == ["@Coach, hello", "Hello, Husam", "Later"]
    world.clock.advance(10 * DAY + 60)
    assert world.texts(chat_id) == ["Later"]
    posted = world.post("Still here", HUSAM, chat_id=chat_id)
    assert posted.message.seq == 4
    client = Client(world)
    page = client.get(f"/v1/chats/{chat_id}/messages", after=0, limit=1).body
    assert [message["seq"] for message in page["items"]] == [3]


def test_expired_messages_are_not_shown_to_agents() -> None:
    world = keeping(message_days=1)
    chat_id = opened(world)
    world.post("The word is mango", HUSAM, chat_id=chat_id)
    world.clock.advance(DAY + 60)
    world.post("@Coach, which word?", HUSAM, chat_id=chat_id)
    settle(world)
    told = "\n".join(message.content for message in world.model.requests[0].messages)
    assert "which word" in told
    assert "mango" not in told


def test_expired_messages_in_the_cache_are_not_shown_to_agents() -> None:
    world = keeping(Settings(context_cache_seconds=86_400), message_days=1)
    chat_id = opened(world)
    world.post("The word is mango", HUSAM, chat_id=chat_id)
    world.clock.advance(DAY / 2)
    asked(world, chat_id)
    world.clock.advance(DAY / 2 + 60)
    world.post("@Coach, which word?", HUSAM, chat_id=chat_id)
    settle(world)
    told = "\n".join(message.content for message in world.model.requests[-1].messages)
    assert world.metrics.counts["ContextCacheHits"] > 1
    assert "which word" in told
    assert "mango" not in told


def test_client_id_of_an_expired_message_can_be_posted_again() -> None:
    world = keeping(message_days=1)
    chat_id = opened(world)
    first = world.post("Hello", HUSAM, chat_id=chat_id, client_id="c1")
    assert not world.post("Hello", HUSAM, chat_id=chat_id, client_id="c1").created
    world.clock.advance(DAY + 60)
    again = world.post("Hello", HUSAM, chat_id=chat_id, client_id="c1")
    assert (again.created, again.message.seq) == (True, first.message.seq + 1)


def test_runs_and_their_prompts_go_after_their_days() -> None:
    world = keeping(run_days=7)
    chat_id = opened(world)
    asked(world, chat_id)
    [run] = world.runs(chat_id)
    admin = operator(world)
    assert admin.get(f"/v1/runs/{run.id}").status == 200
    world.clock.advance(7 * DAY + 60)
    assert admin.get(f"/v1/runs/{run.id}").status == 404
    assert len(world.messages(chat_id)) == 2
    left = [key for key in _kept_by(world.table) if key.startswith("RUN#")]
    assert len(left) > 1  # the table takes its time; no read shows them


def test_runs_without_a_chat_expire_with_run_retention() -> None:
    world = keeping(run_days=7)
    run = asked_by_service(world)
    settle(world)
    admin = operator(world)
    assert admin.get(f"/v1/runs/{run.id}").body["status"] == "done"
    world.clock.advance(7 * DAY + 60)
    assert admin.get(f"/v1/runs/{run.id}").status == 404


def test_texts_go_with_their_deliveries() -> None:
    world = keeping(message_days=1)
    sms = InboundSms(
        account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=LINE, body="Hello"
    )
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    world.clock.advance(5)
    settle(world)
    chat_id = posted.message.chat_id
    assert world.deliveries(chat_id)
    world.clock.advance(DAY + 60)
    assert world.messages(chat_id) == []
    assert world.deliveries(chat_id) == []


@pytest.mark.parametrize("said", [{}, {"message_days": None, "run_days": None}])
def test_messages_and_runs_without_retention_never_expire(
    said: dict[str, Any],
) -> None:
    world = keeping(**said)
    chat_id = opened(world)
    asked(world, chat_id)
    world.clock.advance(4_000 * DAY)
    assert len(world.messages(chat_id)) == 2
    assert len(world.runs(chat_id)) == 1
    assert all(message.expires_at is None for message in world.messages(chat_id))


def test_changed_retention_applies_to_items_from_the_next_hour() -> None:
    world = keeping()
    chat_id = opened(world)
    world.post("Before", HUSAM, chat_id=chat_id)
    settle(world)
    change = TenantOverridesChange.model_validate({"message_days": 2})
    world.app.tenant_settings.change(TENANT, change)
    world.clock.advance(3_600)
    world.post("First of the hour", HUSAM, chat_id=chat_id)
    settle(world)
    world.post("After", HUSAM, chat_id=chat_id)
    ends = [_days(message) for message in world.messages(chat_id)]
    assert ends == [None, None, 2]


def test_direct_chat_follows_a_changed_retention_at_once() -> None:
    world = keeping()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.post("Before", HUSAM)
    change = TenantOverridesChange.model_validate({"message_days": 2})
    world.app.tenant_settings.change(TENANT, change)
    world.post("After", HUSAM)
    assert [_days(message) for message in world.messages()] == [None, 2]
    assert world.stored_chat().overrides is None
    world.app.tenant_settings.change(
        TENANT, TenantOverridesChange.model_validate({"message_days": None})
    )
    world.post("Later", HUSAM)
    assert [_days(message) for message in world.messages()] == [None, 2, None]


def _days(message: Message) -> int | None:
    if message.expires_at is None:
        return None
    return round((message.expires_at - message.created_at.timestamp()) / DAY)


def _kept_by(table: MemoryTable) -> list[str]:
    return [key.sk for key in table.all_keys()]
