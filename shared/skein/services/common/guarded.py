"""Writes of an agent's tools: only by the run's own worker, and only to what it may change."""

from collections.abc import Sequence

from pydantic import ValidationError

from skein.errors import ConditionFailed, Conflict, LostLease, Unprocessable
from skein.models.document import Document, DocumentReach
from skein.models.intent import Owned, Reach
from skein.models.storage import Check, Write
from skein.ports import Table

NOT_FROM_HERE = (
    "this is shared with people who were not there for this conversation, so it can be read here, "
    "but not changed; keep a new one under another name instead"
)


def check_change(reach: Reach, thing: Owned) -> None:
    """Refuse a change of something that others may be shown than were there for its content.

    Raises:
        Conflict: Somebody who may be shown the thing was not there.
    """
    if not reach.changes(thing):
        raise Conflict(NOT_FROM_HERE)


def check_document_change(reach: DocumentReach, document: Document) -> None:
    """Refuse a change of a document likewise.

    Raises:
        Conflict: Somebody who may be shown the document was not there.
    """
    if not reach.changes(document):
        raise Conflict(NOT_FROM_HERE)


def transact_guarded(table: Table, writes: Sequence[Write], guard: Check | None) -> None:
    """Carry out `writes` all or none, and none of them once `guard` fails.

    Args:
        table: Where.
        writes: At most 99 of them.
        guard: The check on a run's fence; None for what no run does.

    Raises:
        ConditionFailed: Some conditions of `writes` do not hold; `failed` has their positions.
        LostLease: The guard does not hold: another worker has taken the run over.
    """
    try:
        table.transact([*writes, guard] if guard is not None else writes)
    except ConditionFailed as failure:
        if len(writes) in failure.failed:
            raise LostLease(str(guard)) from failure
        raise


def unfit(error: ValidationError) -> Unprocessable:
    """What to raise when values that a tool passed on do not fit their model."""
    reasons = [f"{reason['loc'][0]}: {reason['msg']}" for reason in error.errors()]
    return Unprocessable("; ".join(reasons))
