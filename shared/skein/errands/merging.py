"""Merge of users: move the former user's errands and meetings to the known user.

An errand keeps its key, because questions and jobs refer to it. Only its `OpenErrand` item, which
shows the errand in prompts, moves from the former user's direct chat to the known user's. The
errand stores the new scope of this item (`line_scope`).
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from skein.errands.models.errand import Errand, ErrandLink, OpenErrand
from skein.errands.models.meeting import Meeting
from skein.models.common.base import NamedMember
from skein.models.common.storage import Delete, Put, Write
from skein.models.directory.user import User
from skein.ports import Table
from skein.services.common.optimistic import revise
from skein.services.common.pagination import items_under


def move_errands(table: Table, tenant: str, old: str, new: NamedMember, now: datetime) -> None:
    """Move the errands that the former user has ordered or is asked in (idempotent).

    The merge has ended the former user's open questions. If a question of an errand, or the
    question whether the time of a meeting suits, is unanswered, the known user is therefore asked
    again.

    Args:
        old: The id of the former user.
        new: The known user.

    Raises:
        ConditionFailed: An errand or a meeting has changed since it was read; read again.
    """
    for link in ErrandLink.each_of(
        items_under(table, User.key_of(tenant, old).pk, ErrandLink.PREFIX)
    ):
        moved = link.model_copy(update={"user_id": new.id})
        writes: list[Write] = [Put(moved.key, moved.attributes()), Delete(link.key)]
        errand = Errand.read(table, link.errand.key(tenant))
        if errand is not None:
            writes += _moved(table, errand, old, new, now)
        table.transact(writes)


def _moved(
    table: Table, errand: Errand, old: str, new: NamedMember, now: datetime
) -> Iterator[Write]:
    line_scope = f"user:{new.id}" if errand.scope == f"user:{old}" else errand.line_scope
    changes = _renamed(errand, old, new) | {"line_scope": line_scope}
    due: dict[str, Any] = {}
    confirms = False
    if errand.asked.id == old:
        changes["asked"] = new
        confirms = errand.confirm_seq is not None and errand.confirmed is None
        if confirms:
            changes["confirm_seq"] = None
        if errand.choice_seq is not None and not errand.over and errand.state(now) == "open":
            changes |= dict.fromkeys(("asked_at", "choice_chat_id", "choice_seq"))
            due = errand.due(now)
    moved, write = revise(errand, changes, also=due)
    yield write
    yield from _line_moved(table, errand, moved, old, new)
    if errand.meeting is not None:
        meeting = Meeting.read(table, Meeting.key_of(errand.tenant, errand.meeting))
        if meeting is not None:
            asks = confirms and meeting.stage == "confirming"
            due = meeting.due(now) if asks else {}
            yield revise(meeting, _renamed(meeting, old, new), also=due)[1]


def _renamed(thing: Errand | Meeting, old: str, new: NamedMember) -> dict[str, Any]:
    asked_by = new if thing.asked_by.id == old else thing.asked_by
    return {"asked_by": asked_by, "audience": thing.audience.renamed(old, new.id)}


def _line_moved(
    table: Table, before: Errand, after: Errand, old: str, new: NamedMember
) -> Iterator[Write]:
    """Yield the writes that move an errand's `OpenErrand` item, or delete its outdated copy."""
    key, moved_key = before.line_key, after.line_key
    line = OpenErrand.read(table, key)
    if line is not None:
        asked = new if line.asked is not None and line.asked.id == old else line.asked
        audience = line.audience.renamed(old, new.id)
        moved = line.model_copy(update={"asked": asked, "audience": audience})
        yield Put(moved_key, moved.attributes())
    elif after.over:
        yield Delete(moved_key)
    if line is not None and key != moved_key:
        yield Delete(key)
