"""The writes of one change of a document, and of what lists it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from skein.errors import NotFound
from skein.models.chat import Chat
from skein.models.document import (
    MAX_OF_CHAT,
    MAX_ON_SHOW,
    Deed,
    Document,
    Folder,
    Shelf,
    listed_with,
)
from skein.models.storage import (
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
from skein.services.common.optimistic import revise
from skein.services.workspace.document_changes import check_shelf


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
