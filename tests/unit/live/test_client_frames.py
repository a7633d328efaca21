"""Frames from clients: ping, typing, and everything else."""

import pytest

from skein.models.outbox.jobs import PushJob
from skein.services.quotas.read_limits import MAX_FRAMES
from tests.support.builders import World, bot, person
from tests.support.live import connect

DANA, TOM, LENA = (person(f"usr_{name.lower()}", name) for name in ("Dana", "Tom", "Lena"))


@pytest.fixture
def world() -> World:
    """Dana, who is in a chat with Tom, is connected as `c1`, Tom as `c2`."""
    made = World()
    made.agent()
    made.chat(DANA, TOM, bot())
    for who, connection_id in ((DANA, "c1"), (TOM, "c2")):
        connect(made, who.id, connection_id)
    return made


def test_ping_is_answered(world: World) -> None:
    world.app.client_frames.receive("c1", '{"type": "ping"}')
    assert world.sockets.frames("c1") == [{"type": "pong"}]


def test_connection_that_sends_too_many_frames_is_closed_without_a_look_at_the_table(
    world: World,
) -> None:
    for _ in range(MAX_FRAMES):
        world.app.client_frames.receive("c1", '{"type": "ping"}')
    assert world.sockets.gone == set()
    world.app.client_frames.receive("c1", '{"type": "ping"}')
    assert world.sockets.frames("c1")[-1] == {"type": "closing", "code": "too_many_frames"}
    assert world.sockets.gone == {"c1"}


def test_typing_is_pushed_to_the_others(world: World) -> None:
    world.app.client_frames.receive("c1", '{"type": "typing", "chat_id": "chat_1"}')
    world.drain()
    member = {"kind": "user", "id": DANA.id, "name": "Dana"}
    assert world.sockets.frames("c2") == [{"type": "typing", "chat_id": "chat_1", "member": member}]
    assert world.sockets.frames("c1") == []


def test_typing_is_passed_on_once_in_3_seconds(world: World) -> None:
    for _ in range(5):
        world.app.client_frames.receive("c1", '{"type": "typing", "chat_id": "chat_1"}')
    world.clock.advance(2)
    world.app.client_frames.receive("c1", '{"type": "typing", "chat_id": "chat_1"}')
    assert len(pushes(world)) == 1
    world.clock.advance(1.5)
    world.app.client_frames.receive("c1", '{"type": "typing", "chat_id": "chat_1"}')
    assert len(pushes(world)) == 2


def pushes(world: World) -> list[PushJob]:
    return [sent.job for sent in world.queues.sent if isinstance(sent.job, PushJob)]


def test_typing_frame_for_chat_of_others_is_ignored(world: World) -> None:
    world.chat(TOM, LENA, chat_id="chat_2")
    world.app.client_frames.receive("c1", '{"type": "typing", "chat_id": "chat_2"}')
    world.app.client_frames.receive("c1", '{"type": "typing", "chat_id": "chat_none"}')
    assert pushes(world) == []
    assert world.sockets.gone == set()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_frame"),
        ("[]", "bad_frame"),
        ('{"type": "message", "text": "Hi"}', "bad_frame"),
        ('{"type": "ping", "more": 1}', "bad_frame"),
        ('{"type": "typing"}', "bad_frame"),
        ("\ud800", "bad_frame"),
        ('{"type": "ping"}' + " " * 4_096, "frame_too_large"),
    ],
)
def test_other_frame_closes_the_connection(world: World, text: str, code: str) -> None:
    world.app.client_frames.receive("c1", text)
    assert world.sockets.frames("c1") == [{"type": "closing", "code": code}]
    assert world.sockets.gone == {"c1"}
    assert world.app.live_connections.find("c1") is None


def test_frame_after_the_end_of_the_connection_closes_it(world: World) -> None:
    world.clock.advance(2 * 3_600)
    world.app.client_frames.receive("c1", '{"type": "ping"}')
    assert world.sockets.frames("c1") == [{"type": "closing", "code": "expired"}]
    assert world.sockets.gone == {"c1"}
