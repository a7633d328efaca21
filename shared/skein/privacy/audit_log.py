"""Audit log: who read or changed which data; append-only."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Literal

from skein.errors import Ambiguous, ConditionFailed, Invalid
from skein.models.chats.consent import Consent
from skein.models.common.base import Value
from skein.models.common.storage import Missing, Put, Query
from skein.ports import Clock, Ids, Table
from skein.privacy.models.audit import AuditEntry, AuditKind, AuditScope, AuditVerb
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    FOREIGN,
    Cursor,
    KeyText,
    Listing,
    fitting,
)
from skein.settings import Settings

ANSWER = "answer to a choice"  # by the app or by SMS
LAST = "~"  # sorts after every time


class AuditedAction(Value):
    """An action to record; see `AuditEntry`."""

    who: str
    scope: AuditScope
    verb: AuditVerb
    kind: AuditKind
    ids: Mapping[str, str] = {}
    route: str
    refused: bool = False
    reason: str | None = None
    request_id: str | None = None


class AuditCursor(Cursor):
    """The position after one entry of a day."""

    of: Literal["audit"] = "audit"
    audited: date
    after: KeyText


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Writer and reader of the audit log."""

    table: Table
    clock: Clock
    ids: Ids
    settings: Settings

    def add(self, tenant: str, action: AuditedAction) -> AuditEntry:
        """Add an entry to the audit log.

        Raises:
            Transient: The entry could not be written. The caller must then not answer the request.
        """
        entry = AuditEntry(
            tenant=tenant, id=f"aud_{self.ids.ulid()}", at=self.clock.now(), **action.model_dump()
        )
        self._put(entry)
        return entry

    def add_consent(self, consent: Consent) -> None:
        """Add the entry of a person's consent, if the log has none.

        Raises:
            Transient: The entry could not be written. The caller must then not post the words.
        """
        chats = {f"posted_in_{n}": post.chat_id for n, post in enumerate(consent.posts, 1)}
        entry = AuditEntry(
            tenant=consent.tenant,
            id=f"aud_{consent.id}",
            at=consent.created_at,
            who=consent.user_id,
            scope="chat",
            verb="create",
            kind="consent",
            ids={
                "consent_id": consent.id,
                "agent_id": consent.agent_id,
                "chat_id": consent.chat_id,
                **chats,
            },
            route=ANSWER,
        )
        with suppress(ConditionFailed):
            self._put(entry)

    def _put(self, entry: AuditEntry) -> None:
        write = Put(entry.key, entry.to_item(days=self.settings.audit_days), Missing())
        try:
            self.table.write(write)
        except Ambiguous:
            with suppress(ConditionFailed):  # the first attempt did reach the table
                self.table.write(write)

    def of_day(
        self,
        tenant: str,
        *,
        day: date | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[AuditEntry]:
        """List a page of one day's entries, newest first.

        Args:
            day: The day in UTC; None for the cursor's day, or today without a cursor.

        Raises:
            Invalid: The cursor belongs to another list or another day.
        """
        at = AuditCursor.decode(cursor) if cursor is not None else None
        if at is not None and day not in {None, at.audited}:
            raise Invalid(FOREIGN)
        shown = at.audited if at else day or self.clock.now().date()
        page = self.table.query(
            Query(
                AuditEntry.partition(tenant, shown),
                last=at.after if at else LAST,
                limit=limit + 1 + (at is not None),
                newest_first=True,
            )
        )
        entries = [AuditEntry.from_item(item) for item in page.items]
        rest = [entry for entry in entries if at is None or entry.key.sk != at.after]
        kept = fitting(rest[:limit])
        if len(kept) == len(rest):
            return Listing(tuple(kept), None)
        following = AuditCursor(audited=shown, after=kept[-1].key.sk)
        return Listing(tuple(kept), following.encode())
