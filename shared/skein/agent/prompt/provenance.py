"""Provenance of the entries of a prompt, from the items that the prompt shows."""

from skein.models.chats.borrowed import BorrowedContext
from skein.models.memory.memory import Memory
from skein.models.runs.provenance import EntryProvenance
from skein.models.workspace.document import Document
from skein.services.recall.layout import RecalledEntry


def of_recalled(section: str, entry: RecalledEntry) -> EntryProvenance:
    """Return the provenance of a recalled message."""
    message = entry.message
    return EntryProvenance(
        section=section,
        kind="message",
        chat_id=message.chat_id,
        from_seq=message.seq,
        to_seq=message.seq,
        at=message.created_at,
        open=entry.audience.open,
    )


def of_memory(section: str, memory: Memory) -> EntryProvenance:
    """Return the provenance of a memory."""
    span = memory.made_from.span_in(memory.source_chat_id)
    return EntryProvenance(
        section=section,
        kind="memory",
        id=memory.id,
        chat_id=memory.source_chat_id,
        from_seq=span.first_seq if span else None,
        to_seq=span.last_seq if span else None,
        at=memory.created_at,
        open=memory.audience.open,
    )


def of_document(section: str, document: Document) -> EntryProvenance:
    """Return the provenance of a document."""
    return EntryProvenance(
        section=section,
        kind="document",
        id=document.id,
        chat_id=document.source_chat_id,
        at=document.updated_at,
        open=document.audience.open,
    )


def of_borrowed(section: str, borrowed: BorrowedContext) -> EntryProvenance:
    """Return the provenance of borrowed context."""
    return EntryProvenance(
        section=section,
        kind="borrowed",
        chat_id=borrowed.source_chat_id,
        at=borrowed.last_message_at,
        open=borrowed.audience.open,
    )
