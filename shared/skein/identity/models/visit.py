"""A visit to a web page, stored when the visitor first writes, and the claims of its tokens."""

from datetime import datetime, timedelta
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part
from skein.models.common.storage import META, Item, Key
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import VisitJob

TOKEN_LIFETIME = timedelta(hours=1)

VisitStatus = Literal["new", "open", "erasing", "erased"]


class VisitClaims(NamedTuple):
    """The claims of a visit's token, which Skein signs.

    Attributes:
        number: The number of the token: 1, and one more with each renewal.
        consent: The version of the consent text that the visitor agreed to; 0 for none.
        ends_at: When the token expires, in whole seconds.
    """

    tenant: str
    widget_id: str
    visitor_id: str
    chat_id: str
    number: int
    consent: int
    ends_at: datetime


class Visit(Stored):
    """A visit in which the visitor has written. It has ids and times, and no words.

    It is kept for some time after the visitor is erased, so that old tokens of the visit stay
    invalid.

    Attributes:
        consent: The version of the consent text that the visitor agreed to; 0 for none.
        version: The number of the visit's newest token, which each renewal raises.
        renewed_at: When the visit was last renewed or, if it never was, when the visitor first
            wrote.
        ended: Whether the visitor has ended the visit, or a renewal was used twice.
    """

    tenant: Tenant
    id: Identifier
    widget_id: Identifier
    chat_id: Identifier
    consent: int = 0
    version: int = 1
    renewed_at: Instant
    ended: Annotated[bool, Field(exclude_if=lambda ended: not ended)] = False
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, visitor_id: str) -> "Key[Visit]":
        return Key(f"{key_part(tenant)}#VISIT#{key_part(visitor_id)}", META)

    @property
    def key(self) -> "Key[Visit]":
        return self.key_of(self.tenant, self.id)

    @property
    def job(self) -> VisitJob:
        """The job that erases the visitor, unless they were seen lately."""
        return VisitJob(tenant=self.tenant, visitor_id=self.id)

    def claims(self) -> VisitClaims:
        """Return the claims of the current token."""
        ends_at = (self.renewed_at + TOKEN_LIFETIME).replace(microsecond=0)
        who = (self.tenant, self.widget_id, self.id, self.chat_id)
        return VisitClaims(*who, self.version, self.consent, ends_at)

    def to_item(self, due_at: datetime) -> Item:
        """Return the visit as table attributes; at `due_at`, its job may erase the visitor."""
        return self.attributes() | due_pointer("visit", self.key, due_at)
