"""Erase a person from errands, and from the meetings for which they were asked."""

from collections.abc import Collection, Iterator

from skein.errands.models.errand import Errand, ErrandLink, ErrandRef, OpenErrand
from skein.errands.models.meeting import Meeting
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.common.base import MemberRef
from skein.models.common.storage import Delete, Exists, Update, Write
from skein.models.directory.user import User
from skein.ports import Table
from skein.services.common.pagination import items_under, read_items


def errands_posted(
    table: Table, tenant: str, user_id: str, ids: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yield the chat and number of each message posted for errands that a person ordered or is in.

    The messages are the questions to the asked people, and the results in the home chats. They are
    found through the errands, so erase them before the errands.

    Args:
        ids: All ids of the person.
    """
    for own in _errands_of(table, tenant, user_id):
        errands, meeting = [own], None
        if own.meeting is not None:
            meeting = Meeting.read(table, Meeting.key_of(tenant, own.meeting))
        if meeting is not None and meeting.asked_by.id in ids:
            yield from _recorded(table, meeting, meeting.chat_id, meeting.post_ids)
            keys = [each.key(tenant) for each in meeting.errands]
            errands = list(Errand.read_each(read_items(table, keys)))
        for errand in errands:
            yield from _recorded(table, errand, errand.chat_id, [errand.report_id])
            yield from _questions(table, errand)


def _questions(table: Table, errand: Errand) -> Iterator[tuple[str, int]]:
    """Yield the messages that asked a person; the first one is found by its idempotency record."""
    chat_id = errand.choice_chat_id
    if chat_id is None:
        return
    yield from _recorded(table, errand, chat_id, [errand.question_id()])
    yield from ((chat_id, seq) for seq in (errand.choice_seq, errand.confirm_seq) if seq)


def _recorded(
    table: Table, of: Errand | Meeting, chat_id: str, client_ids: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yield the messages that the agent posted under some client ids."""
    agent = MemberRef(kind="agent", id=of.agent_id)
    keys = [IdempotencyRecord.key_of(of.tenant, chat_id, agent, each) for each in client_ids]
    for record in IdempotencyRecord.read_each(table.get_many(keys)):
        yield chat_id, record.seq


def errands_erased(
    table: Table, tenant: str, user_id: str, ids: Collection[str]
) -> Iterator[Write]:
    """Yield the writes that erase the errands that a person has ordered or is asked in.

    A meeting that the person asked for is deleted with the errands of all its people. A meeting
    that another person asked for continues without this person. The person's own errand is deleted
    last, because the errand leads to the meeting.

    Args:
        ids: All ids of the person.
    """
    for errand in _errands_of(table, tenant, user_id):
        if errand.meeting is not None:
            yield from _meeting_erased(table, errand, errand.meeting, ids)
        yield Delete(errand.line_key)
        yield Delete(errand.key)


def _errands_of(table: Table, tenant: str, user_id: str) -> Iterator[Errand]:
    links = items_under(table, User.key_of(tenant, user_id).pk, ErrandLink.PREFIX)
    for link in ErrandLink.each_of(links):
        errand = Errand.read(table, link.errand.key(tenant))
        if errand is not None:
            yield errand


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
    """Return the write of the named attributes, which also raises the version.

    A worker that writes at the same time fails, reads the item again and retries.
    """
    stored = changed.attributes()
    change = {name: stored[name] for name in names}
    return Update(changed.key, set=change, add={"version": 1}, condition=Exists())
