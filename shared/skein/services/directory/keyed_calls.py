"""Idempotency keys: a repeated call never creates an item twice.

The record of a call joins the transaction that stores the new item (`skein.joint_writes`). The
record and the item are stored together or not at all, and services do not need to handle the key.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from pydantic import ValidationError

from skein.errors import ConditionFailed, Conflict, SkeinError
from skein.joint_writes import joining
from skein.models.common.storage import Condition, Item, Key, Put, Write, gone
from skein.models.directory.keyed_call import KeyedCall
from skein.ports import Clock, Table

OTHER_REQUEST = "this idempotency key was used with another body or query; use a new key"

T = TypeVar("T")


class Created(Protocol):
    """A kind of item that a call creates."""

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Build the item from table attributes."""

    @property
    def key(self) -> Key: ...


Kind = type[Created]


def its_id(created: Any) -> str:
    return str(created.id)


class CallKnown(SkeinError):
    """A parallel request with the same idempotency key was faster; nothing was written."""


@dataclass
class _Creating:
    """A call in progress, whose record will join the transaction that stores the call's item.

    Attributes:
        record: The record, without the item's id.
        kind: The class of the item.
        id_of: Returns the id of an item; the record stores this id.
        free: The condition that there is no record of the call yet.
        stored: Whether the item and the record are stored.
    """

    record: KeyedCall
    kind: Kind
    id_of: Callable[[Any], str]
    free: Condition
    stored: bool = False

    def beside(self, writes: Sequence[Write]) -> Put | None:
        """Return the write of the record if `writes` store the call's item; None otherwise."""
        found = None if self.stored else next(filter(None, map(self._created_by, writes)), None)
        return None if found is None else self.recorded(found)

    def joined(self) -> None:
        self.stored = True

    def refused(self) -> CallKnown:
        """Return the error to raise if the record cannot be written because it exists already."""
        return CallKnown(str(self.record.key))

    def recorded(self, created: Any) -> Put:
        record = self.record.model_copy(update={"item_id": self.id_of(created)})
        return Put(record.key, record.to_item(), self.free)

    def _created_by(self, write: Write) -> Created | None:
        if not isinstance(write, Put):
            return None
        try:
            item = self.kind.from_item(dict(write.item))
        except ValidationError:
            return None
        return item if item.key == write.key else None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCalls:
    """The service that carries out each call with an idempotency key only once."""

    table: Table
    clock: Clock

    def once(
        self,
        call: KeyedCall,
        kind: Kind,
        make: Callable[[], T],
        again: Callable[[str], T],
        *,
        id_of: Callable[[Any], str] = its_id,
    ) -> T:
        """Make a call or, if it was made before, return the item that the earlier call created.

        Args:
            call: The record of the call, without the item's id.
            kind: The class of the item that the call creates.
            make: Creates the item.
            again: Returns the result of a repeated call, from the id of the item. The result has
                the form that `make` returns. If the form includes a secret that is shown only once,
                `again` creates a new secret.
            id_of: Returns the id of a stored item, which is passed to `again`.

        Raises:
            Conflict: The key was used with another request in the last 24 hours.
            NotFound: The item has been deleted since.
        """
        known = self._known(call)
        if known is not None:
            return again(known)
        creating = _Creating(call, kind, id_of, gone(self.clock.now()))
        token = joining.set(creating)
        try:
            made = make()
        except CallKnown:
            joining.reset(token)
            token = joining.set(None)
            known = self._known(call)
            if known is None:  # its record has expired, or was erased
                raise Conflict(
                    "the item created with this idempotency key no longer exists; use a new key"
                ) from None
            return again(known)
        finally:
            joining.reset(token)
        if not creating.stored:  # the item existed already, so no transaction created it
            with suppress(ConditionFailed):
                self.table.write(creating.recorded(made))
        return made

    def _known(self, call: KeyedCall) -> str | None:
        """Return the id of the item that the call created; None if the call was not made before.

        Raises:
            Conflict: The key was used with another request.
        """
        known = KeyedCall.read(self.table, call.key)
        if known is None:
            return None
        if known.digest != call.digest:
            raise Conflict(OTHER_REQUEST)
        return known.item_id
