"""Audit log: append-only entries that record who read or changed which data."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Literal

from skein.errors import Ambiguous, ConditionFailed, Invalid
from skein.models.chats.consent import Consent
from skein.models.common.base import Value
from skein.models.common.storage import Missing, Put, Query
from skein.models.directory.user import User
from skein.ports import Clock, Ids, Table
from skein.privacy.models.audit import Access, AuditEntry, AuditKind, AuditScope, AuditVerb
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    FOREIGN,
    Cursor,
    KeyText,
    Listing,
    fitting,
    list_partition,
)
from skein.settings import Settings

ANSWER = "answer to a choice"  # by the app or by SMS
LAST = "~"  # sorts after every time
MAX_TRANSACTION = 100  # items of one transaction


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
    """Service that writes and reads the audit log."""

    table: Table
    clock: Clock
    ids: Ids
    settings: Settings

    def add(
        self,
        tenant: str,
        action: AuditedAction,
        seen: Iterable[str] = (),
        *,
        hourly: bool = False,
    ) -> AuditEntry:
        """Add an entry to the audit log.

        If the action has a reason, each person in `seen` also gets an access record, which the
        person can read.

        Args:
            seen: The ids of the people whose private content the operator saw or changed.
            hourly: Whether all repetitions of this action within an hour share one entry. The time
                of this entry is the start of the hour.

        Raises:
            Transient: The entry could not be written. The caller must then refuse the request.
        """
        name, at = self.ids.ulid(), self.clock.now()
        if hourly:
            name, at = _name_of(action), at.replace(minute=0, second=0, microsecond=0)
        entry = AuditEntry(tenant=tenant, id=f"aud_{name}", at=at, **action.model_dump())
        days, reason = self.settings.audit_days, action.reason
        people = sorted(set(seen)) if reason is not None else []
        records = [Access.of(entry, str(reason), user_id) for user_id in people]
        with suppress(ConditionFailed) if hourly else nullcontext():
            self._put(
                entry, [Put(each.key, each.to_item(days=days), Missing()) for each in records]
            )
        return entry

    def accesses(
        self, tenant: str, user_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Access]:
        """List a page of operators' accesses to a person's private content, newest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            User.key_of(tenant, user_id).pk,
            [Access.PREFIX],
            Access.from_item,
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )

    def add_consent(self, consent: Consent) -> None:
        """Add the entry for a person's consent, unless the audit log already has it.

        Raises:
            Transient: The entry could not be written. The caller must then not post the agent's
                words.
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

    def _put(self, entry: AuditEntry, records: Sequence[Put] = ()) -> None:
        """Write an entry and its access records, in transactions of at most 100 items."""
        writes = [
            Put(entry.key, entry.to_item(days=self.settings.audit_days), Missing()),
            *records,
        ]
        for start in range(0, len(writes), MAX_TRANSACTION):
            chunk = writes[start : start + MAX_TRANSACTION]
            try:
                self._write(chunk)
            except Ambiguous:
                with suppress(ConditionFailed):  # the first attempt did reach the table
                    self._write(chunk)

    def _write(self, writes: Sequence[Put]) -> None:
        if len(writes) == 1:
            self.table.write(writes[0])
        else:
            self.table.transact(writes)

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
            day: The day in UTC. Default: the cursor's day, or today if there is no cursor.

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
        entries = list(AuditEntry.each_of(page.items))
        rest = [entry for entry in entries if at is None or entry.key.sk != at.after]
        kept = fitting(rest[:limit])
        if len(kept) == len(rest):
            return Listing(tuple(kept), None)
        following = AuditCursor(audited=shown, after=kept[-1].key.sk)
        return Listing(tuple(kept), following.encode())


def _name_of(action: AuditedAction) -> str:
    """Return a name for an action; the same action always gets the same name."""
    parts = [action.who, action.route, *sorted(f"{name}={id_}" for name, id_ in action.ids.items())]
    return sha256("\n".join(parts).encode()).hexdigest()[:26]
