"""Provenance of the entries of a prompt: the source of each entry by ids, without any text."""

from typing import Annotated, Literal, Self

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored
from skein.models.visibility.ownership import DerivedItem
from skein.models.visibility.provenance import Citation

MAX_ENTRIES = 300  # entries of a prompt; further ones have no provenance

EntryKind = Literal["message", "memory", "document", "borrowed"]


class MarkedCitation(Citation):
    """A passage as a prompt or a tool showed it, with the mark by which the model cites it."""

    mark: str

    @property
    def plain(self) -> Citation:
        """The citation without its mark."""
        return Citation(**self.model_dump(exclude={"mark"}))


class EntryProvenance(Stored):
    """The source of one entry of a section; it contains no text and names no people.

    Attributes:
        kind: The kind of entry.
        id: The id of a memory or a document; None for messages.
        chat_id: The chat that the text comes from; None if it does not come from a chat.
        from_seq: The first message that the text comes from; None if it is not known.
        to_seq: The last message that the text comes from.
        at: When the text was written.
        open: Whether the text comes from an open chat or from no chat.
        rule_ids: The sharing rules that allow sharing the text with the readers; empty if the
            readers were present when it was written.
        cites: For a passage of a source, how an answer cites it.
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
    cites: Annotated[MarkedCitation | None, Field(exclude_if=lambda cites: cites is None)] = None

    @classmethod
    def of_item(cls, section: str, kind: EntryKind, item_id: str, item: DerivedItem) -> Self:
        """Return the provenance of an agent's item, based on its messages in its source chat."""
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
