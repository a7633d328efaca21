"""Retry conditional writes (optimistic lock), change versioned records, guard the writes of runs.

Every change reads items, decides, and writes on condition that the items have not changed since. If
the condition fails, another writer was faster, and the change is retried after a new read. A guard
is a condition on the run's claim, so that a run's tools can write only while their worker has the
run's lease.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol, Self, TypeVar

from pydantic import ValidationError
from tenacity import RetryError, Retrying, retry_if_exception_type

from skein.errors import Ambiguous, ConditionFailed, Contention, LostLease, Unprocessable
from skein.models.common.retry import Retry, doubling
from skein.models.common.storage import Check, Is, Key, Update, Write
from skein.ports import Clock, Table

LOCK_RETRY = Retry((*doubling(timedelta(milliseconds=20), 5), timedelta(seconds=1)), max_tries=20)

Reading = TypeVar("Reading")
Result = TypeVar("Result")


class VersionedRecord(Protocol):
    """A record with an optimistic lock: every change raises its version."""

    @property
    def key(self) -> Key: ...

    @property
    def version(self) -> int:
        """The version, starting at 1."""

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self: ...

    def attributes(self) -> dict[str, Any]: ...


Versioned = TypeVar("Versioned", bound=VersionedRecord)


def optimistic(
    clock: Clock, attempt: Callable[[], Result], *, finds_own_write: bool = False
) -> Result:
    """Call `attempt` until no other writer interferes, at most 20 times.

    `attempt` reads, decides and writes. If it raises `ConditionFailed`, another writer was faster,
    and `attempt` is called again after a random, exponentially growing pause of at most 1 second.

    Args:
        attempt: Makes the change.
        finds_own_write: Whether `attempt` notices that an earlier try has already made the change.
            If so, a try whose outcome is unknown (`Ambiguous`) is repeated, too.

    Returns:
        The result of `attempt`.

    Raises:
        Contention: All 20 tries failed.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(
            (ConditionFailed, Ambiguous) if finds_own_write else ConditionFailed
        ),
        stop=LOCK_RETRY.stop,
        wait=LOCK_RETRY.pause,
        sleep=clock.sleep,
    )
    try:
        return retrying(attempt)
    except RetryError as error:
        raise Contention(f"an optimistic lock failed {LOCK_RETRY.max_tries} times") from error


def known_first(known: Reading | None, read: Callable[[], Reading]) -> Callable[[], Reading]:
    """Return a function for the tries of an optimistic write, each of which needs the data.

    The first call returns the data that the caller has read before. Each later call reads it again,
    because another writer has changed it.

    Args:
        known: The data that the caller has read; None if the first call must read, too.
        read: Reads the data.
    """
    readings = iter(() if known is None else (known,))

    def next_reading() -> Reading:
        reading = next(readings, None)
        return read() if reading is None else reading

    return next_reading


def revise(
    thing: Versioned,
    changes: Mapping[str, Any],
    *,
    also: Mapping[str, Any] | None = None,
    lock: str = "version",
) -> tuple[Versioned, Update]:
    """Return `thing` with `changes`, and the update that stores them (optimistic lock).

    The update leaves all other attributes of the item as they are, so it keeps those that newer
    code may have added.

    Args:
        thing: The record as it was read.
        changes: The fields to change, with their new values.
        also: Further attributes of the item to set or, with None, to remove.
        lock: The field that every change raises, if that is not the version.
    """
    known = getattr(thing, lock)
    revised = thing.model_copy(update={**changes, lock: known + 1})
    attributes = revised.attributes()
    change = {name: attributes.get(name) for name in (*changes, lock)}
    write = Update(thing.key, set=change | dict(also or {}), condition=Is(lock, known))
    return revised, write


def transact_guarded(table: Table, writes: Sequence[Write], guard: Check | None) -> None:
    """Commit `writes` in one transaction, on condition that `guard` holds.

    Args:
        writes: At most 99 writes.
        guard: The check on a run's fencing token; None for writes outside a run.

    Raises:
        ConditionFailed: Conditions of writes failed; `failed` has the positions of these writes.
        LostLease: The guard failed: another worker has claimed the run.
    """
    try:
        table.transact([*writes, guard] if guard is not None else writes)
    except ConditionFailed as failure:
        if len(writes) in failure.failed:
            raise LostLease(str(guard)) from failure
        raise


def invalid_arguments(error: ValidationError) -> Unprocessable:
    """Return the error for a tool's arguments that failed validation."""
    reasons = [f"{reason['loc'][0]}: {reason['msg']}" for reason in error.errors()]
    return Unprocessable("; ".join(reasons))
