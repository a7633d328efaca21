"""List the errands that a person has ordered and, for operators, all errands of a tenant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skein.errands.models.errand import Errand, ErrandLink, errands_relation
from skein.models.common.storage import Item
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    Listing,
    list_partition,
    list_relation,
    read_items,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrandViews:
    """The service that lists errands."""

    table: Table
    clock: Clock

    def of_person(
        self, tenant: str, user_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Errand]:
        """List the errands that a person has ordered, newest first, in two reads.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        page = list_partition(
            self.table,
            User.key_of(tenant, user_id).pk,
            [ErrandLink.asked_by_person],
            ErrandLink.from_item,
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )
        keys = [link.errand.key(tenant) for link in page.items]
        found = read_items(self.table, keys)
        items = tuple(Errand.read_each(found, keys))
        return Listing(items, page.next_cursor)

    def of_tenant(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Errand]:
        """List a tenant's errands, newest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_relation(
            self.table,
            errands_relation(tenant),
            Errand,
            of="errands",
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )


def exported_errand(table: Table, link: Item, now: datetime) -> tuple[str, dict[str, Any]] | None:
    """Return the agent's id, and what the person may see of an errand; None if they see nothing.

    Args:
        link: The `ErrandLink` item of the person.
    """
    leads = ErrandLink.from_item(link)
    errand = Errand.read(table, leads.errand.key(leads.tenant))
    if errand is None:
        return None
    shown = errand.shown_to(leads.role, now)
    return (errand.agent_id, shown) if shown is not None else None
