"""Documents: made, read, listed, changed and deleted, each change resting on what was read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from skein.errors import Conflict, NotFound
from skein.models.document import Document, DocumentReach, Done, Folder
from skein.models.memory import touched
from skein.models.ownership import effect_kept_until
from skein.models.storage import Item, Key, Missing, Put, Write
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import check_document_change, optimistic, transact_guarded
from skein.services.common.pagination import DEFAULT_PAGE, Listing, items_under, list_partition
from skein.services.workspace.document_edits import (
    OPERATOR,
    Author,
    Change,
    Revision,
    Stamp,
    changed_document,
    chat_key,
    check_version,
    new_document,
    revised_text,
)
from skein.services.workspace.document_names import threads_renamed, under_free_name

ROWS = 10  # read at once: a document may be large
TAKEN = "there is a document of this name already"


class Place(NamedTuple):
    """Where a document stands in such a list.

    Attributes:
        folder: Of `DocumentReach.folders`, counted from 0.
        id: The document's.
    """

    folder: int
    id: str


class Shown(NamedTuple):
    """One page: documents by where they stand, and whether others follow."""

    documents: dict[Place, Document]
    more: bool


def list_shown(
    table: Table, reach: DocumentReach, *, limit: int, after: Place | None = None
) -> Shown:
    """The documents within reach that may be shown, folder after folder; others leave no gap.

    Args:
        table: Where they live.
        reach: What is looked through.
        limit: How many to show at most.
        after: Where an earlier page ended.
    """
    found = list(islice(_shown(table, reach, after), limit + 1))
    return Shown(dict(found[:limit]), len(found) > limit)


def _shown(
    table: Table, reach: DocumentReach, after: Place | None
) -> Iterator[tuple[Place, Document]]:
    for number, folder in enumerate(reach.folders):
        behind = folder.key(after.id).sk if after and number == after.folder else None
        if after is not None and number < after.folder:
            continue
        for item in items_under(table, folder.partition, Document.PREFIX, after=behind, rows=ROWS):
            document = Document.from_item(item)
            if reach.shows(document):
                yield Place(number, document.id), document


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Keeps agents' and chats' documents."""

    table: Table
    clock: Clock
    ids: Ids

    def get(self, reach: DocumentReach, name: str) -> Document:
        """One document by its name or id.

        Raises:
            NotFound: There is none within reach.
        """
        found = self.table.get_many([folder.key(name) for folder in reach.folders])
        document = _first(found, reach, name)
        if document is None:
            raise NotFound("there is no such document")
        return document

    def of_chat(self, tenant: str, chat_id: str) -> Folder:
        """Where a chat's documents are kept.

        Raises:
            NotFound: There is no such chat.
        """
        folder = Folder(tenant=tenant, chat_id=chat_id)
        if self.table.get(chat_key(folder)) is None:
            raise NotFound("there is no such chat")
        return folder

    def list(
        self, folder: Folder, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Document]:
        """A page of the documents in one folder, for operators, in an order that stays.

        Raises:
            Invalid: The cursor is not one of this list.
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
    ) -> Shown:
        """A page of the documents within reach, for agents; see `list_shown`."""
        return list_shown(self.table, reach, limit=limit, after=after and Place(*after))

    def write(
        self,
        reach: DocumentReach,
        name: str,
        text: str,
        *,
        new_in: Folder | None = None,
        only_new: bool = False,
        media_type: str | None = None,
        on_show: bool | None = None,
        version: int | None = None,
        maker: Author = OPERATOR,
    ) -> Done:
        """Make a document, or put another text in the place of its text.

        One of its name that may not be shown there gives way, and goes by another name.

        Args:
            reach: Where it may be already.
            name: Its name; its id will do where it is already.
            text: All of it, at most 256 KiB of UTF-8.
            new_in: Where it is made if it is not within reach; one of the folders of `reach`. None
                if it must be there.
            only_new: It must not be there.
            media_type: None leaves it, and is Markdown for a new one.
            on_show: Whether it is shown whatever the agent is at; None leaves it.
            version: It must be at this version.
            maker: On whose behalf.

        Raises:
            NotFound: There is none within reach, and none may be made.
            Conflict: There is one already, it is at another version, it may not be changed from
                here, or too many would always be on show.
            TooLarge: The text holds more than a document may.
            Unprocessable: A value does not fit.
            LostLease: The guard does not hold.
        """
        revision = Revision(media_type=media_type, on_show=on_show, version=version)

        def make(before: Document | None, folder: Folder) -> Document:
            if before is None:
                return new_document(folder, name, text, revision, maker, self._stamp())
            if only_new:
                raise Conflict(TAKEN)
            return changed_document(before, text, revision, maker, self._stamp())

        return self._change(reach, name, make, maker, new_in=new_in)

    def revise(
        self, reach: DocumentReach, name: str, revision: Revision, *, maker: Author = OPERATOR
    ) -> Done:
        """Append to a document, put one part in the place of another, or show it always or not.

        Args:
            reach: Where to look for it.
            name: Its name or id.
            revision: What is to change.
            maker: On whose behalf.

        Raises:
            NotFound: There is no such document within reach.
            Conflict: It is at another version, may not be changed from here, or too many would
                always be on show.
            TooLarge: The text would hold more than a document may.
            Unprocessable: What is to be found stands there not once, or a value does not fit.
            LostLease: The guard does not hold.
        """

        def make(before: Document | None, folder: Folder) -> Document:
            if before is None:
                raise NotFound("there is no such document")
            check_version(before, revision.version)
            text = revised_text(before.text, revision)
            return changed_document(before, text, revision, maker, self._stamp())

        return self._change(reach, name, make, maker)

    def delete(
        self,
        reach: DocumentReach,
        name: str,
        *,
        version: int | None = None,
        maker: Author = OPERATOR,
    ) -> Done:
        """Remove a document for good.

        Raises:
            NotFound: There is no such document within reach.
            Conflict: It is at another version, or may not be changed from here.
            LostLease: The guard does not hold.
        """

        def make(before: Document | None, folder: Folder) -> None:
            if before is not None:
                check_version(before, version)

        return self._change(reach, name, make, maker)

    def _change(
        self,
        reach: DocumentReach,
        name: str,
        make: Callable[[Document | None, Folder], Document | None],
        maker: Author,
        *,
        new_in: Folder | None = None,
    ) -> Done:
        """Change one document once, on a fresh reading; an effect done before changes nothing."""

        def shown_in(home: Folder) -> Callable[[tuple[str, ...]], int]:
            def count(ids: tuple[str, ...]) -> int:
                found = self.table.get_many([home.key(each) for each in ids]).values()
                return sum(reach.shows(Document.from_item(item)) for item in found)

            return count

        def attempt() -> Done:
            found = self.table.get_many(list(_keys(reach, name, maker.effect)))
            for folder in reach.folders:
                mark = maker.effect and found.get(folder.effect_key(maker.effect))
                if mark:
                    return Done.from_item(mark)
            before = _first(found, reach, name)
            home = before.folder if before is not None else new_in
            if home is None:
                raise NotFound("there is no such document")
            if before is not None:
                check_document_change(reach, before)
            change = Change(home, before, make(before, home), found, shown_in(home))
            standing = found.get(home.key(name))
            if before is not None or standing is None:
                return self._commit(change, maker)
            hidden = Document.from_item(standing)
            renamed = under_free_name(self.table, hidden, home, first=2)
            listed = threads_renamed(self.table, hidden, renamed, reach)
            return self._commit(change._replace(hidden=hidden, renamed=renamed), maker, listed)

        return optimistic(self.clock, attempt)

    def _commit(self, change: Change, maker: Author, further: Sequence[Write] = ()) -> Done:
        """Write what was changed, what is on show, and that it was done."""
        home, known = change.home, change.after or change.before
        if known is None:
            raise NotFound("there is no such document")
        writes = [*change.writes(known), *further]
        length = len(change.after.text) if change.after is not None else 0
        done = Done(deed=change.deed, name=known.name, version=known.version, characters=length)
        if maker.effect is not None:
            kept_until = effect_kept_until(self.clock.now())
            mark = done.attributes() | {"expires_at": kept_until}
            writes.append(Put(home.effect_key(maker.effect), mark, Missing()))
        if home.agent_id is not None:
            writes.append(touched(home.tenant, home.agent_id, home.scope))
        transact_guarded(self.table, writes, maker.guard)
        return done

    def _stamp(self) -> Stamp:
        return Stamp(self.clock.now(), self.ids.ulid())


def _keys(reach: DocumentReach, name: str, effect: str | None) -> set[Key]:
    keys = {folder.key(name) for folder in reach.folders}
    keys |= {chat_key(each) if each.chat_id else each.shelf_key for each in reach.folders}
    if effect is not None:
        keys |= {folder.effect_key(effect) for folder in reach.folders}
    return keys


def _first(found: dict[Key, Item], reach: DocumentReach, name: str) -> Document | None:
    """The first document of this name that may be shown."""
    keys = [folder.key(name) for folder in reach.folders]
    documents = [Document.from_item(found[key]) for key in keys if key in found]
    return next((each for each in documents if reach.shows(each)), None)
