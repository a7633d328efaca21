"""Pushes: which frames the people of a chat are sent, and which they are not."""

from collections import Counter
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.live.api import MAX_FRAME_BYTES, STATUSES, public_reason
from skein.models.chats.chat import Message
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Update
from skein.models.outbox.jobs import LiveEvent, PushJob
from skein.models.runs.run import Run
from tests.support.builders import TENANT, World, bot, person
from tests.support.live import connect

DANA, TOM, LENA = (person(f"usr_{name.lower()}", name) for name in ("Dana", "Tom", "Lena"))
PUBLIC = {"delayed", "silent", "canceled", "filtered", "error", None}


@pytest.fixture
def world() -> World:
    """Dana and Tom are in a group with an agent that answers nobody; both are connected."""
    made = World()
    made.agent()
    made.known(DANA, TOM, LENA)
    made.chat(DANA, TOM, bot(), respond="manual")
    for who, connection_id in ((DANA, "dana"), (TOM, "tom"), (LENA, "lena")):
        connect(made, who.id, connection_id)
    return made


def push(world: World, *events: LiveEvent, chat_id: str = "chat_1") -> None:
    world.app.pushes.push(PushJob(tenant=TENANT, chat_id=chat_id, events=events))


def calls(world: World) -> dict[str, int]:
    return dict(Counter(call.method for call in world.table.log))


def new(seq: int) -> LiveEvent:
    return LiveEvent(type="message", seq=seq)


def kinds(world: World, connection_id: str) -> list[str]:
    return [frame["type"] for frame in world.sockets.frames(connection_id)]


def texts(world: World, connection_id: str) -> list[str]:
    frames = world.sockets.frames(connection_id)
    return [frame["message"]["text"] for frame in frames if frame["type"] == "message"]


def test_message_reaches_each_member_once(world: World) -> None:
    world.post("Hello", DANA)
    push(world, new(1), new(1))
    assert texts(world, "tom") == texts(world, "dana") == ["Hello"]
    assert kinds(world, "lena") == []
    [frame] = world.sockets.frames("tom")
    assert frame["chat_id"] == "chat_1"
    assert frame["message"]["sender"] == {"kind": "user", "id": DANA.id, "name": "Dana"}


def test_member_who_left_receives_nothing(world: World) -> None:
    world.post("Hello", DANA)
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)
    push(world, new(1), LiveEvent(type="chat"), LiveEvent(type="resync"))
    assert kinds(world, "tom") == []
    assert kinds(world, "dana") == ["message", "chat", "resync"]


def test_removed_member_receives_one_removed_frame_without_text(world: World) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)
    world.post("Tom is gone", DANA)
    push(world, LiveEvent(type="left", member=TOM.ref), LiveEvent(type="chat"), new(1))
    assert world.sockets.frames("tom") == [{"type": "removed", "chat_id": "chat_1"}]
    assert "removed" not in kinds(world, "dana")


def test_member_who_rejoined_receives_no_removed_frame(world: World) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)
    world.add(TOM, by=DANA)
    push(world, LiveEvent(type="left", member=TOM.ref), LiveEvent(type="chat"))
    assert kinds(world, "tom") == ["chat"]


def test_last_member_who_left_receives_a_removed_frame(world: World) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)
    world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, DANA.ref)
    push(world, LiveEvent(type="left", member=DANA.ref))
    assert kinds(world, "dana") == ["removed"]


def test_member_who_leaves_during_a_push_receives_no_message_from_after(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post("Before", DANA)
    send = world.sockets.push

    def leave_first(connection_id: str, text: str) -> None:
        monkeypatch.undo()
        world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)
        world.post("After", DANA)
        push(world, new(2))
        send(connection_id, text)

    monkeypatch.setattr(world.sockets, "push", leave_first)
    push(world, new(1))
    assert texts(world, "tom") == ["Before"]  # already on its way
    assert sorted(texts(world, "dana")) == ["After", "Before"]


def test_member_who_joins_during_a_push_receives_nothing_from_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.post("Before", DANA)
    send = world.sockets.push

    def join_first(connection_id: str, text: str) -> None:
        monkeypatch.undo()
        world.add(LENA, by=DANA)
        push(world, new(1))  # SQS may deliver a job twice
        send(connection_id, text)

    monkeypatch.setattr(world.sockets, "push", join_first)
    push(world, new(1))
    assert texts(world, "lena") == []


def test_member_who_joins_receives_nothing_from_before(world: World) -> None:
    world.post("Before", DANA)
    world.add(LENA, by=DANA)
    world.post("After", DANA)
    push(world, new(1), new(2), LiveEvent(type="read", member=TOM.ref))
    assert texts(world, "lena") == ["After"]
    assert texts(world, "tom") == ["Before", "After"]


def test_erased_message_comes_as_changed_without_its_words(world: World) -> None:
    world.post("My secret", DANA)
    key = Message.key_of(TENANT, "chat_1", 1)
    world.table.write(Update(key, set={"kind": "erased", "text": ""}))
    push(world, new(1), LiveEvent(type="changed", seq=1))
    [frame] = world.sockets.frames("tom")
    assert (frame["type"], frame["message"]["kind"]) == ("changed", "erased")
    assert "secret" not in str(frame)


def test_deleted_message_comes_as_changed_even_before_its_first_push(world: World) -> None:
    world.post("My secret", DANA)
    world.app.message_deletion.delete(TENANT, DANA.ref, "chat_1", 1)
    push(world, new(1))
    [frame] = world.sockets.frames("tom")
    assert (frame["type"], frame["message"]["kind"]) == ("changed", "deleted")
    assert "secret" not in str(frame)


def test_read_receipt_is_pushed_to_the_others(world: World) -> None:
    world.post("Hello", DANA)
    world.app.views.read(TENANT, TOM.id, "chat_1", 1)
    push(world, LiveEvent(type="read", member=TOM.ref))
    member = {"kind": "user", "id": TOM.id, "name": "Tom"}
    assert world.sockets.frames("dana") == [
        {"type": "read", "chat_id": "chat_1", "member": member, "seq": 1}
    ]
    assert kinds(world, "tom") == []


def run_frames(world: World, **changes: Any) -> list[dict[str, Any]]:
    """Return what Tom is sent when a run has changed."""
    world.post("Hello", DANA)
    queued = world.app.manual_trigger.now(TENANT, "chat_1", DANA.ref, agent_id="agt_a")
    if changes:
        world.table.write(Update(Run.key_of(TENANT, queued.id), set=changes))
    push(world, LiveEvent(type="run", run_id=queued.id))
    frames = world.sockets.frames("tom")
    assert queued.id not in str(frames)
    return frames


def test_run_is_shown_without_its_id(world: World) -> None:
    agent = {"id": "agt_a", "name": "Coach"}
    assert run_frames(world) == [
        {"type": "run", "chat_id": "chat_1", "agent": agent, "status": "working"}
    ]


def test_failed_run_has_a_public_reason(world: World) -> None:
    [frame] = run_frames(world, status="failed", reason="tokens_used_up")
    assert (frame["status"], frame["reason"]) == ("failed", "error")


@pytest.mark.parametrize(
    ("reason", "public"),
    [
        ("chose_silence", "silent"),
        ("tools_mode_text", "silent"),
        ("answered_elsewhere", "silent"),
        ("unspoken_text", "error"),
        ("steps_used_up", "error"),
    ],
)
def test_run_that_is_done_without_an_answer_has_a_public_reason(
    world: World, reason: str, public: str
) -> None:
    [frame] = run_frames(world, status="done", reason=reason)
    assert (frame["status"], frame["reason"]) == ("done", public)


@pytest.mark.parametrize("status", STATUSES)
def test_each_reason_has_a_public_one(status: Any) -> None:
    assert {public_reason(status, reason) for reason in (*Reason, None)} <= PUBLIC


def test_run_of_another_chat_is_not_shown(world: World) -> None:
    world.chat(DANA, bot(), chat_id="chat_2", kind="direct", visibility="private")
    world.post("A secret", DANA, chat_id="chat_2")
    [run] = world.runs("chat_2")
    push(world, LiveEvent(type="run", run_id=run.id))
    assert kinds(world, "tom") == kinds(world, "dana") == []


def test_frame_over_32_kb_becomes_a_resync(world: World) -> None:
    world.post("ä" * 20_000, DANA)
    push(world, new(1))
    assert world.sockets.frames("tom") == [{"type": "resync", "chat_id": "chat_1"}]
    assert len(world.sockets.texts["tom"][0]) < MAX_FRAME_BYTES


def test_connection_that_is_gone_is_forgotten(world: World) -> None:
    world.clock.advance(60)
    world.sockets.gone.add("tom")
    world.post("Hello", DANA)
    push(world, new(1))
    assert world.app.live_connections.find("tom") is None
    assert texts(world, "dana") == ["Hello"]


def test_connection_that_is_opening_is_kept(world: World) -> None:
    world.sockets.gone.add("tom")
    world.post("Hello", DANA)
    push(world, new(1))
    assert world.app.live_connections.find("tom") is not None


def test_frame_that_fails_is_lost_and_counted(world: World) -> None:
    world.sockets.failing = Unavailable("the gateway is down")
    world.post("Hello", DANA)
    push(world, new(1))
    assert world.metrics.counts["FramesLost"] == 2
    world.sockets.failing = None
    push(world, new(1))
    assert texts(world, "tom") == ["Hello"]


def test_push_to_several_connections_writes_each_metric_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, float]] = []
    monkeypatch.setattr(
        world.metrics, "count", lambda name, value=1, **_: written.append((name, value))
    )
    world.post("Hello", DANA)
    world.post("Hello again", DANA)
    push(world, new(1), new(2))
    assert written == [("FramesPushed", 4)]


def test_ended_connection_receives_nothing(world: World) -> None:
    world.clock.advance(2 * 3_600)
    world.post("Hello", DANA)
    push(world, new(1))
    assert kinds(world, "tom") == []


def test_push_to_100_members_takes_three_reads() -> None:
    world = World()
    people = [person(f"usr_{number}", f"P{number}") for number in range(100)]
    world.known(*people)
    world.chat(*people)
    for who in people:
        connect(world, who.id, who.id)
    world.post("Hello", people[0])
    world.table.log.clear()
    push(world, new(1))
    assert calls(world) == {"query": 1, "get_many": 2}
    assert sum(len(sent) for sent in world.sockets.texts.values()) == 100


def test_chat_without_connections_takes_two_reads(world: World) -> None:
    world.chat(person("usr_x", "X"), bot(), chat_id="chat_2")
    world.post("Hello", person("usr_x", "X"), chat_id="chat_2")
    world.table.log.clear()
    push(world, new(1), chat_id="chat_2")
    assert calls(world) == {"query": 1, "get_many": 1}


def test_push_for_a_chat_that_is_gone_does_nothing(world: World) -> None:
    push(world, new(1), chat_id="chat_none")
    assert world.sockets.texts == {}


def test_read_receipt_of_an_agent_is_pushed(world: World) -> None:
    world.post("Hello", DANA)
    world.table.write(
        Update(world.membership(MemberRef(kind="agent", id="agt_a")).key, set={"seen_seq": 1})
    )
    push(world, LiveEvent(type="read", member=MemberRef(kind="agent", id="agt_a")))
    assert kinds(world, "dana") == kinds(world, "tom") == ["read"]
