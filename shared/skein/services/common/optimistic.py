"""Write on a fresh reading: try again, change versioned records, guard what runs write.

Every change reads, decides and writes under a condition. A lost condition means that somebody else
wrote in between, so the change is tried again. Writes of an agent's tools come only from the run's
own worker, and only to what it may change.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from skein.errors import ConditionFailed, Conflict, Contention, LostLease, Unprocessable
from skein.models.agent import Agent
from skein.models.chat import Chat
from skein.models.document import Document, DocumentReach
from skein.models.line import Line
from skein.models.overrides import TenantSettings
from skein.models.ownership import Owned, Reach
from skein.models.source import Source
from skein.models.storage import Check, Is, Update, Write
from skein.models.user import User
from skein.ports import Clock, Table

MAX_TRIES = 20
FIRST_WAIT_SECONDS = 0.02
MAX_WAIT_SECONDS = 1.0
NOT_FROM_HERE = (
    "this is shared with people who were not there for this conversation, so it can be read here, "
    "but not changed; keep a new one under another name instead"
)

Reading = TypeVar("Reading")
Result = TypeVar("Result")
Versioned = TypeVar("Versioned", Agent, Chat, Line, Source, TenantSettings, User)


def optimistic(clock: Clock, attempt: Callable[[], Result]) -> Result:
    """Call `attempt` until its writes rest on a fresh reading.

    `attempt` reads, decides and writes; a `ConditionFailed` that it lets through means that
    somebody else wrote in between, so it is called again after a random pause that grows.

    Returns:
        What `attempt` returns.

    Raises:
        Contention: 20 tries were all in vain.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(ConditionFailed),
        stop=stop_after_attempt(MAX_TRIES),
        wait=wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS),
        sleep=clock.sleep,
    )
    try:
        return retrying(attempt)
    except RetryError as error:
        raise Contention(f"an optimistic write lost {MAX_TRIES} times") from error


def optimistic_on(
    clock: Clock,
    known: Reading | None,
    read: Callable[[], Reading],
    attempt: Callable[[Reading], Result],
) -> Result:
    """Call `attempt` on what is known already, and from the second time on on a fresh reading.

    Args:
        clock: Lets time pass between the tries.
        known: What the caller has read; None if nothing.
        read: Reads it.
        attempt: Decides and writes, as for `optimistic`.

    Returns:
        What `attempt` returns.

    Raises:
        Contention: 20 tries were all in vain.
    """
    readings = iter([] if known is None else [known])

    def once() -> Result:
        reading = next(readings, None)
        return attempt(read() if reading is None else reading)

    return optimistic(clock, once)


def revise(
    thing: Versioned, changes: Mapping[str, Any], *, also: Mapping[str, Any] | None = None
) -> tuple[Versioned, Update]:
    """`thing` with `changes`, and the write that makes it so if nobody wrote in between.

    Attributes that newer writers may have added to the item stay as they are.

    Args:
        thing: The record as it was read.
        changes: Fields and their new values.
        also: Bookkeeping attributes of the item to set or, with None, to remove.
    """
    revised = thing.model_copy(update={**changes, "version": thing.version + 1})
    attributes = revised.attributes()
    change = {name: attributes.get(name) for name in (*changes, "version")}
    write = Update(thing.key, set=change | dict(also or {}), condition=Is("version", thing.version))
    return revised, write


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
