"""Erasure of a person who is connected to the live channel."""

import pytest

from skein.errors import Unavailable
from skein.live.models.connection import Connection, PersonConnections
from skein.models.common.storage import Key
from skein.models.outbox.jobs import LiveEvent, PushJob
from tests.support.builders import TENANT, World
from tests.support.erasure import BEN, ZOE, end, erase, settle, text, traces, world_of
from tests.support.live import connect


@pytest.fixture
def world() -> World:
    """Zoë is connected twice, Ben once."""
    made = world_of()
    made.known(BEN)
    for connection_id, user_id in (("zoe1", ZOE.id), ("zoe2", ZOE.id), ("ben", BEN.id)):
        connect(made, user_id, connection_id)
    return made


def connections(world: World) -> list[Key]:
    """The keys of connections that are stored for Zoë."""
    keys = [Connection.key_of("zoe1"), Connection.key_of("zoe2")]
    return list(world.table.get_many([*keys, PersonConnections.key_of(TENANT, ZOE.id)]))


def test_erasure_closes_the_connections_at_once(world: World) -> None:
    world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    world.drain()
    assert world.sockets.gone == {"zoe1", "zoe2"}
    assert world.sockets.frames("zoe1") == [{"type": "closing", "code": "access_ended"}]
    assert connections(world) == []
    assert world.app.live_connections.find("ben") is not None


def test_erasure_closes_a_connection_of_a_ticket_from_before(world: World) -> None:
    issued = world.app.live_tickets.issue(TENANT, ZOE.id, token_ends_at=None)
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    world.drain()
    world.app.live_connections.connect(issued.ticket, "late")
    end(world, erasure)
    assert "late" in world.sockets.gone


def test_erasure_while_the_gateway_is_down_sends_nothing_more(world: World) -> None:
    world.sockets.failing = Unavailable("the gateway is down")
    erase(world)
    assert connections(world) == []
    world.sockets.failing = None
    world.app.client_frames.receive("zoe1", '{"type": "ping"}')
    assert world.sockets.frames("zoe1") == [{"type": "closing", "code": "expired"}]


def test_push_of_a_message_from_before_reaches_no_erased_person(world: World) -> None:
    chat_id = text(world, "Hello")
    settle(world)
    seq = world.stored_chat(chat_id).last_seq
    world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    world.drain()
    before = len(world.sockets.frames("zoe1"))
    event = LiveEvent(type="message", seq=seq)
    world.app.pushes.push(PushJob(tenant=TENANT, chat_id=chat_id, events=(event,)))
    assert len(world.sockets.frames("zoe1")) == before


def test_erased_person_leaves_no_trace_in_connections(world: World) -> None:
    erase(world)
    assert traces(world) == {}
