"""Connections to the live channel: opening, finding and closing them."""

import logging
from contextlib import suppress
from dataclasses import dataclass

from skein.errors import ConditionFailed, ConnectionGone, Transient, Unauthenticated
from skein.live.api import ClosingCode, ClosingFrame
from skein.live.models.connection import (
    CONNECTION_LIFETIME,
    MAX_CONNECTIONS,
    Connection,
    LiveTicket,
    OpenConnection,
    PersonConnections,
)
from skein.models.api.base import Resource
from skein.models.common.base import rfc3339
from skein.models.common.storage import Check, Delete, Exists, Is, Put, gone
from skein.models.directory.user import User
from skein.ports import Clock, Sockets, Table
from skein.services.common.optimistic import optimistic

REFUSED = "the ticket is unknown, used or expired"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveConnections:
    """The service that opens, finds and closes connections to the live channel."""

    table: Table
    clock: Clock
    sockets: Sockets

    def connect(self, ticket: str, connection_id: str) -> Connection:
        """Open a connection with a ticket, which cannot be used again.

        A person has at most 10 connections: the eleventh closes the oldest one.

        Raises:
            Unauthenticated: The ticket is unknown, used or expired, its token has expired, or the
                person was signed out since.
        """
        connection, dropped = optimistic(
            self.clock, lambda: self._connect_once(LiveTicket.hash_of(ticket), connection_id)
        )
        for each in dropped:
            self.close(each.id, "too_many_connections")
        return connection

    def _connect_once(
        self, ticket_hash: str, connection_id: str
    ) -> tuple[Connection, tuple[OpenConnection, ...]]:
        ticket, now = self._ticket(ticket_hash), self.clock.now()
        connection = Connection(
            tenant=ticket.tenant,
            id=connection_id,
            user_id=ticket.user_id,
            ends_at=min(now + CONNECTION_LIFETIME, ticket.token_ends_at),
        )
        tenant, user_id = ticket.tenant, ticket.user_id
        user_key = User.key_of(tenant, user_id)
        person_key = PersonConnections.key_of(tenant, user_id)
        found = self.table.get_many([user_key, person_key])
        signed_out_at = found.get(user_key, {}).get("signed_out_at")
        if signed_out_at is not None and signed_out_at >= rfc3339(ticket.issued_at):
            raise Unauthenticated(REFUSED)
        person = PersonConnections.from_optional(found.get(person_key), tenant, user_id)
        others = person.open_at(now)
        kept = others[-(MAX_CONNECTIONS - 1) :]
        dropped = others[: -(MAX_CONNECTIONS - 1)]
        new = OpenConnection(id=connection.id, opened_at=now, ends_at=connection.ends_at)
        try:
            self.table.transact(
                [
                    Delete(ticket.key, Exists()),
                    Put(connection.key, connection.to_item(), gone(now)),
                    person.replacement((*kept, new), now),
                    Check(user_key, Is("signed_out_at", signed_out_at)),
                    *(Delete(Connection.key_of(each.id)) for each in dropped),
                ]
            )
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise Unauthenticated(REFUSED) from failure
            raise
        return connection, dropped

    def _ticket(self, ticket_hash: str) -> LiveTicket:
        ticket = LiveTicket.read(self.table, LiveTicket.key_of(ticket_hash))
        if ticket is None or ticket.ends_at <= self.clock.now():
            raise Unauthenticated(REFUSED)
        return ticket

    def find(self, connection_id: str) -> Connection | None:
        """Return a connection; None if it does not exist or has ended."""
        connection = Connection.read(self.table, Connection.key_of(connection_id))
        if connection is None or connection.ends_at <= self.clock.now():
            return None
        return connection

    def disconnect(self, connection_id: str) -> None:
        """Forget a connection that was closed (idempotent)."""
        optimistic(self.clock, lambda: self._disconnect_once(connection_id))

    def _disconnect_once(self, connection_id: str) -> None:
        key = Connection.key_of(connection_id)
        connection, now = Connection.read(self.table, key), self.clock.now()
        if connection is None:
            return
        person = self._of(connection.tenant, connection.user_id)
        left = tuple(each for each in person.open_at(now) if each.id != connection_id)
        self.table.transact([Delete(key), person.replacement(left, now)])

    def show(self, connection: Connection, chat_id: str | None) -> None:
        """Record which chat a connection's client shows (idempotent)."""
        optimistic(self.clock, lambda: self._show_once(connection, chat_id))

    def _show_once(self, connection: Connection, chat_id: str | None) -> None:
        person, now = self._of(connection.tenant, connection.user_id), self.clock.now()
        before = person.open_at(now)
        after = tuple(
            each.model_copy(update={"shows": chat_id}) if each.id == connection.id else each
            for each in before
        )
        if after != before:
            self.table.write(person.replacement(after, now))

    def close(self, connection_id: str, code: ClosingCode) -> None:
        """Send a last frame with the reason, close the connection, and forget it (idempotent).

        Raises:
            Transient: The table is out of reach, or the connection may still be open.
        """
        self.answer(connection_id, ClosingFrame(code=code))
        self.sockets.close(connection_id)
        self.disconnect(connection_id)

    def close_all(self, tenant: str, user_id: str, code: ClosingCode) -> None:
        """Close all connections of a person, so that no more frames are sent (idempotent).

        If the gateway is out of reach, a connection gets no more frames, and is closed when its
        client next sends a frame.

        Raises:
            Transient: The table is out of reach.
        """
        for each in self._of(tenant, user_id).connections:
            try:
                self.close(each.id, code)
            except Transient:
                logger.warning("failed to close a connection", exc_info=True)
                self.disconnect(each.id)

    def answer(self, connection_id: str, frame: Resource) -> None:
        """Send a frame to one connection. If sending fails, the frame is lost."""
        with suppress(ConnectionGone, Transient):
            self.sockets.push(connection_id, frame.model_dump_json())

    def _of(self, tenant: str, user_id: str) -> PersonConnections:
        item = self.table.get(PersonConnections.key_of(tenant, user_id))
        return PersonConnections.from_optional(item, tenant, user_id)
