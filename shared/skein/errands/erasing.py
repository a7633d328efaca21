"""Erase a person from errands, and from the meetings for which they were asked."""

from collections.abc import Collection, Iterator

from skein.errands.models.errand import Errand, ErrandLink, ErrandRef, OpenErrand
from skein.errands.models.meeting import Meeting
from skein.models.common.storage import Delete, Exists, Update, Write
from skein.models.directory.user import User
from skein.ports import Table
from skein.services.common.pagination import items_under, read_items


def errands_erased(
    table: Table, tenant: str, user_id: str, ids: Collection[str]
) -> Iterator[Write]:
    """Yield the writes that erase the errands that a person has ordered or is asked in.

    A meeting that they asked for is deleted, with the errands of the others. A meeting that another
    person asked for continues without them. Their own errand is deleted last, because the rest is
    found through it.

    Args:
        ids: All ids of the person.
    """
    for errand_link in ErrandLink.each_of(
        items_under(table, User.key_of(tenant, user_id).pk, ErrandLink.PREFIX)
    ):
        ref = errand_link.errand
        errand = Errand.read(table, ref.key(tenant))
        if errand is None:
            continue
        if errand.meeting is not None:
            yield from _meeting_erased(table, errand, errand.meeting, ids)
        yield Delete(errand.line_key)
        yield Delete(errand.key)


def _meeting_erased(
    table: Table, own: Errand, ref: ErrandRef, ids: Collection[str]
) -> Iterator[Write]:
    meeting = Meeting.read(table, Meeting.key_of(own.tenant, ref))
    if meeting is None:
        return
    others = tuple(each for each in meeting.errands if each.id != own.id)
    keys, shown_at = [each.key(own.tenant) for each in others], OpenErrand.key_of(own.tenant, ref)
    if meeting.asked_by.id in ids:
        yield from (Delete(key) for key in (*keys, shown_at, meeting.key))
        return
    for errand in Errand.read_each(read_items(table, keys)):
        readers, audience = errand.readers.without(ids), errand.audience.without(ids)
        changed = errand.model_copy(update={"readers": readers, "audience": audience})
        yield _changes_of(changed, "readers", "audience")
    audience = meeting.audience.without(ids)
    left = meeting.model_copy(update={"errands": others, "audience": audience})
    yield _changes_of(left, "errands", "audience")


def _changes_of(changed: Errand | Meeting, *names: str) -> Write:
    """Return the write of the named attributes; a worker's concurrent write fails once."""
    stored = changed.attributes()
    change = {name: stored[name] for name in names}
    return Update(changed.key, set=change, add={"version": 1}, condition=Exists())
