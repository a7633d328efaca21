"""Documents: create, read, list, change and delete them with optimistic locks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from skein.errors import Conflict, NotFound
from skein.models.common.effects import effect_record
from skein.models.common.storage import Item, Key, Write
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.snapshot import read_chat
from skein.services.common.optimistic import optimistic, transact_guarded
from skein.services.common.pagination import DEFAULT_PAGE, Listing, items_under, list_partition
from skein.services.items.store import OPERATORS_ONLY, check_change
from skein.workspace.document_edits import (
    OPERATOR,
    Author,
    DocumentCount,
    DocumentEdit,
    Revision,
    Stamp,
    changed_document,
    chat_key,
    check_version,
    new_document,
    revised_text,
)
from skein.workspace.document_names import threads_renamed, under_free_name
from skein.workspace.models.document import Document, DocumentEffect, DocumentReach, Folder

ROWS = 10  # documents per query; a document can have 256 KiB
TAKEN = "a document with this name already exists"


class ListPosition(NamedTuple):
    """The position of a document in a list over several folders.

    Attributes:
        folder: Index into `DocumentReach.folders`, from 0.
        id: The document's id.
    """

    folder: int
    id: str


class DocumentPage(NamedTuple):
    """One page of documents by position, and whether more follow."""

    documents: dict[ListPosition, Document]
    more: bool


def list_documents(
    table: Table, reach: DocumentReach, *, limit: int, after: ListPosition | None = None
) -> DocumentPage:
    """List the documents within reach that may be shown, folder by folder.

    Hidden documents do not count towards `limit`.

    Args:
        reach: The folders to list, and the readers who must be allowed to see the documents.
        after: The last position of the previous page.
    """
    found = list(islice(shown_documents(table, reach, after), limit + 1))
    return DocumentPage(dict(found[:limit]), len(found) > limit)


def shown_documents(
    table: Table, reach: DocumentReach, after: ListPosition | None = None
) -> Iterator[tuple[ListPosition, Document]]:
    """Yield the documents within reach that may be shown, with their positions.

    Args:
        reach: The folders, and the readers who must be allowed to see the documents.
        after: The position after which to start; None starts with the first document.
    """
    for number, folder in enumerate(reach.folders):
        behind = folder.key(after.id).sk if after and number == after.folder else None
        if after is not None and number < after.folder:
            continue
        for document in Document.each_of(
            items_under(table, folder.partition, Document.PREFIX, after=behind, rows=ROWS)
        ):
            if reach.shows(document):
                yield ListPosition(number, document.id), document


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Storage of agents' and chats' documents."""

    table: Table
    clock: Clock
    ids: Ids

    def get(self, reach: DocumentReach, name: str) -> Document:
        """Get a document by its name or id.

        Raises:
            NotFound: The document does not exist, or the caller may not access it.
        """
        found = self.table.get_many([folder.key(name) for folder in reach.folders])
        document = _first(found, reach, name)
        if document is None:
            raise NotFound("document not found")
        return document

    def of_chat(self, tenant: str, chat_id: str) -> Folder:
        """Return the folder of a chat's documents.

        Raises:
            NotFound: The chat does not exist.
        """
        chat = read_chat(self.table, tenant, chat_id)
        return Folder(tenant=tenant, chat_id=chat.id)

    def list(
        self, folder: Folder, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Document]:
        """List a page of one folder's documents, for operators, in stable order.

        Raises:
            Invalid: The cursor belongs to another list.
        """
        return list_partition(
            self.table,
            folder.partition,
            (Document.PREFIX,),
            Document.from_item,
            limit=limit,
            cursor=cursor,
        )

    def shown(
        self, reach: DocumentReach, *, limit: int, after: tuple[int, str] | None = None
    ) -> DocumentPage:
        """List a page of the documents within reach, for agents; see `list_documents`."""
        return list_documents(self.table, reach, limit=limit, after=after and ListPosition(*after))

    def write(
        self,
        reach: DocumentReach,
        name: str,
        text: str,
        *,
        new_in: Folder | None = None,
        only_new: bool = False,
        media_type: str | None = None,
        pinned: bool | None = None,
        public: bool | None = None,
        version: int | None = None,
        first_version: int = 1,
        author: Author = OPERATOR,
    ) -> DocumentEffect:
        """Create a document, or replace its whole text.

        If the name is taken by a document that the readers may not see, that document is renamed.

        Args:
            reach: The folders in which to look for the document.
            name: The name of the document, or the id of an existing document.
            text: The whole text, at most 256 KiB of UTF-8.
            new_in: The folder for a new document, one of the folders of `reach`. None requires that
                the document exists.
            only_new: Require that the document does not exist.
            media_type: None keeps the media type; a new document is Markdown.
            pinned: Whether prompts always show the document (pinned); None keeps the setting.
            public: Whether visitors may be shown the document, too; None keeps the setting.
            version: The version that the document must have (optimistic lock).
            first_version: The version that a new document gets.
            author: The author of the change.

        Raises:
            NotFound: `new_in` is None, and the document does not exist or the caller may not access
                it.
            Conflict: The document already exists or has another version, or the caller may not
                change it; or too many documents would be pinned.
            TooLarge: The text is larger than 256 KiB of UTF-8.
            Unprocessable: A value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """
        revision = Revision(media_type=media_type, pinned=pinned, public=public, version=version)

        def make(before: Document | None, folder: Folder) -> Document:
            if before is None:
                stamp = self._stamp(first_version)
                return new_document(folder, name, text, revision, author, stamp)
            if only_new:
                raise Conflict(TAKEN)
            return changed_document(before, text, revision, author, self._stamp())

        return self._change(reach, name, make, author, new_in=new_in)

    def revise(
        self, reach: DocumentReach, name: str, revision: Revision, *, author: Author = OPERATOR
    ) -> DocumentEffect:
        """Append to a document, replace one part, or change its settings.

        Args:
            reach: The folders in which to look for the document.
            name: The document's name or id.
            revision: The changes.
            author: The author of the change.

        Raises:
            NotFound: The document does not exist, or the caller may not access it.
            Conflict: The document has another version, or the caller may not change it; or too many
                documents would be pinned.
            TooLarge: The text would be larger than 256 KiB of UTF-8.
            Unprocessable: The text to replace does not occur exactly once, or a value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """

        def make(before: Document | None, folder: Folder) -> Document:
            if before is None:
                raise NotFound("document not found")
            check_version(before, revision.version)
            text = revised_text(before.text, revision)
            return changed_document(before, text, revision, author, self._stamp())

        return self._change(reach, name, make, author)

    def delete(
        self,
        reach: DocumentReach,
        name: str,
        *,
        version: int | None = None,
        author: Author = OPERATOR,
    ) -> DocumentEffect:
        """Delete a document permanently.

        Raises:
            NotFound: The document does not exist, or the caller may not access it.
            Conflict: The document has another version, or the caller may not change it.
            LostLease: The guard fails: another worker has claimed the run.
        """

        def make(before: Document | None, folder: Folder) -> None:
            if before is not None:
                check_version(before, version)

        return self._change(reach, name, make, author)

    def _change(
        self,
        reach: DocumentReach,
        name: str,
        make: Callable[[Document | None, Folder], Document | None],
        author: Author,
        *,
        new_in: Folder | None = None,
    ) -> DocumentEffect:
        """Change one document with an optimistic lock; a repeated effect is a no-op."""

        def shown_in(home: Folder) -> DocumentCount:
            def count(ids: tuple[str, ...], /, *, operators: bool) -> int:
                found = self.table.get_many([home.key(each) for each in ids]).values()
                shown = filter(reach.shows, Document.each_of(found))
                return sum(document.by_operator >= operators for document in shown)

            return count

        def attempt() -> DocumentEffect:
            found = self.table.get_many(list(_keys(reach, name, author.effect)))
            for folder in reach.folders:
                if author.effect and (key := folder.effect_key(author.effect)) in found:
                    return DocumentEffect.must_read(found, key)
            before = _first(found, reach, name)
            home = before.folder if before is not None else new_in
            if home is None:
                raise NotFound("document not found")
            if before is not None:
                check_change(reach, before)
            change = DocumentEdit(home, before, make(before, home), found, shown_in(home))
            if change.after is None and before is not None and not reach.deletes(before):
                raise Conflict(OPERATORS_ONLY)
            hidden = Document.read(found, home.key(name))
            if before is not None or hidden is None:
                return self._commit(change, author)
            renamed = under_free_name(self.table, hidden, home, first=2)
            listed = threads_renamed(self.table, hidden, renamed, reach)
            return self._commit(change._replace(hidden=hidden, renamed=renamed), author, listed)

        return optimistic(self.clock, attempt)

    def _commit(
        self, change: DocumentEdit, author: Author, further: Sequence[Write] = ()
    ) -> DocumentEffect:
        """Write the document, the lists with its id, and the effect's record in one transaction."""
        home, known = change.home, change.after or change.before
        if known is None:
            raise NotFound("document not found")
        writes = [*change.writes(known), *further]
        length = len(change.after.text) if change.after is not None else 0
        done = DocumentEffect(
            change=change.kind, name=known.name, version=known.version, characters=length
        )
        if author.effect is not None:
            writes.append(effect_record(home.effect_key(author.effect), done, self.clock.now()))
        transact_guarded(self.table, writes, author.guard)
        return done

    def _stamp(self, first_version: int = 1) -> Stamp:
        return Stamp(self.clock.now(), self.ids.ulid(), first_version)


def _keys(reach: DocumentReach, name: str, effect: str | None) -> set[Key]:
    keys = {folder.key(name) for folder in reach.folders}
    keys |= {chat_key(each) if each.chat_id else each.pins_key for each in reach.folders}
    if effect is not None:
        keys |= {folder.effect_key(effect) for folder in reach.folders}
    return keys


def _first(found: dict[Key, Item], reach: DocumentReach, name: str) -> Document | None:
    """Return the first document, in the order of the folders, that may be shown."""
    keys = [folder.key(name) for folder in reach.folders]
    documents = Document.read_each(found, keys)
    return next((each for each in documents if reach.shows(each)), None)
