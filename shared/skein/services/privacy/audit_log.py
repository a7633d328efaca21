"""The book in which stands who read or changed what; it is only ever added to."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Literal

from skein.errors import Ambiguous, ConditionFailed, Invalid
from skein.models.audit import AuditEntry, AuditKind, AuditScope, AuditVerb
from skein.models.base import Value
from skein.models.storage import Missing, Put
from skein.ports import Clock, Ids, Table
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    FOREIGN,
    Cursor,
    KeyText,
    Listing,
    fitting,
)
from skein.settings import Settings

LAST = "~"  # behind every time


class Deed(Value):
    """What somebody did; see `AuditEntry`."""

    who: str
    scope: AuditScope
    verb: AuditVerb
    kind: AuditKind
    ids: Mapping[str, str] = {}
    route: str
    request_id: str | None = None


class AuditCursor(Cursor):
    """Goes on behind one entry of a day."""

    of: Literal["audit"] = "audit"
    audited: date
    after: KeyText


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Adds entries, and shows them."""

    table: Table
    clock: Clock
    ids: Ids
    settings: Settings

    def add(self, tenant: str, deed: Deed) -> AuditEntry:
        """Write down what somebody did.

        Raises:
            Transient: It could not be written; the caller then gives no answer.
        """
        entry = AuditEntry(
            tenant=tenant, id=f"aud_{self.ids.ulid()}", at=self.clock.now(), **deed.model_dump()
        )
        write = Put(entry.key, entry.to_item(days=self.settings.audit_days), Missing())
        try:
            self.table.write(write)
        except Ambiguous:
            with suppress(ConditionFailed):  # the first attempt had reached the table
                self.table.write(write)
        return entry

    def of_day(
        self,
        tenant: str,
        *,
        day: date | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[AuditEntry]:
        """A page of a day's entries, the newest first.

        Args:
            tenant: Whose.
            day: The day in UTC; None for today, or for that of the cursor.
            limit: How many to show at most.
            cursor: Where an earlier page ended.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        at = AuditCursor.decode(cursor) if cursor is not None else None
        if at is not None and day not in {None, at.audited}:
            raise Invalid(FOREIGN)
        shown = at.audited if at else day or self.clock.now().date()
        page = self.table.query(
            AuditEntry.partition(tenant, shown),
            last=at.after if at else LAST,
            limit=limit + 1 + (at is not None),
            newest_first=True,
        )
        entries = [AuditEntry.from_item(item) for item in page.items]
        rest = [entry for entry in entries if at is None or entry.key.sk != at.after]
        kept = fitting(rest[:limit])
        if len(kept) == len(rest):
            return Listing(tuple(kept), None)
        following = AuditCursor(audited=shown, after=kept[-1].key.sk)
        return Listing(tuple(kept), following.encode())
