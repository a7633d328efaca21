"""New names of people and agents reach the rosters that hold copies of them."""

from datetime import timedelta

import pytest

from skein.errors import Unavailable, Unprocessable
from skein.models.api.directory import AgentChange, UserChange
from skein.models.common.base import NamedMember
from skein.models.outbox.jobs import UpkeepJob
from skein.services.directory.display_names import MAX_CHATS, SEEN_AFTER_SECONDS
from tests.support.api_client import Client
from tests.support.builders import TENANT, World, bot, person

ANN, BEN, COACH = person("usr_ann", "Caller 0100"), person("usr_ben", "Ben"), bot()
ANNA, TRAINER = person("usr_ann", "Anna"), bot(name="Trainer")
HOUR = 3_600


@pytest.fixture
def world() -> World:
    """Ann and the agent have three chats."""
    world = World()
    world.agent()
    world.known(ANN, BEN)
    for chat_id, visibility in (("chat_1", "open"), ("chat_2", "private"), ("chat_3", "private")):
        world.chat(ANN, BEN, COACH, chat_id=chat_id, visibility=visibility)
    return world


def rename(world: World, who: NamedMember) -> None:
    if who.kind == "user":
        world.app.users.change(TENANT, who.id, UserChange(name=who.name))
    else:
        world.app.agents.change(TENANT, who.id, AgentChange(name=who.name))


def called(world: World, who: NamedMember, chat_id: str) -> set[str]:
    """How somebody is called in a chat: in its roster and in their own place."""
    roster = world.stored_chat(chat_id).roster
    names = {member.name for member in roster if member.ref == who.ref}
    return names | {world.membership(who, chat_id).member.name}


def test_a_person_is_called_by_a_new_name_in_all_their_chats(world: World) -> None:
    rename(world, ANNA)
    assert called(world, ANN, "chat_1") == {ANN.name}
    world.drain()
    for chat_id in ("chat_1", "chat_2", "chat_3"):
        assert called(world, ANN, chat_id) == {"Anna"}
        assert world.stored_chat(chat_id).roster == (ANNA, BEN, COACH)
    shown = Client(world, sub=BEN.id).get("/v1/chats").body["items"]
    assert {member["name"] for chat in shown for member in chat["members"]} == {
        "Anna",
        "Ben",
        "Coach",
    }


def test_rename_keeps_old_messages_and_names_new_ones(
    world: World,
) -> None:
    world.post("Before", ANN)
    world.drain()
    rename(world, ANNA)
    world.drain()
    world.post("After", ANN)
    world.drain()
    said = [m.sender.name for m in world.messages() if m.sender.kind == "user"]
    assert said == ["Caller 0100", "Anna"]
    assert "[Anna (human)] After" in str(world.model.requests[-1].messages)


def test_an_agent_is_called_by_a_new_name_in_open_chats_soon_and_in_others_when_they_go_on(
    world: World,
) -> None:
    rename(world, TRAINER)
    world.drain()
    chats = ("chat_1", "chat_2", "chat_3")
    assert [called(world, COACH, chat_id) for chat_id in chats] == [
        {"Trainer"},
        {"Coach"},
        {"Coach"},
    ]
    world.clock.advance(HOUR)
    world.post("Hello", ANN, chat_id="chat_2")
    world.drain()
    assert [called(world, COACH, chat_id) for chat_id in chats] == [
        {"Trainer"},
        {"Trainer"},
        {"Coach"},
    ]


def test_the_work_for_a_new_name_does_not_grow_with_the_chats(world: World) -> None:
    for n in range(MAX_CHATS + 5):
        world.chat(ANN, COACH, chat_id=f"chat_more{n}", kind="direct", visibility="private")
    rename(world, ANNA)
    rename(world, TRAINER)
    jobs = [waiting.job for waiting in world.queues.sent if isinstance(waiting.job, UpkeepJob)]
    assert len(jobs) == MAX_CHATS + 1, "the agent has one open chat"


def test_a_chat_whose_job_was_lost_follows_when_something_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> None:
        raise Unavailable("no queue")

    with monkeypatch.context() as broken:
        broken.setattr(world.queues, "send", lost)
        rename(world, ANNA)
    world.drain()
    assert called(world, ANN, "chat_1") == {ANN.name}
    world.clock.advance(HOUR)
    world.post("Hello", BEN)
    world.drain()
    assert called(world, ANN, "chat_1") == {"Anna"}


def test_rejected_user_change_keeps_the_display_name(world: World) -> None:
    change = UserChange(name="Anna", phones=("+15005550199",))
    with pytest.raises(Unprocessable):
        world.app.users.change(TENANT, ANN.id, change)
    world.drain()
    assert called(world, ANN, "chat_1") == {ANN.name}


def test_a_change_of_anything_else_looks_through_no_chats(world: World) -> None:
    world.app.users.change(TENANT, ANN.id, UserChange(name=ANN.name, time_zone="Europe/Berlin"))
    world.app.agents.change(TENANT, COACH.id, AgentChange(system_prompt="Be brief."))
    assert world.queues.sent == []


def test_jobs_are_seen_only_when_the_change_is_surely_made(world: World) -> None:
    rename(world, ANNA)
    assert world.queues.ready("upkeep") == ()
    earliest = world.clock.now() + timedelta(seconds=SEEN_AFTER_SECONDS)
    assert {waiting.due_at for waiting in world.queues.waiting("upkeep")} == {earliest}


def test_rename_skips_former_members_and_users_in_erasure(
    world: World,
) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", ANN.ref, ANN.ref)
    rename(world, ANNA)
    rename(world, person("usr_ben", "Benjamin"))
    world.app.erasures.request(TENANT, BEN.id, by="usr_op")
    for chat_id in ("chat_1", "chat_2"):
        world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id=chat_id))
    assert world.membership(ANN, "chat_1").member.name == ANN.name
    assert world.stored_chat("chat_2").roster == (ANNA, BEN, COACH)
