"""Records of which messages of a person were shown to other people by sharing rules."""

from typing import Annotated, ClassVar

from pydantic import Field

from skein.models.common.base import (
    Identifier,
    Instant,
    Stored,
    Tenant,
    key_part,
    person_key,
    rfc3339,
)
from skein.models.common.storage import Item, Key, SortKeyPrefix

MAX_SEQS = 100  # messages of one record; a prompt shows fewer


class DisclosureRecord(Stored):
    """Messages of one person in one chat that were shown to others.

    Attributes:
        author_id: The author of the messages; the record is stored with the person's own items.
        shown_in: The chat whose people were shown the messages; its roster lists these people.
        cause: The tool call that returned the messages; None if a prompt contained them.
        expires_at: When the record expires, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("DISCLOSED#")

    tenant: Tenant
    author_id: Identifier
    run_id: Identifier
    chat_id: Identifier
    seqs: Annotated[tuple[int, ...], Field(max_length=MAX_SEQS)]
    shown_in: Identifier
    rule_ids: tuple[Identifier, ...]
    at: Instant
    cause: Annotated[Identifier | None, Field(exclude_if=lambda cause: cause is None)] = None
    expires_at: int

    @staticmethod
    def partition_of(tenant: str, author_id: str) -> str:
        return person_key(tenant, author_id).pk

    @property
    def key(self) -> "Key[DisclosureRecord]":
        call = f"#{key_part(self.cause)}" if self.cause is not None else ""
        end = f"{rfc3339(self.at)}#{key_part(self.run_id)}#{key_part(self.chat_id)}{call}"
        return Key(self.partition_of(self.tenant, self.author_id), f"{self.PREFIX}{end}")

    def to_item(self) -> Item:
        return self.attributes()
