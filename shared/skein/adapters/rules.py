"""What AWS refuses in a request, checked before it is sent, so that all adapters refuse alike.

Everything here is a fault in our own code, hence a `ValueError`; sizes of items, which people's
words decide, are not judged here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from skein.models.jobs import Job
from skein.models.storage import (
    MAX_BATCH_GET_KEYS,
    MAX_TRANSACTION_ITEMS,
    IndexName,
    Item,
    Key,
    Put,
    Update,
    Write,
)

MAX_PK_BYTES = 2048
MAX_SK_BYTES = 1024
MAX_DELAY_SECONDS = 900


class KeySchema(NamedTuple):
    """The attributes that find and order the items of the table or of an index."""

    pk: str
    sk: str


TABLE = KeySchema("pk", "sk")
INDEXES: dict[IndexName, KeySchema] = {
    name: KeySchema(f"{name}pk", f"{name}sk") for name in get_args(IndexName)
}
_KEY_LIMITS = {
    name: limit
    for schema in (TABLE, *INDEXES.values())
    for name, limit in ((schema.pk, MAX_PK_BYTES), (schema.sk, MAX_SK_BYTES))
}


def check_key(key: Key) -> None:
    """Refuse a key that no item can have.

    Raises:
        ValueError: A part of it is empty or too long.
    """
    _check_key_attributes({"pk": key.pk, "sk": key.sk})


@dataclass(frozen=True, slots=True)
class Query:
    """What `Table.query` and `Table.query_index` are asked for.

    Raises:
        ValueError: The partition is empty or too long, or the limit is not positive.
    """

    index: IndexName | None
    pk: str
    first: str
    last: str
    limit: int | None
    newest_first: bool
    start: Item | None

    def __post_init__(self) -> None:
        _check_key_attribute(self.schema.pk, self.pk)
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"a query needs a limit of at least 1, not {self.limit}")

    @property
    def schema(self) -> KeySchema:
        """The attributes that it goes by."""
        return TABLE if self.index is None else INDEXES[self.index]

    @property
    def impossible(self) -> bool:
        """Whether no key lies between its bounds, which DynamoDB refuses to be asked."""
        # Python orders text by code point, which is the order of its UTF-8 bytes, too.
        return not self.last or self.first > self.last


def check_batch(keys: Sequence[Key]) -> None:
    """Refuse a batch that is too large or has an impossible key.

    Raises:
        ValueError: Either of these.
    """
    if len(keys) > MAX_BATCH_GET_KEYS:
        raise ValueError(f"{len(keys)} keys in one batch; at most {MAX_BATCH_GET_KEYS} are allowed")
    for key in keys:
        check_key(key)


def check_transaction(writes: Sequence[Write]) -> None:
    """Refuse a transaction that is too large, or names an item twice, or has an unfit write.

    Raises:
        ValueError: Any of these.
    """
    if len(writes) > MAX_TRANSACTION_ITEMS:
        raise ValueError(
            f"{len(writes)} writes in one transaction; at most {MAX_TRANSACTION_ITEMS} are allowed"
        )
    if len({write.key for write in writes}) < len(writes):
        raise ValueError("one transaction cannot write the same item twice")
    for write in writes:
        check_write(write)


def check_write(write: Write) -> None:
    """Refuse a write that no engine would carry out.

    Raises:
        ValueError: Its key, or a key of an index that it gives, is empty, too long or no text; it
            changes the item's own key, or nothing, or one attribute in two ways.
    """
    check_key(write.key)
    if isinstance(write, Put):
        named = Key(write.item.get("pk", write.key.pk), write.item.get("sk", write.key.sk))
        if named != write.key:
            raise ValueError(f"an item that says it is {named} cannot be put under {write.key}")
        _check_key_attributes(write.item)
    if isinstance(write, Update):
        _check_update(write)


def check_jobs(jobs: Sequence[Job], delay_seconds: int) -> None:
    """Refuse jobs of several kinds, and a delay that SQS does not have.

    Raises:
        ValueError: Either of these.
    """
    if len({job.queue for job in jobs}) > 1:
        raise ValueError("jobs of several kinds cannot be sent at once")
    if not 0 <= delay_seconds <= MAX_DELAY_SECONDS:
        raise ValueError(f"a delay is 0 to {MAX_DELAY_SECONDS} seconds, not {delay_seconds}")


def _check_update(update: Update) -> None:
    if not update.set and not update.add:
        raise ValueError("an update needs something to change; a Check changes nothing")
    if both := update.set.keys() & update.add.keys():
        raise ValueError(f"{sorted(both)} cannot be both set and added to")
    if own := {*update.set, *update.add} & {*TABLE}:
        raise ValueError(f"{sorted(own)} is the item's own key and cannot change")
    if numbers := update.add.keys() & _KEY_LIMITS.keys():
        raise ValueError(f"{sorted(numbers)} is text and cannot be added to")
    _check_key_attributes(update.set)


def _check_key_attributes(attributes: Mapping[str, Any]) -> None:
    for name, value in _given(attributes, _KEY_LIMITS):
        _check_key_attribute(name, value)


def _check_key_attribute(name: str, value: Any) -> None:
    if not isinstance(value, str) or not 0 < len(value.encode()) <= _KEY_LIMITS[name]:
        raise ValueError(f"{name} must be text of 1 to {_KEY_LIMITS[name]} bytes: {value!r:.80}")


def _given(attributes: Mapping[str, Any], names: Iterable[str]) -> list[tuple[str, Any]]:
    return [(name, attributes[name]) for name in names if attributes.get(name) is not None]
