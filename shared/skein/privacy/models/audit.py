"""Entries of the audit log: one immutable entry per audited call, stored by day."""

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part, rfc3339
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.user import User

MIN_REASON, MAX_REASON = 15, 300

AuditScope = Literal["chat", "support", "privacy", "owner", "tokens"]
AuditVerb = Literal["read", "create", "change", "delete"]
# The kinds of things that calls read or change; the list may grow.
AuditKind = Literal[
    "agent",
    "approval",
    "audit",
    "chat",
    "consent",
    "context",
    "desk",
    "document",
    "endpoint",
    "errand",
    "erasure",
    "export",
    "goal",
    "key",
    "line",
    "member",
    "memory",
    "message",
    "number",
    "outreach",
    "pause",
    "plan",
    "profile",
    "recall",
    "replay",
    "run",
    "service",
    "settings",
    "sharing",
    "skill",
    "system",
    "thread",
    "token",
    "tool",
    "usage",
    "user",
]


class AuditEntry(Stored):
    """One entry of the audit log. It has ids and an operator's reason, but no words of people.

    Attributes:
        id: `aud_<ulid>`.
        who: The `sub` of the caller's token.
        scope: The scope that the call needs.
        verb: The action of the caller.
        kind: The kind of thing that the call read or changed.
        ids: The ids of the thing, by the names of the call's parameters; empty for a list.
        route: The route of the call, such as `GET /v1/runs/{run_id}`. For a consent, it is `answer
            to a choice`.
        refused: Whether the call was refused because of a missing role or a setting.
        reason: The operator's reason to access private content, in their words; None for a call
            that needs none.
        request_id: The gateway's request id, which is the correlation id in the logs.
    """

    tenant: Tenant
    id: Identifier
    who: Identifier
    scope: AuditScope
    verb: AuditVerb
    kind: AuditKind
    ids: dict[str, Annotated[str, Field(max_length=300)]] = Field(default_factory=dict)
    route: Annotated[str, Field(max_length=200)]
    refused: Annotated[bool, Field(exclude_if=lambda refused: not refused)] = False
    reason: Annotated[str, Field(max_length=MAX_REASON)] | None = None
    request_id: str | None = None
    at: Instant

    @staticmethod
    def partition(tenant: str, day: date) -> str:
        """Return the partition key of a day's entries (UTC)."""
        return f"{key_part(tenant)}#AUDIT#{day:%Y-%m-%d}"

    @staticmethod
    def key_of(tenant: str, at: datetime, entry_id: str) -> "Key[AuditEntry]":
        """Return the key of an entry at time `at` (UTC); keys sort by time."""
        return Key(AuditEntry.partition(tenant, at), f"{rfc3339(at)}#{entry_id}")

    @property
    def key(self) -> "Key[AuditEntry]":
        return self.key_of(self.tenant, self.at, self.id)

    def to_item(self, *, days: int) -> Item:
        """Return the entry as table attributes; the entry expires after `days` days."""
        return self.attributes() | {"expires_at": int(self.at.timestamp()) + days * 86_400}


class Access(Stored):
    """An operator's access to a person's private content, recorded for this person to read.

    The record is written together with the audit entry.

    Attributes:
        id: The id of the audit entry.
        who: The `sub` of the operator's token.
        verb: What the operator did.
        kind: The kind of thing that was accessed.
        reason: Why the operator did it, in the operator's words.
    """

    PREFIX: ClassVar = SortKeyPrefix("ACCESS#")

    tenant: Tenant
    user_id: Identifier
    id: Identifier
    who: Identifier
    verb: AuditVerb
    kind: AuditKind
    reason: Annotated[str, Field(max_length=MAX_REASON)]
    at: Instant

    @classmethod
    def of(cls, entry: AuditEntry, reason: str, user_id: str) -> Self:
        """Build the record of an audit entry for one person."""
        return cls(
            tenant=entry.tenant,
            user_id=user_id,
            id=entry.id,
            who=entry.who,
            verb=entry.verb,
            kind=entry.kind,
            reason=reason,
            at=entry.at,
        )

    @staticmethod
    def key_of(tenant: str, user_id: str, at: datetime, entry_id: str) -> "Key[Access]":
        """Return the key of a person's access record; keys sort by time."""
        return Key(User.key_of(tenant, user_id).pk, f"{Access.PREFIX}{rfc3339(at)}#{entry_id}")

    @property
    def key(self) -> "Key[Access]":
        return self.key_of(self.tenant, self.user_id, self.at, self.id)

    def to_item(self, *, days: int) -> Item:
        """Return the record as table attributes; it expires with its entry."""
        return self.attributes() | {"expires_at": int(self.at.timestamp()) + days * 86_400}
