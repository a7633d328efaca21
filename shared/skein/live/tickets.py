"""Tickets for connections to the live channel."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from skein.live.models.connection import CONNECTION_LIFETIME, TICKET_LIFETIME, LiveTicket
from skein.models.common.storage import Put
from skein.ports import Clock, Table

TICKET_BYTES = 32


class IssuedTicket(NamedTuple):
    """A ticket for one connection.

    Attributes:
        ticket: The secret that the client shows when it connects.
        ends_at: When the ticket expires.
    """

    ticket: str
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTickets:
    """The service that issues tickets for the live channel."""

    table: Table
    clock: Clock

    def issue(self, tenant: str, user_id: str, *, token_ends_at: datetime | None) -> IssuedTicket:
        """Issue a ticket with which a person opens one connection within 60 seconds.

        Args:
            token_ends_at: When the person's token expires; the connection ends by then.
                None if the token does not expire.
        """
        now = self.clock.now()
        token_ends_at = token_ends_at or now + TICKET_LIFETIME + CONNECTION_LIFETIME
        secret = secrets.token_urlsafe(TICKET_BYTES)
        ticket = LiveTicket(
            tenant=tenant,
            user_id=user_id,
            hash=LiveTicket.hash_of(secret),
            issued_at=now,
            token_ends_at=token_ends_at,
            ends_at=min(now + TICKET_LIFETIME, token_ends_at),
        )
        self.table.write(Put(ticket.key, ticket.to_item()))
        return IssuedTicket(secret, ticket.ends_at)
