"""Records of what one person said that sharing rules disclosed to others."""

from datetime import datetime
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
        chat_id: The chat of the messages.
        seqs: The numbers of the messages.
        shown_in: The chat whose people were shown the messages; its roster lists these people.
        rule_ids: The sharing rules that allowed this.
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

    @staticmethod
    def key_of(
        tenant: str,
        author_id: str,
        at: datetime,
        run_id: str,
        chat_id: str,
        cause: str | None = None,
    ) -> "Key[DisclosureRecord]":
        """Return the key of a record; keys sort by time."""
        call = f"#{key_part(cause)}" if cause is not None else ""
        end = f"{rfc3339(at)}#{key_part(run_id)}#{key_part(chat_id)}{call}"
        return Key(
            DisclosureRecord.partition_of(tenant, author_id), f"{DisclosureRecord.PREFIX}{end}"
        )

    @property
    def key(self) -> "Key[DisclosureRecord]":
        return self.key_of(
            self.tenant, self.author_id, self.at, self.run_id, self.chat_id, self.cause
        )

    def to_item(self) -> Item:
        return self.attributes()
