"""Threads: made, taken up, carried on and ended, each change resting on the bench that was read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skein.errors import Conflict
from skein.models.document import Document
from skein.models.ownership import Owner, Reach, effect_kept_until, effect_key
from skein.models.storage import Delete, Is, Key, Missing, Put, Write
from skein.models.thread import (
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
    """Keeps agents' threads."""

    table: Table
    clock: Clock
    ids: Ids
    settings: Settings

    # ------------------------------------------------------------------ looking

    def get(self, reach: Reach, thread_id: str) -> Thread:
        """One thread, open or ended.

        Raises:
            NotFound: There is no such thread within reach.
        """
        return Found.read(self.table, reach, thread_id).thread()

    def active_id(self, reach: Reach) -> str | None:
        """The id of the thread that is active there; see `switch`."""
        return Found.read(self.table, reach, None).bench(reach.scopes[-1]).active_thread_id

    def stints(self, thread: Thread) -> tuple[ThreadRunLink, ...]:
        """The activations that worked with it active, the latest last."""
        prefix = ThreadRunLink.prefix_of(thread.id)
        page = self.table.query(thread.ended_key.pk, first=prefix, last=f"{prefix}~")
        return tuple(
            sorted(map(ThreadRunLink.from_item, page.items), key=lambda each: each.shown_at)
        )

    def documents(
        self, reach: Reach, thread: Thread, names: Sequence[str]
    ) -> dict[str, Document | None]:
        """Documents of a thread by their names; None where one is gone, or may not be shown."""
        return ThreadResources(self.table, reach.place).look(thread, names)

    def list(
        self,
        reach: Reach,
        *,
        status: ThreadStatus | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Thread]:
        """A page of the threads in one partition, open ones first.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        return list_threads(self.table, reach, status, limit=limit, cursor=cursor)

    # ------------------------------------------------------------------ doing

    def create(
        self,
        owner: Owner,
        fields: Mapping[str, Any],
        *,
        reach: Reach | None = None,
        thread_id: str | None = None,
        maker: Author = OPERATOR,
    ) -> Thread:
        """Begin a thread, which does not make it the active one.

        Where its mode or its tags are not given, they follow from its documents.

        Args:
            owner: Whose, and where it is made.
            fields: Of `Thread`: at least its `concern`.
            reach: What is shown there; without it, all that the owner keeps in that partition.
            thread_id: Its id; for a run's effect one that is the same on every attempt, so that
                doing it again changes nothing. None for a new one.
            maker: On whose behalf.

        Raises:
            NotFound: A document or a skill is not there.
            Conflict: As many as may are open.
            TooLarge: The open threads would hold too much text.
            Unprocessable: A value does not fit.
            LostLease: The guard does not hold.
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
        """Change one open thread, on a fresh reading; once, where it is a run's effect.

        One that is ended by it is active no more.

        Args:
            reach: Where to look for it.
            thread_id: Which.
            change: What becomes of it; see `thread_changes`.
            maker: On whose behalf.

        Raises:
            NotFound: There is no such thread, or no such document or skill.
            Conflict: It has ended, or may not be changed from here.
            TooLarge: The open threads would hold too much text.
            Unprocessable: A value does not fit.
            LostLease: The guard does not hold.
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
        """Make an open thread the active one there; None makes none active.

        Only the bench of the place itself is written. A thread that may not be changed from there
        stays as it is: it is not noted as of the chat, and its export does not get the run.

        Args:
            reach: Where to look for it; its last scope is that of the place.
            thread_id: Which.
            maker: On whose behalf.

        Raises:
            NotFound: There is no such thread within reach.
            Conflict: It has ended.
            LostLease: The guard does not hold.
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
        """Change a thread as an operator asks for it; see `ThreadChange`.

        Raises:
            NotFound: There is no such thread, document or skill.
            Conflict: It has ended.
            Unprocessable: Values do not fit, or not together.
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
        """Remove a thread for good, open or ended, and what is known of the runs at it.

        Raises:
            NotFound: There is no such thread within reach.
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
        """Carry out writes in one partition, with the mark of the effect that they are."""
        owned = (there.tenant, there.agent_id, there.scopes[0])
        everything = list(writes)
        if maker.effect is not None and thread is not None:
            kept_until = effect_kept_until(self.clock.now())
            done = ThreadDone(thread_id=thread.id).attributes() | {"expires_at": kept_until}
            everything.append(Put(effect_key(*owned, maker.effect), done, Missing()))
        transact_guarded(self.table, everything, maker.guard)
