"""A record of one call to the table or its vector index; tests of costs read such records."""

from typing import NamedTuple


class Call(NamedTuple):
    """One call of the table or of its vector index.

    Attributes:
        method: The method; `query_index` is a `query` of an index.
        items: The number of items read or written; 0 for a refused write.
        bytes: The size of these items by DynamoDB's rules.
    """

    method: str
    items: int
    bytes: int
