"""Erase a person from outreach."""

from collections.abc import Iterator

from skein.models.common.storage import Key
from skein.outreach.models.outreach import outreach_of_person
from skein.ports import Table
from skein.services.common.pagination import pages_of_relation


def outreach_to(table: Table, tenant: str, user_id: str) -> Iterator[Key]:
    """Yield the keys of the person's items in all outreach."""
    for rows in pages_of_relation(table, outreach_of_person(tenant, user_id)):
        yield from (Key(row["pk"], row["sk"]) for row in rows)
