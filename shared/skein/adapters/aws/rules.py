"""Checks of requests against the rules of AWS, shared by all adapters.

A failed check is a bug in our own code, hence a `ValueError`. Item sizes depend on people's
messages, so they are not checked here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from skein.models.common.storage import (
    MAX_BATCH_GET_KEYS,
    MAX_TRANSACTION_ITEMS,
    IndexName,
    Key,
    Put,
    Query,
    Update,
    Write,
)
from skein.models.common.vector_search import DIMENSIONS, MAX_NEAREST, VectorSearch
from skein.models.outbox.jobs import MAX_DELAY_SECONDS, Job

MAX_PK_BYTES = 2048
MAX_SK_BYTES = 1024


class KeySchema(NamedTuple):
    """The names of the two key attributes of the table or of an index."""

    pk: str
    sk: str


class VectorSchema(NamedTuple):
    """The names of the attributes by which the vector index finds items.

    An item without the vector or without the partition is not in the index.
    """

    partition: str
    model: str
    author: str
    month: str
    vector: str


TABLE = KeySchema("pk", "sk")
VECTORS = VectorSchema("recall_scope", "recall_model", "recall_author", "recall_month", "vector")
INDEXES: dict[IndexName, KeySchema] = {
    name: KeySchema(f"{name}pk", f"{name}sk") for name in get_args(IndexName)
}
_KEY_LIMITS = {
    name: limit
    for schema in (TABLE, *INDEXES.values())
    for name, limit in ((schema.pk, MAX_PK_BYTES), (schema.sk, MAX_SK_BYTES))
}


def check_key(key: Key) -> None:
    """Check that an item can have this key.

    Raises:
        ValueError: A part of the key is empty or too long.
    """
    _check_key_attribute("pk", key.pk)
    _check_key_attribute("sk", key.sk)


def schema_of(query: Query) -> KeySchema:
    """Return the key attributes of the table or index that a query reads."""
    return TABLE if query.index is None else INDEXES[query.index]


def is_impossible(query: Query) -> bool:
    """Return whether the bounds exclude every key; DynamoDB rejects such a query."""
    # Python orders text by code point, which is also the order of its UTF-8 bytes.
    return not query.last or query.first > query.last


def check_query(query: Query) -> None:
    """Check that a query keeps to the rules of DynamoDB.

    Raises:
        ValueError: The partition key is empty or too long, the limit is not positive, or a query of
            an index has no limit.
    """
    _check_key_attribute(schema_of(query).pk, query.pk)
    if query.limit is None and query.index is not None:
        raise ValueError("a query of an index needs a limit")
    if query.limit is not None and query.limit < 1:
        raise ValueError(f"a query needs a limit of at least 1, not {query.limit}")


def check_batch(keys: Sequence[Key]) -> None:
    """Check the keys of a batch read.

    Raises:
        ValueError: The batch has more than 100 keys, or a key that no item can have.
    """
    if len(keys) > MAX_BATCH_GET_KEYS:
        raise ValueError(f"{len(keys)} keys in one batch; at most {MAX_BATCH_GET_KEYS} are allowed")
    for key in keys:
        check_key(key)


def check_transaction(writes: Sequence[Write]) -> None:
    """Check the writes of a transaction.

    Raises:
        ValueError: There are more than 100 writes, two writes change the same item, or a write is
            invalid (`check_write`).
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
    """Check that a write keeps to the rules of DynamoDB.

    Raises:
        ValueError: The key or an index key is empty, too long or not a string. Or the write changes
            the item's own key, changes nothing, or changes one attribute in two ways.
    """
    check_key(write.key)
    if isinstance(write, Put):
        named = Key(write.item.get("pk", write.key.pk), write.item.get("sk", write.key.sk))
        if named != write.key:
            raise ValueError(
                f"an item with the key {named} cannot be stored under the key {write.key}"
            )
        _check_key_attributes(write.item)
    if isinstance(write, Update):
        _check_update(write)


def check_jobs(jobs: Sequence[Job], delay_seconds: int) -> None:
    """Check that jobs are of one kind and that SQS supports the delay.

    Raises:
        ValueError: The jobs are of several kinds, or the delay is not 0 to 900 seconds.
    """
    if len({job.queue for job in jobs}) > 1:
        raise ValueError("jobs of different kinds cannot be sent together")
    if not 0 <= delay_seconds <= MAX_DELAY_SECONDS:
        raise ValueError(f"a delay is 0 to {MAX_DELAY_SECONDS} seconds, not {delay_seconds}")


def check_search(search: VectorSearch) -> None:
    """Check that a vector search keeps to the rules of DynamoDB.

    Raises:
        ValueError: The limit is not 1 to 100, or the vector has the wrong number of dimensions.
    """
    if not 1 <= search.limit <= MAX_NEAREST:
        raise ValueError(f"a search finds 1 to {MAX_NEAREST} passages, not {search.limit}")
    if len(search.vector) != DIMENSIONS:
        raise ValueError(
            f"the index has vectors of {DIMENSIONS} dimensions, not {len(search.vector)}"
        )


def _check_update(update: Update) -> None:
    if not update.set and not update.add:
        raise ValueError("an update must change something; use Check for a condition alone")
    if both := update.set.keys() & update.add.keys():
        raise ValueError(f"{sorted(both)} cannot be both set and incremented")
    if own := {*update.set, *update.add} & {*TABLE}:
        raise ValueError(f"{sorted(own)} is part of the item's key and cannot change")
    if numbers := update.add.keys() & _KEY_LIMITS.keys():
        raise ValueError(f"{sorted(numbers)} is a string and cannot be incremented")
    _check_key_attributes(update.set)


def _check_key_attributes(attributes: Mapping[str, Any]) -> None:
    for name in _KEY_LIMITS:
        value = attributes.get(name)
        if value is not None:
            _check_key_attribute(name, value)


def _check_key_attribute(name: str, value: Any) -> None:
    if not isinstance(value, str) or not 0 < len(value.encode()) <= _KEY_LIMITS[name]:
        raise ValueError(
            f"{name} must be a string of 1 to {_KEY_LIMITS[name]} bytes: {value!r:.80}"
        )
