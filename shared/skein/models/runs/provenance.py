"""Provenance of the entries of a prompt: where each comes from, by ids and without words."""

from typing import Annotated, Literal, Self

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored
from skein.models.visibility.ownership import DerivedItem

MAX_ENTRIES = 300  # of a prompt; further ones have no provenance of their own

EntryKind = Literal["message", "memory", "document", "borrowed"]


class EntryProvenance(Stored):
    """Where one entry of a section comes from; it holds no words and names no people.

    Attributes:
        kind: What the entry is.
        id: The id of a memory or a document; None for messages.
        chat_id: The chat of the words; None if they come from no chat.
        from_seq: The first message of the words; None if it is not known.
        to_seq: The last message of the words.
        at: When the words were written.
        open: Whether the words come from an open chat or from no chat.
        rule_ids: The sharing rules by which the readers may be told the words; none if they were
            present.
    """

    section: str
    kind: EntryKind
    id: Identifier | None = None
    chat_id: Identifier | None = None
    from_seq: int | None = None
    to_seq: int | None = None
    at: Instant | None = None
    open: bool
    rule_ids: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda rules: not rules)] = ()

    @classmethod
    def of_item(cls, section: str, kind: EntryKind, item_id: str, item: DerivedItem) -> Self:
        """Return the provenance of an agent's item, from its material in its source chat."""
        span = item.made_from.span_in(item.source_chat_id)
        return cls(
            section=section,
            kind=kind,
            id=item_id,
            chat_id=item.source_chat_id,
            from_seq=span.first_seq if span else None,
            to_seq=span.last_seq if span else None,
            at=item.updated_at or item.created_at,
            open=item.audience.open,
        )
