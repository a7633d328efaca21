"""Tickets and connections of the live channel."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from skein.errors import Unauthenticated
from skein.live.connections import LiveConnections
from skein.live.models.connection import MAX_CONNECTIONS, Connection, LiveTicket, PersonConnections
from skein.models.common.storage import Write
from tests.support.builders import NOON, TENANT, World

HOUR = timedelta(hours=1)
DANA = "usr_dana"


def ticket(world: World, *, token_hours: float = 24) -> str:
    ends_at = world.clock.now() + token_hours * HOUR
    return world.app.live_tickets.issue(TENANT, DANA, token_ends_at=ends_at).ticket


def live(world: World) -> LiveConnections:
    return world.app.live_connections


def open_ids(world: World) -> list[str]:
    item = world.table.get(PersonConnections.key_of(TENANT, DANA))
    person = PersonConnections.from_optional(item, TENANT, DANA)
    return [each.id for each in person.open_at(world.clock.now())]


def test_ticket_opens_one_connection() -> None:
    world = World()
    secret = ticket(world)
    connection = live(world).connect(secret, "c1")
    assert (connection.tenant, connection.user_id) == (TENANT, DANA)
    assert live(world).find("c1") == connection
    assert open_ids(world) == ["c1"]
    with pytest.raises(Unauthenticated):
        live(world).connect(secret, "c2")
    assert open_ids(world) == ["c1"]


def connect_during_the_first_write(
    world: World, monkeypatch: pytest.MonkeyPatch, secret: str, connection_id: str
) -> None:
    """Open a connection just before the next transaction of another one."""
    transact = world.table.transact

    def late(writes: Sequence[Write]) -> None:
        monkeypatch.undo()
        live(world).connect(secret, connection_id)
        transact(writes)

    monkeypatch.setattr(world.table, "transact", late)


def test_ticket_used_twice_at_once_opens_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    secret = ticket(world)
    connect_during_the_first_write(world, monkeypatch, secret, "c2")
    with pytest.raises(Unauthenticated):
        live(world).connect(secret, "c1")
    assert open_ids(world) == ["c2"]
    assert live(world).find("c1") is None


def test_two_connections_of_a_person_at_once_are_both_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    first, second = ticket(world), ticket(world)
    connect_during_the_first_write(world, monkeypatch, second, "c2")
    live(world).connect(first, "c1")
    assert open_ids(world) == ["c2", "c1"]


def test_ticket_after_60_seconds_is_refused() -> None:
    world = World()
    secret = ticket(world)
    world.clock.advance(60)
    with pytest.raises(Unauthenticated):
        live(world).connect(secret, "c1")


def test_ticket_with_an_expired_token_is_refused() -> None:
    world = World()
    secret = ticket(world, token_hours=0.01)
    world.clock.advance(40)
    with pytest.raises(Unauthenticated):
        live(world).connect(secret, "c1")


@pytest.mark.parametrize("secret", ["", "x", "\ud800", "a" * 10_000])
def test_unknown_ticket_is_refused(secret: str) -> None:
    with pytest.raises(Unauthenticated):
        live(World()).connect(secret, "c1")


def test_ticket_is_not_stored() -> None:
    world = World()
    secret = ticket(world)
    assert secret not in str(world.table.all_items())
    assert world.table.get(LiveTicket.key_of(LiveTicket.hash_of(secret))) is not None


@pytest.mark.parametrize(("token_hours", "hours"), [(0.5, 0.5), (24, 2)])
def test_connection_ends_with_its_token_and_after_two_hours(
    token_hours: float, hours: float
) -> None:
    world = World()
    live(world).connect(ticket(world, token_hours=token_hours), "c1")
    found = live(world).find("c1")
    assert found is not None
    assert found.ends_at == NOON + hours * HOUR
    world.clock.set(found.ends_at)
    assert live(world).find("c1") is None
    assert open_ids(world) == []


def test_eleventh_connection_closes_the_oldest() -> None:
    world = World()
    for number in range(MAX_CONNECTIONS + 1):
        live(world).connect(ticket(world), f"c{number}")
    assert open_ids(world) == [f"c{number}" for number in range(1, MAX_CONNECTIONS + 1)]
    assert world.sockets.frames("c0") == [{"type": "closing", "code": "too_many_connections"}]
    assert world.sockets.gone == {"c0"}
    assert live(world).find("c0") is None


def test_connections_that_have_ended_do_not_count() -> None:
    world = World()
    live(world).connect(ticket(world), "old")
    world.clock.advance(2 * 3_600)
    for number in range(MAX_CONNECTIONS):
        live(world).connect(ticket(world), f"c{number}")
    assert world.sockets.gone == set()
    assert len(open_ids(world)) == MAX_CONNECTIONS


def test_disconnect_forgets_the_connection() -> None:
    world = World()
    live(world).connect(ticket(world), "c1")
    live(world).connect(ticket(world), "c2")
    live(world).disconnect("c1")
    live(world).disconnect("c1")
    assert open_ids(world) == ["c2"]
    live(world).disconnect("c2")
    assert world.table.get(PersonConnections.key_of(TENANT, DANA)) is None
    assert world.table.get(Connection.key_of("c2")) is None
