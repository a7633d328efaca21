"""From a change of the table to frames of the live channel, by the feed."""

from typing import Any

import pytest

from skein.models.api.chats import ChatChange
from skein.models.chats.chat import Media
from skein.models.common.storage import Put
from skein.models.outbox.jobs import MAX_LIVE_EVENTS, PushJob
from skein.services.chats.post_message import NewMessage
from skein.services.chats.posted_media import sent_files
from tests.support.agents import settle
from tests.support.builders import TENANT, World, bot, person
from tests.support.choices import answer, ask
from tests.support.feed import source
from tests.support.live import connect
from tests.support.pictures import picture
from tests.support.template import running

DANA, TOM, LENA = (person(f"usr_{name.lower()}", name) for name in ("Dana", "Tom", "Lena"))


@pytest.fixture
def world() -> World:
    """Dana and Tom, who are connected, and an agent that answers; Lena is connected elsewhere."""
    made = World()
    made.agent()
    made.known(DANA, TOM, LENA)
    made.chat(DANA, TOM, bot())
    made.attach_feed()
    for who in (DANA, TOM, LENA):
        connect(made, who.id, who.name)
    return made


def frames(world: World, who: str, kind: str) -> list[dict[str, Any]]:
    return [frame for frame in world.sockets.frames(who) if frame["type"] == kind]


def test_message_and_answer_reach_the_chat(world: World) -> None:
    world.post("Hello there", DANA)
    world.drain()
    texts = [frame["message"]["text"] for frame in frames(world, "Tom", "message")]
    assert texts == ["Hello there", "Hello!"]
    statuses = [frame["status"] for frame in frames(world, "Tom", "run")]
    assert statuses[0] == "working"
    assert statuses[-1] == "done"
    assert frames(world, "Tom", "read")[-1]["member"]["id"] == "agt_a"
    assert world.sockets.frames("Lena") == []


def test_answered_question_is_pushed_as_changed(world: World) -> None:
    ask(world, DANA)
    answer(world, 1, DANA)
    settle(world)
    assert [frame["message"]["seq"] for frame in frames(world, "Tom", "message")][:2] == [1, 2]
    shown = frames(world, "Tom", "changed")[-1]["message"]
    assert (shown["seq"], shown["choice"]["status"]) == (1, "answered")


def test_picture_is_pushed_as_pending_and_as_ready(world: World) -> None:
    sent = Media(id="med_1", content_type="image/jpeg", url="https://api.twilio.com/ME1")
    world.sms.media_files = {sent.url: picture()}
    now = world.clock.now()
    with running("MobileApi"):
        world.app.chats.post_message(
            NewMessage(
                tenant=TENANT,
                chat_id="chat_1",
                sender=DANA.ref,
                text="Look",
                client_id="1",
                media=(sent.model_copy(update={"url": ""}),),
            ),
            extra_writes=lambda snapshot: tuple(sent_files([sent], snapshot, DANA.ref, now)),
        )
    world.drain()
    [shown] = frames(world, "Tom", "message")[0]["message"]["media"]
    assert shown["id"] == "med_1"
    [shown] = frames(world, "Tom", "changed")[-1]["message"]["media"]
    assert (shown["state"], shown["width"]) == ("ready", 64)


def test_invited_person_receives_only_invitation_frames(world: World) -> None:
    world.app.chat_admin.add_member(TENANT, "chat_1", DANA, LENA.ref)
    world.post("Before she accepts", DANA)
    world.drain()
    shown = frames(world, "Tom", "chat")[-1]["chat"]["members"]
    assert [each["state"] for each in shown if each["id"] == LENA.id] == ["invited"]
    told = {"type": "invitation", "chat_id": "chat_1"}
    assert world.sockets.frames("Lena") == [told]
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, LENA.ref)
    world.drain()
    assert world.sockets.frames("Lena") == [told, told]
    assert frames(world, "Tom", "invitation") == []


def test_new_title_and_new_member_are_pushed(world: World) -> None:
    world.app.chat_admin.change(TENANT, "chat_1", DANA.ref, ChatChange(title="Plans"))
    world.add(LENA, by=DANA)
    world.drain()
    assert frames(world, "Tom", "chat")[-1]["chat"]["title"] == "Plans"
    [frame] = frames(world, "Lena", "chat")
    assert LENA.id in [member["id"] for member in frame["chat"]["members"]]


def test_former_member_receives_no_frame_but_that_they_left(world: World) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)
    world.post("Tom has left", DANA)
    settle(world)
    assert world.sockets.frames("Tom") == [{"type": "removed", "chat_id": "chat_1"}]
    assert frames(world, "Dana", "message")


def test_private_chat_is_pushed_to_its_person_only(world: World) -> None:
    direct: dict[str, Any] = {"kind": "direct", "visibility": "private"}
    world.chat(LENA, bot(), chat_id="chat_2", **direct)
    world.post("A secret", LENA, chat_id="chat_2")
    world.drain()
    assert frames(world, "Lena", "message")
    assert world.sockets.frames("Dana") == world.sockets.frames("Tom") == []


def test_many_changes_at_once_become_a_resync(world: World) -> None:
    for number in range(MAX_LIVE_EVENTS + 1):
        world.post(f"Message {number}", DANA)
    world.drain()
    assert frames(world, "Tom", "resync")
    assert all(len(job.events) <= MAX_LIVE_EVENTS for job in sent(world))


def test_thousands_of_messages_behind_become_few_resyncs(world: World) -> None:
    world.post("Hello", DANA)
    world.drain()
    first = world.messages()[0]
    before = len(world.sockets.frames("Tom"))
    messages = [
        first.model_copy(update={"id": f"msg_{seq}", "seq": seq}) for seq in range(1_001, 2_001)
    ]
    for start in range(0, len(messages), 100):
        batch = messages[start : start + 100]
        world.table.transact([Put(message.key, message.to_item()) for message in batch])
    world.drain()
    frames = world.sockets.frames("Tom")[before:]
    assert {frame["type"] for frame in frames} == {"resync"}
    assert len(frames) <= len(messages) / source().settings.batch_size + 1


def sent(world: World) -> list[PushJob]:
    return [each.job for each in world.queues.sent if isinstance(each.job, PushJob)]


def test_change_without_visible_effect_sends_no_push(world: World) -> None:
    world.post("Hello", DANA)
    world.drain()
    before = len(sent(world))
    world.app.chat_admin.change(TENANT, "chat_1", DANA.ref, ChatChange(respond="every"))
    world.drain()
    assert len(sent(world)) == before
