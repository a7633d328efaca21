"""Threads: create, switch, change, end and delete them, with optimistic locks on the workbench."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skein.errors import Conflict
from skein.models.common.ownership import Owner, Reach, effect_kept_until, effect_key
from skein.models.common.storage import Delete, Is, Key, Missing, Put, Write
from skein.models.workspace.document import Document
from skein.models.workspace.thread import (
    MAX_KEPT_ON_BENCH,
    Thread,
    ThreadDone,
    ThreadRunLink,
    ThreadStatus,
    Workbench,
)
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import check_change, optimistic, transact_guarded, unfit
from skein.services.common.pagination import DEFAULT_PAGE, FULL, Listing
from skein.services.workspace.document_edits import OPERATOR, Author
from skein.services.workspace.thread_changes import (
    Change,
    ThreadResources,
    operators,
    with_inferred,
)
from skein.services.workspace.thread_lists import list_threads
from skein.services.workspace.thread_storage import Found, at, moved, put, stint
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
        return Found.read(self.table, reach, thread_id).thread()

    def active_id(self, reach: Reach) -> str | None:
        """Return the id of the active thread in the last scope of `reach`; see `switch`."""
        return Found.read(self.table, reach, None).bench(reach.scopes[-1]).active_thread_id

    def stints(self, thread: Thread) -> tuple[ThreadRunLink, ...]:
        """List the activations that worked with this thread active, oldest first."""
        prefix = ThreadRunLink.prefix_of(thread.id)
        page = self.table.query(thread.ended_key.pk, first=prefix, last=f"{prefix}~")
        return tuple(
            sorted(map(ThreadRunLink.from_item, page.items), key=lambda each: each.shown_at)
        )

    def documents(
        self, reach: Reach, thread: Thread, names: Sequence[str]
    ) -> dict[str, Document | None]:
        """Get a thread's documents by name; None for a deleted or hidden one."""
        return ThreadResources(self.table, reach.place).look(thread, names)

    def list(
        self,
        reach: Reach,
        *,
        status: ThreadStatus | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Thread]:
        """List a page of one partition's threads, open ones first.

        Raises:
            Invalid: The cursor belongs to another list.
        """
        return list_threads(self.table, reach, status, limit=limit, cursor=cursor)

    # ------------------------------------------------------------------ writing

    def create(
        self,
        owner: Owner,
        fields: Mapping[str, Any],
        *,
        reach: Reach | None = None,
        thread_id: str | None = None,
        maker: Author = OPERATOR,
    ) -> Thread:
        """Create an open thread; the active thread stays the same.

        A missing mode and missing skill tags are inferred from the thread's documents.

        Args:
            owner: The agent and the place in which the thread is created.
            fields: Fields of `Thread`; `concern` is required.
            reach: Decides what may be shown in this place. Without it, everything in the owner's
                partition may be shown.
            thread_id: The thread's id. A run's effect passes the same id on every attempt, which
                makes the call idempotent. None generates an id.
            maker: The author of the change.

        Raises:
            NotFound: A document or skill does not exist.
            Conflict: The maximum number of threads is open.
            TooLarge: The open threads would hold too much text.
            Unprocessable: A value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """
        draft = self._draft(owner, fields, thread_id or f"thr_{self.ids.ulid()}")
        shown = reach or owner.reach
        around = ThreadResources(self.table, shown.place)
        documents = around.documents(draft, draft.documents)
        heads = around.skills(draft.tenant, draft.bound_skills)
        thread = with_inferred(draft, documents, heads).in_chat(owner.source_chat_id)

        def attempt() -> Thread:
            found = Found.read(self.table, owner.reach, thread.id)
            before = found.anywhere()
            if before is not None:
                return before
            bench = found.bench(owner.scope)
            self._check_room(bench, shown)
            there = at(shown, owner.scope)
            self._commit(there, [put(there, bench, bench.with_thread(thread))], maker)
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
            raise unfit(error) from None

    def _check_room(self, bench: Workbench, reach: Reach) -> None:
        shown = sum(reach.shows(thread) for thread in bench.threads)
        if shown >= self.settings.max_open_threads:
            raise Conflict(f"{shown} threads are open already; complete or archive one first")
        if len(bench.threads) >= MAX_KEPT_ON_BENCH:
            raise Conflict(FULL)

    def change(
        self, reach: Reach, thread_id: str, change: Change, *, maker: Author = OPERATOR
    ) -> Thread:
        """Change an open thread with an optimistic lock; a repeated effect is a no-op.

        A change that ends the active thread leaves no thread active.

        Args:
            reach: The partitions in which to look for the thread.
            thread_id: The thread's id.
            change: A function from the thread as read to the changed thread; see `thread_changes`.
            maker: The author of the change.

        Raises:
            NotFound: The thread, a document or a skill does not exist.
            Conflict: The thread has ended, or may not be changed from here.
            TooLarge: The open threads would hold too much text.
            Unprocessable: A value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """
        around = ThreadResources(self.table, reach.place)

        def attempt() -> Thread:
            found = Found.read(self.table, reach, thread_id, maker.effect)
            if found.done is not None:
                return found.thread()
            before = found.open_thread()
            check_change(reach, before)
            after = change(before, around)
            if after == before:
                return before
            after = after.in_chat(maker.source_chat_id).model_copy(
                update={
                    "version": before.version + 1,
                    "updated_at": self.clock.now(),
                    "source_run_id": maker.source_run_id or before.source_run_id,
                }
            )
            there = at(reach, before.scope)
            self._commit(there, moved(there, found, after), maker, after)
            return after

        return optimistic(self.clock, attempt)

    def switch(
        self, reach: Reach, thread_id: str | None, *, maker: Author = OPERATOR
    ) -> Thread | None:
        """Make an open thread the active one; None makes no thread active.

        Only the workbench of the last scope is written. A thread on another workbench, or one that
        may not be changed from here, stays unchanged: its `chat_ids` do not get this chat, and its
        export does not get the run.

        Args:
            reach: The partitions in which to look for the thread; the last scope is the
                place's own.
            thread_id: The thread's id.
            maker: The author of the change.

        Raises:
            NotFound: The thread is not within reach.
            Conflict: The thread has ended.
            LostLease: The guard fails: another worker has claimed the run.
        """
        here = at(reach, reach.scopes[-1])

        def attempt() -> Thread | None:
            found = Found.read(self.table, reach, thread_id, maker.effect)
            if found.done is not None:
                return found.anywhere()
            bench = found.bench(here.scopes[0])
            after = bench.switched_to(thread_id)
            thread = None if thread_id is None else found.open_thread()
            writes: list[Write] = []
            if thread is not None and thread.scope == here.scopes[0] and reach.changes(thread):
                thread = thread.in_chat(maker.source_chat_id)
                after = after.with_thread(thread)
                if maker.source_run_id is not None:
                    worked = (maker.source_run_id, maker.activation, maker.audience)
                    writes.append(stint(thread, *worked, self.clock))
            writes.append(put(here, bench, after))
            self._commit(here, writes, maker, thread)
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
            found = Found.read(self.table, reach, thread_id)
            thread = found.thread()
            there, bench = at(reach, thread.scope), found.bench(thread.scope)
            write: Write = Delete(thread.ended_key, Is("version", thread.version))
            if thread.status == "open":
                write = put(there, bench, bench.without(thread_id))
            self._commit(there, [write], OPERATOR)
            return thread

        thread = optimistic(self.clock, attempt)
        prefix = ThreadRunLink.prefix_of(thread_id)
        for item in self.table.query(thread.ended_key.pk, first=prefix, last=f"{prefix}~").items:
            self.table.write(Delete(Key(item["pk"], item["sk"])))

    def _commit(
        self, there: Reach, writes: Sequence[Write], maker: Author, thread: Thread | None = None
    ) -> None:
        """Write to one partition in a transaction, with the effect's record."""
        owned = (there.tenant, there.agent_id, there.scopes[0])
        everything = list(writes)
        if maker.effect is not None and thread is not None:
            kept_until = effect_kept_until(self.clock.now())
            done = ThreadDone(thread_id=thread.id).attributes() | {"expires_at": kept_until}
            everything.append(Put(effect_key(*owned, maker.effect), done, Missing()))
        transact_guarded(self.table, everything, maker.guard)
