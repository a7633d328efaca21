"""Edit documents: what a change makes of one, what is refused, and the writes of a change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pydantic import ValidationError

from skein.errors import Conflict, NotFound, TooLarge, Unprocessable
from skein.models.audience import OPEN, Audience
from skein.models.chat import Chat
from skein.models.document import (
    DEFAULT_MEDIA_TYPE,
    MAX_DOCUMENT_BYTES,
    MAX_OF_CHAT,
    MAX_ON_SHOW,
    MAX_SOURCES,
    Deed,
    Document,
    Folder,
    Shelf,
    listed_with,
)
from skein.models.storage import (
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
from skein.services.common.optimistic import revise, unfit
from skein.services.common.pagination import FULL


@dataclass(frozen=True, slots=True)
class Author:
    """On whose behalf a document is changed; by default an operator's.

    Attributes:
        audience: Who was there for all that goes into it, and so may be shown a new one.
        source_chat_id: The chat in which it is done.
        source_run_id: The run that does it.
        activation: Which activation of the run.
        effect: The id of a run's effect; the same one again changes nothing.
        guard: A check on the run that does it.
    """

    audience: Audience = OPEN
    source_chat_id: str | None = None
    source_run_id: str | None = None
    activation: int | None = None
    effect: str | None = None
    guard: Check | None = None


OPERATOR = Author()


@dataclass(frozen=True, slots=True)
class Revision:
    """What of a document is to change; what is None stays.

    Attributes:
        append: Goes to the end of the text as it is.
        find: A part of the text that stands there exactly once.
        replace: What takes its place.
        version: The change holds only for this version of the document.
    """

    append: str | None = None
    find: str | None = None
    replace: str | None = None
    media_type: str | None = None
    on_show: bool | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a change is made, and the generation of what is made by it."""

    now: datetime
    generation: str


def new_document(
    folder: Folder, name: str, text: str, revision: Revision, maker: Author, stamp: Stamp
) -> Document:
    """A new document.

    Raises:
        Conflict: A version of it was asked for.
        TooLarge: The text holds more than a document may.
        Unprocessable: A value does not fit.
    """
    if revision.version is not None:
        raise Conflict("there is no version of this document")
    check_size(text)
    try:
        return Document(
            **dict(folder),
            audience=maker.audience,
            source_chat_id=maker.source_chat_id,
            source_run_id=maker.source_run_id,
            chat_ids=chats_of((), maker),
            name=name,
            media_type=revision.media_type or DEFAULT_MEDIA_TYPE,
            text=text,
            on_show=bool(revision.on_show),
            generation=stamp.generation,
            created_at=stamp.now,
            updated_at=stamp.now,
        )
    except ValidationError as error:
        raise unfit(error) from None


def changed_document(
    before: Document, text: str, revision: Revision, maker: Author, stamp: Stamp
) -> Document:
    """The document with this text, for the same people as before.

    Raises:
        Conflict: It is at another version, or too many chats have a part in it.
        TooLarge: The text holds more than a document may.
        Unprocessable: A value does not fit.
    """
    check_version(before, revision.version)
    check_size(text)
    changes = {
        "text": text,
        "media_type": revision.media_type or before.media_type,
        "on_show": before.on_show if revision.on_show is None else revision.on_show,
        "source_chat_id": maker.source_chat_id or before.source_chat_id,
        "source_run_id": maker.source_run_id or before.source_run_id,
        "chat_ids": chats_of(before.chat_ids, maker),
        "version": before.version + 1,
        "updated_at": stamp.now,
    }
    try:
        return Document.model_validate(dict(before) | changes)
    except ValidationError as error:
        raise unfit(error) from None


def chats_of(before: tuple[str, ...], maker: Author) -> tuple[str, ...]:
    """The chats that have a part in a document, now that `maker` writes in it.

    Raises:
        Conflict: They are too many for an erasure to keep track of.
    """
    chat_id = maker.source_chat_id
    if chat_id is None or chat_id in before:
        return before
    if len(before) >= MAX_SOURCES:
        raise Conflict(f"{MAX_SOURCES} chats have a part in this document; begin a new one")
    return (*before, chat_id)


def revised_text(text: str, revision: Revision) -> str:
    """The text with one part replaced, then with what is appended.

    Raises:
        Unprocessable: What is to be replaced does not stand there, or more than once.
    """
    if revision.find is not None:
        count = text.count(revision.find) if revision.find else 0
        if count != 1:
            raise Unprocessable(
                "what is to be replaced does not stand in the document; it must match exactly"
                if count == 0
                else f"what is to be replaced stands in the document {count:,} times; "
                "give more of what stands around it"
            )
        text = text.replace(revision.find, revision.replace or "")
    return text + (revision.append or "")


def check_version(document: Document, version: int | None) -> None:
    """Refuse to change another version than the one that is meant.

    Raises:
        Conflict: It is at another one.
    """
    if version is not None and document.version != version:
        raise Conflict(f"this document is at version {document.version} now")


def check_size(text: str) -> None:
    """Refuse a text that the table does not hold.

    Raises:
        TooLarge: It is more than 256 KiB.
        Unprocessable: It is no Unicode.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Unprocessable("text: it holds half a character") from None
    if size > MAX_DOCUMENT_BYTES:
        raise TooLarge(
            f"a document holds at most {MAX_DOCUMENT_BYTES:,} bytes of UTF-8, not {size:,}"
        )


def check_shelf(
    before: tuple[str, ...],
    after: tuple[str, ...],
    most: int,
    what: str,
    shown: Callable[[tuple[str, ...]], int],
) -> None:
    """Refuse to show more documents all the time than a prompt is to hold.

    Only those that may be shown there count, so the limit tells nothing of what is hidden. A cap of
    twice as many on all of them keeps them within what a prompt reads at once.

    Args:
        before: The ids that are listed.
        after: Those that are to be.
        most: How many that may be shown.
        what: What they are called.
        shown: How many of some may be shown.

    Raises:
        Conflict: There are too many.
    """
    if len(after) <= max(most, len(before)):
        return
    if shown(before) >= most:
        raise Conflict(f"there are {most} {what} already; take one away first")
    if len(after) > 2 * most:
        raise Conflict(FULL)


class Change(NamedTuple):
    """A document as it was read, and as it is to be; None where there is none.

    Attributes:
        shown: How many of some ids are documents that may be shown there.
        hidden: One of the same name that may not be shown there, and so must not be noticed.
        renamed: The same under the name by which it is kept from now on.
    """

    home: Folder
    before: Document | None
    after: Document | None
    found: Mapping[Key, Item]
    shown: Callable[[tuple[str, ...]], int]
    hidden: Document | None = None
    renamed: Document | None = None

    @property
    def deed(self) -> Deed:
        """What happens to the document."""
        if self.before is None:
            return "created"
        return "changed" if self.after is not None else "deleted"

    def writes(self, known: Document) -> list[Write]:
        """The writes that hold only for what was read."""
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
        shelved = (
            self._in_chat(known.id, listed=listed)
            if self.home.chat_id
            else self._shelf(known.id, listed=listed)
        )
        writes = [write, *shelved]
        if self.renamed is not None:
            writes.append(Put(self.renamed.key, self.renamed.to_item(), Missing()))
        return writes

    def _shelf(self, document_id: str, *, listed: bool) -> list[Write]:
        """What puts it on the agent's shelf, or takes it away."""
        shelf = Shelf.found_in(self.found.get(self.home.shelf_key))
        ids = listed_with(self._given_way(shelf.documents), document_id, listed=listed)
        if ids == shelf.documents:
            return []
        check_shelf(shelf.documents, ids, MAX_ON_SHOW, "documents always on show", self.shown)
        after = Shelf(documents=ids, version=shelf.version + 1)
        return [Put(self.home.shelf_key, after.attributes(), at_version(shelf.version))]

    def _given_way(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Ids of which one may belong to another document from now on."""
        if self.hidden is None or self.renamed is None:
            return ids
        return tuple(self.renamed.id if each == self.hidden.id else each for each in ids)

    def _in_chat(self, document_id: str, *, listed: bool) -> list[Write]:
        """What lists it on its chat, or strikes it off."""
        item = self.found.get(chat_key(self.home))
        if item is None or item.get("discarded_at"):
            raise NotFound("there is no such chat")
        chat = Chat.from_item(item)
        ids = listed_with(self._given_way(chat.documents), document_id, listed=listed)
        if ids == chat.documents:
            return []
        check_shelf(chat.documents, ids, MAX_OF_CHAT, "documents of a chat", self.shown)
        return [revise(chat, {"documents": ids})[1]]


def chat_key(folder: Folder) -> Key:
    """The key of the chat that owns a folder."""
    return Chat.key_of(folder.tenant, folder.chat_id or "")
