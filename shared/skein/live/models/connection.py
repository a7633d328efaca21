"""Tickets and connections: who is connected to the live channel, and until when."""

import hashlib
from datetime import datetime, timedelta
from math import ceil
from typing import Annotated, Self

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.storage import META, Delete, Is, Item, Key, Put, gone
from skein.models.directory.user import User

TICKET_LIFETIME = timedelta(seconds=60)
CONNECTION_LIFETIME = timedelta(hours=2)
MAX_CONNECTIONS = 10  # of one person


class LiveTicket(Stored):
    """A ticket with which its person opens one connection.

    The ticket itself is a secret. Only its hash is stored, as the key.

    Attributes:
        hash: The SHA-256 of the ticket in hexadecimal.
        issued_at: When the ticket was issued.
        token_ends_at: When the token that asked for the ticket expires.
        ends_at: When the ticket expires.
    """

    tenant: Tenant
    user_id: Identifier
    hash: str
    issued_at: Instant
    token_ends_at: Instant
    ends_at: Instant

    @staticmethod
    def hash_of(ticket: str) -> str:
        """Return the hash of a ticket as stored in `hash`."""
        return hashlib.sha256(ticket.encode(errors="surrogatepass")).hexdigest()

    @staticmethod
    def key_of(ticket_hash: str) -> "Key[LiveTicket]":
        """Return the key of a ticket. It has no tenant, which is known only from the ticket."""
        return Key(f"TICKET#{ticket_hash}", META)

    @property
    def key(self) -> "Key[LiveTicket]":
        return self.key_of(self.hash)

    def to_item(self) -> Item:
        return self.attributes() | {"expires_at": seconds_of(self.ends_at)}


class Connection(Stored):
    """A connection of a person, found by its id.

    Attributes:
        id: The id that the gateway gave.
        ends_at: When the connection ends: with its token, and after two hours at most.
    """

    tenant: Tenant
    id: Identifier
    user_id: Identifier
    ends_at: Instant

    @staticmethod
    def key_of(connection_id: str) -> "Key[Connection]":
        """Return the key of a connection, without a tenant, which the gateway doesn't know."""
        return Key(f"CONNECTION#{connection_id}", META)

    @property
    def key(self) -> "Key[Connection]":
        return self.key_of(self.id)

    def to_item(self) -> Item:
        return self.attributes() | {"expires_at": seconds_of(self.ends_at)}


class OpenConnection(Value):
    """A connection in the list of its person.

    Attributes:
        opened_at: When the connection was opened. The gateway accepts frames for the connection
            only a moment later.
        shows: The chat that the client shows to the person, as last reported; None for no chat.
    """

    id: Identifier
    opened_at: Instant
    ends_at: Instant
    shows: Annotated[Identifier | None, Field(exclude_if=lambda chat: chat is None)] = None


class PersonConnections(Stored):
    """The connections of one person, so that a push reads one item for each person.

    Attributes:
        connections: The connections, oldest first; some of them may have ended.
        version: The optimistic lock; 0 if nothing is stored.
    """

    tenant: Tenant
    user_id: Identifier
    connections: tuple[OpenConnection, ...] = ()
    version: int = 0

    @staticmethod
    def key_of(tenant: str, user_id: str) -> "Key[PersonConnections]":
        return Key(User.key_of(tenant, user_id).pk, "LIVE")

    @classmethod
    def from_optional(cls, item: Item | None, tenant: str, user_id: str) -> Self:
        """Return a person's connections from their item; empty if there is no item."""
        return cls.from_item(item) if item else cls(tenant=tenant, user_id=user_id)

    @property
    def key(self) -> "Key[PersonConnections]":
        return self.key_of(self.tenant, self.user_id)

    def open_at(self, now: datetime) -> tuple[OpenConnection, ...]:
        """Return the connections that have not ended, oldest first."""
        return tuple(each for each in self.connections if each.ends_at > now)

    def replacement(self, connections: tuple[OpenConnection, ...], now: datetime) -> Put | Delete:
        """Return the write that replaces the connections (optimistic lock).

        The condition of this write treats an expired item as missing, because reads also ignore it.
        """
        condition = Is("version", self.version) if self.version else gone(now)
        if not connections:
            return Delete(self.key, condition)
        changed = self.model_copy(update={"connections": connections, "version": self.version + 1})
        last = max(each.ends_at for each in connections)
        item = changed.attributes() | {"expires_at": seconds_of(last)}
        return Put(self.key, item, condition)


def seconds_of(moment: datetime) -> int:
    """Return a moment in seconds since 1970, rounded up, for the table's TTL attribute."""
    return ceil(moment.timestamp())
