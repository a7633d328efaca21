"""Document edits: apply a change, check its result against limits, and return the writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple, Protocol

from pydantic import ValidationError

from skein.errors import Conflict, NotFound, TooLarge, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.common.storage import (
    Check,
    Condition,
    Delete,
    Is,
    Item,
    Key,
    Missing,
    Put,
    Write,
    all_of,
    at_version,
)
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import DerivedItem
from skein.models.visibility.provenance import NO_AUTHORS, NOTHING, Authors, MadeFrom
from skein.services.common.optimistic import invalid_arguments, revise
from skein.services.items.store import FULL, check_open
from skein.workspace.models.document import (
    DEFAULT_MEDIA_TYPE,
    MAX_DOCUMENT_BYTES,
    MAX_OF_CHAT,
    MAX_PINNED,
    MAX_SOURCES,
    ChangeKind,
    Document,
    Folder,
    PinnedDocuments,
    listed_with,
)


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change to a document or thread; an operator by default.

    Attributes:
        audience: The people who were present for everything that the change is made from. A new
            document gets this audience.
        authors: The people whose words the run was shown; see `Authors`.
        made_from: The messages and items from which the change is made.
        source_chat_id: The chat in which the change is made.
        source_run_id: The run that makes the change.
        activation: The number of the run's activation.
        effect: The id of the run's effect, which makes a repeated change a no-op.
        guard: The check of the run's fencing token. It is part of the transaction that makes the
            change.
        by_operator: Whether an operator makes the change. A new document is then the operator's.
    """

    audience: Audience = OPEN
    authors: Authors = NO_AUTHORS
    made_from: MadeFrom = NOTHING
    source_chat_id: str | None = None
    source_run_id: str | None = None
    activation: int | None = None
    effect: str | None = None
    guard: Check | None = None
    by_operator: bool = False


OPERATOR = Author(by_operator=True)


@dataclass(frozen=True, slots=True)
class Revision:
    """A partial change to a document; a field that is None keeps its value.

    Attributes:
        append: Text to add at the end, without a separator.
        find: Text to replace; it must occur exactly once in the document.
        replace: The replacement for `find`; None deletes the found text.
        version: The version that the document must have (optimistic lock).
    """

    append: str | None = None
    find: str | None = None
    replace: str | None = None
    media_type: str | None = None
    pinned: bool | None = None
    public: bool | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Stamp:
    """The time of a change, with the generation and the version that a new document gets."""

    now: datetime
    generation: str
    first_version: int = 1


def new_document(
    folder: Folder, name: str, text: str, revision: Revision, author: Author, stamp: Stamp
) -> Document:
    """Create a document model from its first text.

    Raises:
        Conflict: `revision` names a version, but no document exists.
        TooLarge: The text is larger than 256 KiB of UTF-8.
        Unprocessable: A value is invalid.
    """
    if revision.version is not None:
        raise Conflict("the document does not exist, so no version matches")
    check_size(text)
    try:
        return Document(
            **dict(folder),
            audience=author.audience,
            authors=author.authors,
            made_from=author.made_from,
            source_chat_id=author.source_chat_id,
            source_run_id=author.source_run_id,
            by_operator=author.by_operator,
            name=name,
            media_type=revision.media_type or DEFAULT_MEDIA_TYPE,
            text=text,
            pinned=bool(revision.pinned),
            public=bool(revision.public),
            version=stamp.first_version,
            generation=stamp.generation,
            created_at=stamp.now,
            updated_at=stamp.now,
        )
    except ValidationError as error:
        raise invalid_arguments(error) from None


def changed_document(
    before: Document, text: str, revision: Revision, author: Author, stamp: Stamp
) -> Document:
    """Return the next version of a document with a new text. The audience does not change.

    Raises:
        Conflict: The document has another version, 100 other chats already contributed to it, or
            it is private and cannot be public.
        TooLarge: The text is larger than 256 KiB of UTF-8.
        Unprocessable: A value is invalid.
    """
    check_version(before, revision.version)
    check_size(text)
    if revision.public:
        check_open(before)
    changes = {
        "text": text,
        "media_type": revision.media_type or before.media_type,
        "pinned": before.pinned if revision.pinned is None else revision.pinned,
        "public": before.public if revision.public is None else revision.public,
        "source_run_id": author.source_run_id or before.source_run_id,
        "authors": before.authors.joined(author.authors),
        "made_from": material_of(before, author),
        "version": before.version + 1,
        "updated_at": stamp.now,
    }
    try:
        return Document.model_validate(dict(before) | changes)
    except ValidationError as error:
        raise invalid_arguments(error) from None


def material_of(before: DerivedItem, author: Author) -> MadeFrom:
    """Return the sources of an item, joined with the sources of a change.

    Raises:
        Conflict: 100 other chats already contributed. An erasure checks each of them, so the list
            is bounded.
    """
    made_from = before.made_from.joined(author.made_from)
    if len(made_from.chats) > MAX_SOURCES:
        raise Conflict(f"{MAX_SOURCES} chats already contribute to this; create a new one")
    return made_from


def revised_text(text: str, revision: Revision) -> str:
    """Apply a revision to a text: replace one part, then append.

    Raises:
        Unprocessable: The text to replace does not occur in the document, or more than once.
    """
    if revision.find is not None:
        count = text.count(revision.find) if revision.find else 0
        if count != 1:
            raise Unprocessable(
                "the text to replace was not found; it must match the document exactly"
                if count == 0
                else f"the text to replace occurs {count:,} times in the document; "
                "include more of the text around it"
            )
        text = text.replace(revision.find, revision.replace or "")
    return text + (revision.append or "")


def check_version(document: Document, version: int | None) -> None:
    """Check the version that the caller expects (optimistic lock); None skips the check.

    Raises:
        Conflict: The document has another version.
    """
    if version is not None and document.version != version:
        raise Conflict(f"this document is at version {document.version} now")


def check_size(text: str) -> None:
    """Check that a document's text fits into the table.

    Raises:
        TooLarge: The text is larger than 256 KiB of UTF-8.
        Unprocessable: The text contains a lone surrogate, which UTF-8 cannot encode.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Unprocessable("text: it contains an unpaired surrogate") from None
    if size > MAX_DOCUMENT_BYTES:
        raise TooLarge(
            f"a document may have at most {MAX_DOCUMENT_BYTES:,} bytes of UTF-8, not {size:,}"
        )


def check_listed(
    before: tuple[str, ...],
    after: tuple[str, ...],
    most: int,
    what: str,
    shown: Callable[[tuple[str, ...]], int],
    *,
    by_operator: bool,
) -> None:
    """Check the limits on the list of documents that prompts read.

    The limit `most` counts only documents that may be shown to the readers, so the error does not
    reveal hidden documents. A prompt reads all listed documents at once, including hidden ones, so
    there may be at most twice `most` of them in total. For an operator's document, only the limit
    `most` applies, and only operators' documents are counted. A change that does not make the list
    longer is always allowed.

    Args:
        before: The ids that are listed now.
        after: The ids after the change.
        most: The maximum number of listed documents that may be shown.
        what: The name of the list in the error.
        shown: Returns how many of the given documents may be shown. For an operator's document, it
            counts only operators' documents.
        by_operator: Whether the document is an operator's.

    Raises:
        Conflict: The list would exceed a limit.
    """
    if len(after) <= max(most, len(before)):
        return
    if shown(before) >= most:
        raise Conflict(f"there are already {most} {what}; remove one first")
    if len(after) > 2 * most and not by_operator:
        raise Conflict(FULL)


class DocumentCount(Protocol):
    """A function that counts the documents with given ids that may be shown."""

    def __call__(self, ids: tuple[str, ...], /, *, operators: bool) -> int:
        """Return the number of documents. `operators` counts only the documents of operators."""


class DocumentEdit(NamedTuple):
    """A document before and after a change; None means that the document does not exist.

    Attributes:
        home: The folder of the document.
        found: The items that were read for this change.
        shown: Counts how many of the given documents may be shown to the readers.
        hidden: A document of the same name that may not be shown to the readers. The caller must
            not learn that this document exists.
        renamed: The hidden document under its new name.
    """

    home: Folder
    before: Document | None
    after: Document | None
    found: Mapping[Key, Item]
    shown: DocumentCount
    hidden: Document | None = None
    renamed: Document | None = None

    @property
    def kind(self) -> ChangeKind:
        """How the change affects the document."""
        if self.before is None:
            return "created"
        return "changed" if self.after is not None else "deleted"

    def writes(self, known: Document) -> list[Write]:
        """Return the writes, conditional on the items that were read (optimistic lock).

        Raises:
            Conflict: Too many documents would be listed.
            NotFound: The chat that owns the folder does not exist or is discarded.
        """
        standing, after = self.before or self.hidden, self.after
        as_read: Condition = Missing()
        if standing is not None:
            as_read = all_of(Is("version", standing.version), Is("generation", standing.generation))
        write: Write = (
            Delete(known.key, as_read)
            if after is None
            else Put(after.key, after.to_item(), as_read)
        )
        listed = after is not None and after.listed
        listing = (
            self._in_chat(known.id, listed=listed)
            if self.home.chat_id
            else self._pin_writes(known.id, listed=listed)
        )
        writes = [write, *listing]
        if self.renamed is not None:
            writes.append(Put(self.renamed.key, self.renamed.to_item(), Missing()))
        return writes

    def _pin_writes(self, document_id: str, *, listed: bool) -> list[Write]:
        """Return the write that lists or unlists the document in the agent's pinned documents."""
        pins = PinnedDocuments.from_optional(self.found.get(self.home.pins_key))
        ids = listed_with(self._given_way(pins.documents), document_id, listed=listed)
        if ids == pins.documents:
            return []
        self._check_listed(pins.documents, ids, MAX_PINNED, "documents always on show")
        after = PinnedDocuments(documents=ids, version=pins.version + 1)
        return [Put(self.home.pins_key, after.attributes(), at_version(pins.version))]

    def _given_way(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Return the ids, with the renamed hidden document under its new id."""
        if self.hidden is None or self.renamed is None:
            return ids
        return tuple(self.renamed.id if each == self.hidden.id else each for each in ids)

    def _in_chat(self, document_id: str, *, listed: bool) -> list[Write]:
        """Return the write that adds the document to the list on the chat's item, or removes it."""
        chat = Chat.read(self.found, chat_key(self.home))
        if chat is None or chat.discarded_at is not None:
            raise NotFound("chat not found")
        ids = listed_with(self._given_way(chat.documents), document_id, listed=listed)
        if ids == chat.documents:
            return []
        self._check_listed(chat.documents, ids, MAX_OF_CHAT, "documents of a chat")
        return [revise(chat, {"documents": ids})[1]]

    def _check_listed(
        self, before: tuple[str, ...], after: tuple[str, ...], most: int, what: str
    ) -> None:
        by_operator = self.after is not None and self.after.by_operator
        shown = partial(self.shown, operators=by_operator)
        check_listed(before, after, most, what, shown, by_operator=by_operator)


def chat_key(folder: Folder) -> Key:
    """Return the key of the chat that owns a folder."""
    return Chat.key_of(folder.tenant, folder.chat_id or "")
