"""Threads: create, switch, change, end and delete them, with optimistic locks on the index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skein.errors import Conflict, Invalid
from skein.models.common.ownership import Owner, Reach, effect_kept_until, effect_key
from skein.models.common.storage import Delete, Is, Item, Key, Missing, Put, Query, Write
from skein.models.workspace.document import Document
from skein.models.workspace.thread import (
    ENDED_THREAD,
    MAX_KEPT_OPEN_THREADS,
    Thread,
    ThreadEffect,
    ThreadIndex,
    ThreadRunLink,
    ThreadStatus,
)
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import invalid_arguments, optimistic, transact_guarded
from skein.services.common.pagination import DEFAULT_PAGE, Listing, RowCursor, list_partition
from skein.services.items.store import FULL, check_change
from skein.services.workspace.document_edits import OPERATOR, Author, material_of
from skein.services.workspace.thread_changes import (
    ThreadEdit,
    ThreadResources,
    operators,
    with_inferred,
)
from skein.services.workspace.thread_storage import ThreadSnapshot, at, moved, put, run_link
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Storage of agents' threads."""

    table: Table
    clock: Clock
    ids: Ids
    settings: Settings

    # ------------------------------------------------------------------ reading

    def get(self, reach: Reach, thread_id: str) -> Thread:
        """Get a thread, open or ended.

        Raises:
            NotFound: The thread is not within reach.
        """
        return ThreadSnapshot.read(self.table, reach, thread_id).thread()

    def active_id(self, reach: Reach) -> str | None:
        """Return the id of the active thread in the last scope of `reach`; see `switch`."""
        return (
            ThreadSnapshot.read(self.table, reach, None).index_of(reach.scopes[-1]).active_thread_id
        )

    def run_links(self, thread: Thread) -> tuple[ThreadRunLink, ...]:
        """List the activations that worked with this thread active, oldest first."""
        prefix = ThreadRunLink.prefix_of(thread.id)
        page = self.table.query(Query.under(thread.ended_key.pk, prefix))
        return tuple(
            sorted(map(ThreadRunLink.from_item, page.items), key=lambda each: each.shown_at)
        )

    def documents(
        self, reach: Reach, thread: Thread, names: Sequence[str]
    ) -> dict[str, Document | None]:
        """Get a thread's documents by name; None for a deleted or hidden one."""
        return ThreadResources(self.table, reach.readers).look(thread, names)

    def list(
        self,
        reach: Reach,
        *,
        status: ThreadStatus | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Thread]:
        """List a page of one partition's threads: open ones by id, then ended ones.

        Args:
            reach: The agent, and the partition as its first scope.
            status: List only threads of this status.

        Raises:
            Invalid: The cursor belongs to another list.
        """
        after = _open_position(cursor, only_open=status == "open")
        opened: list[Thread] = []
        if status in {None, "open"} and (cursor is None or after is not None):
            index = ThreadSnapshot.read(self.table, reach, None).index_of(reach.scopes[0])
            shown = [thread for thread in index.threads if reach.shows(thread)]
            # By id, so that the cursor stays valid after its thread has ended.
            later = [thread for thread in shown if after is None or thread.id > after]
            opened = sorted(later, key=lambda thread: thread.id)
            if len(opened) > limit:
                page = tuple(opened[:limit])
                return Listing(page, RowCursor(of="open_threads", after=page[-1].id).encode())
        if status == "open":
            return Listing(tuple(opened), None)

        def read(item: Item) -> Thread | None:
            thread = Thread.from_item(item)
            return thread if reach.shows(thread) and status in {None, thread.status} else None

        rest = limit - len(opened)
        if rest == 0:
            return Listing(
                tuple(opened), RowCursor(of="open_threads", after=opened[-1].id).encode()
            )
        further = None if after is not None else cursor
        ended = list_partition(
            self.table, reach.partition, [ENDED_THREAD], read, limit=rest, cursor=further
        )
        return Listing((*opened, *ended.items), ended.next_cursor)

    # ------------------------------------------------------------------ writing

    def create(
        self,
        owner: Owner,
        fields: Mapping[str, Any],
        *,
        reach: Reach | None = None,
        thread_id: str | None = None,
        author: Author = OPERATOR,
    ) -> Thread:
        """Create an open thread; the active thread stays the same.

        A missing mode and missing skill tags are inferred from the thread's documents.

        Args:
            owner: The agent and the place in which the thread is created.
            fields: Fields of `Thread`; `concern` is required.
            reach: Decides what may be shown to the readers. Without it, everything in the owner's
                partition may be shown.
            thread_id: The thread's id. A run's effect passes the same id on every attempt, which
                makes the call idempotent. None generates an id.
            author: The author of the change.

        Raises:
            NotFound: A document or skill does not exist.
            Conflict: The maximum number of threads is open.
            TooLarge: The open threads would hold too much text.
            Unprocessable: A value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """
        draft = self._draft(owner, fields, thread_id or f"thr_{self.ids.ulid()}")
        shown = reach or owner.reach
        resources = ThreadResources(self.table, shown.readers)
        documents = resources.documents(draft, draft.documents)
        heads = resources.skills(draft.tenant, draft.bound_skills)
        thread = with_inferred(draft, documents, heads).in_chat(owner.source_chat_id)

        def attempt() -> Thread:
            found = ThreadSnapshot.read(self.table, owner.reach, thread.id)
            before = found.anywhere()
            if before is not None:
                return before
            index = found.index_of(owner.scope)
            self._check_limit(index, shown)
            there = at(shown, owner.scope)
            self._commit(there, [put(there, index, index.with_thread(thread))], author)
            return thread

        return optimistic(self.clock, attempt)

    def _draft(self, owner: Owner, fields: Mapping[str, Any], thread_id: str) -> Thread:
        now = self.clock.now()
        given = {name: value for name, value in fields.items() if value not in (None, "", ())}
        try:
            return Thread(
                **dict(owner),
                **given,
                id=thread_id,
                created_at=now,
                started_at=now,
                updated_at=now,
            )
        except ValidationError as error:
            raise invalid_arguments(error) from None

    def _check_limit(self, index: ThreadIndex, reach: Reach) -> None:
        shown = sum(reach.shows(thread) for thread in index.threads)
        if shown >= self.settings.max_open_threads:
            raise Conflict(f"{shown} threads are already open; complete or archive one first")
        if len(index.threads) >= MAX_KEPT_OPEN_THREADS:
            raise Conflict(FULL)

    def change(
        self, reach: Reach, thread_id: str, change: ThreadEdit, *, author: Author = OPERATOR
    ) -> Thread:
        """Change an open thread with an optimistic lock; a repeated effect is a no-op.

        A change that ends the active thread leaves no thread active.

        Args:
            reach: The partitions in which to look for the thread.
            change: A function from the thread as read to the changed thread; see `thread_changes`.
            author: The author of the change.

        Raises:
            NotFound: The thread, a document or a skill does not exist.
            Conflict: The thread has ended, or may not be changed from here.
            TooLarge: The open threads would hold too much text.
            Unprocessable: A value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """
        resources = ThreadResources(self.table, reach.readers)

        def attempt() -> Thread:
            found = ThreadSnapshot.read(self.table, reach, thread_id, author.effect)
            if found.done is not None:
                return found.thread()
            before = found.open_thread()
            check_change(reach, before)
            after = change(before, resources)
            if after == before:
                return before
            after = after.in_chat(author.source_chat_id).model_copy(
                update={
                    "version": before.version + 1,
                    "updated_at": self.clock.now(),
                    "authors": before.authors.joined(author.authors),
                    "made_from": material_of(before, author),
                    "source_run_id": author.source_run_id or before.source_run_id,
                }
            )
            there = at(reach, before.scope)
            self._commit(there, moved(there, found, after), author, after)
            return after

        return optimistic(self.clock, attempt)

    def switch(
        self, reach: Reach, thread_id: str | None, *, author: Author = OPERATOR
    ) -> Thread | None:
        """Make an open thread the active one; None makes no thread active.

        Only the thread index of the last scope is written. A thread on another thread index, or one
        that may not be changed from here, stays unchanged: its `chat_ids` do not get this chat, and
        its export does not get the run.

        Args:
            reach: The partitions in which to look for the thread; the last scope is the
                place's own.
            author: The author of the change.

        Raises:
            NotFound: The thread is not within reach.
            Conflict: The thread has ended.
            LostLease: The guard fails: another worker has claimed the run.
        """
        here = at(reach, reach.scopes[-1])

        def attempt() -> Thread | None:
            found = ThreadSnapshot.read(self.table, reach, thread_id, author.effect)
            if found.done is not None:
                return found.anywhere()
            index = found.index_of(here.scopes[0])
            after = index.switched_to(thread_id)
            thread = None if thread_id is None else found.open_thread()
            writes: list[Write] = []
            if thread is not None and thread.scope == here.scopes[0] and reach.changes(thread):
                thread = thread.in_chat(author.source_chat_id)
                after = after.with_thread(thread)
                if author.source_run_id is not None and author.activation is not None:
                    worked = (author.source_run_id, author.activation, author.audience)
                    writes.append(run_link(thread, *worked, self.clock))
            writes.append(put(here, index, after))
            self._commit(here, writes, author, thread)
            return thread

        return optimistic(self.clock, attempt)

    def revise(self, reach: Reach, thread_id: str, given: Mapping[str, Any]) -> Thread:
        """Apply an operator's changes to a thread; see `ThreadChange`.

        Raises:
            NotFound: The thread, a document or a skill does not exist.
            Conflict: The thread has ended.
            Unprocessable: A value is invalid, or the values contradict each other.
        """
        thread = self.get(reach, thread_id)
        change = operators(given, self.clock.now())
        if change is not None:
            thread = self.change(reach, thread_id, change)
        if given.get("active") is not None:
            is_active = self.active_id(reach) == thread_id
            if is_active != given["active"]:
                self.switch(reach, None if is_active else thread_id)
        return thread

    def delete(self, reach: Reach, thread_id: str) -> None:
        """Delete a thread permanently, open or ended, and its links to runs.

        Raises:
            NotFound: The thread is not within reach.
        """

        def attempt() -> Thread:
            found = ThreadSnapshot.read(self.table, reach, thread_id)
            thread = found.thread()
            there, index = at(reach, thread.scope), found.index_of(thread.scope)
            write: Write = Delete(thread.ended_key, Is("version", thread.version))
            if thread.status == "open":
                write = put(there, index, index.without(thread_id))
            self._commit(there, [write], OPERATOR)
            return thread

        thread = optimistic(self.clock, attempt)
        prefix = ThreadRunLink.prefix_of(thread_id)
        for item in self.table.query(Query.under(thread.ended_key.pk, prefix)).items:
            self.table.write(Delete(Key(item["pk"], item["sk"])))

    def _commit(
        self, there: Reach, writes: Sequence[Write], author: Author, thread: Thread | None = None
    ) -> None:
        """Write to one partition in a transaction, with the effect's record."""
        owned = (there.tenant, there.agent_id, there.scopes[0])
        everything = list(writes)
        if author.effect is not None and thread is not None:
            kept_until = effect_kept_until(self.clock.now())
            done = ThreadEffect(thread_id=thread.id).attributes() | {"expires_at": kept_until}
            everything.append(Put(effect_key(*owned, author.effect), done, Missing()))
        transact_guarded(self.table, everything, author.guard)


def _open_position(cursor: str | None, *, only_open: bool) -> str | None:
    """Return the id of the last open thread of the previous page; None without one.

    Raises:
        Invalid: The cursor belongs to another list, and `only_open` is set.
    """
    try:
        return RowCursor.key_in(cursor, "open_threads")
    except Invalid:
        if only_open:
            raise
        return None
