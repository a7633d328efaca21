"""Threads: create, switch, change, end and delete them; at most one is active in a scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skein.models.common.storage import Delete, Key, Put, Query, Write
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner, Reach
from skein.ports import Clock, Ids
from skein.services.common.optimistic import invalid_arguments, optimistic, transact_guarded
from skein.services.items.store import OwnedStore
from skein.settings import Settings
from skein.workspace.document_edits import OPERATOR, Author, material_of
from skein.workspace.models.document import Document
from skein.workspace.models.thread import (
    MAX_KEPT_OPEN_THREADS,
    ActiveThread,
    Thread,
    ThreadRunLink,
)
from skein.workspace.thread_changes import (
    ThreadEdit,
    ThreadResources,
    check_open,
    operators,
    with_inferred,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads(OwnedStore[Thread]):
    """Storage of agents' threads."""

    ids: Ids
    settings: Settings

    @property
    def kind(self) -> type[Thread]:
        return Thread

    @property
    def limit(self) -> int:
        """The maximum number of open threads that may be shown to the same readers."""
        return self.settings.max_open_threads

    @property
    def max_kept(self) -> int:
        """The maximum number of open threads in a partition, including hidden ones."""
        return MAX_KEPT_OPEN_THREADS

    # ------------------------------------------------------------------ reading

    def active_id(self, reach: Reach) -> str | None:
        """Return the id of the thread that is active in the last scope of `reach`, or None."""
        thread = ActiveThread.read(self.table, _active_key(reach))
        if thread is None:
            return None
        thread_id = thread.thread_id
        owned = ((reach.tenant, reach.agent_id, scope) for scope in reach.scopes)
        still_open = self.table.get_many([Thread.key_of(*each, thread_id) for each in owned])
        return thread_id if still_open else None

    def run_links(self, thread: Thread) -> tuple[ThreadRunLink, ...]:
        """List the activations in which the thread was active, oldest first."""
        prefix = ThreadRunLink.prefix_of(thread.id)
        page = self.table.query(Query.under(thread.key.pk, prefix))
        return tuple(sorted(ThreadRunLink.each_of(page.items), key=lambda each: each.shown_at))

    def documents(
        self, reach: Reach, thread: Thread, names: Sequence[str]
    ) -> dict[str, Document | None]:
        """Get a thread's documents by name. A deleted or hidden document is None."""
        return ThreadResources(self.table, reach).look(thread, names)

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
            owner: The agent and the place where the thread is created.
            fields: Fields of `Thread`; `concern` is required.
            reach: Decides what may be shown to the readers. Without it, everything in the owner's
                partition may be shown.
            thread_id: The thread's id. A run's effect passes the same id on every attempt, which
                makes the call idempotent. None generates an id.
            author: The author of the change.

        Raises:
            NotFound: A document or skill does not exist.
            Conflict: The maximum number of threads is open.
            Unprocessable: A value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """
        draft = self._draft(owner, fields, thread_id or f"thr_{self.ids.ulid()}")
        shown = reach or owner.reach
        resources = ThreadResources(self.table, shown)
        documents = resources.documents(draft, draft.documents)
        heads = resources.skills(draft.tenant, draft.bound_skills)
        thread = with_inferred(draft, documents, heads).in_chat(owner.source_chat_id)
        return self.insert(thread, shown, guard=author.guard)

    def _draft(self, owner: Owner, fields: Mapping[str, Any], thread_id: str) -> Thread:
        now = self.clock.now()
        given = {name: value for name, value in fields.items() if value not in (None, "", ())}
        try:
            return Thread(
                **dict(owner), **given, id=thread_id, status="open", created_at=now, updated_at=now
            )
        except ValidationError as error:
            raise invalid_arguments(error) from None

    def change(
        self, reach: Reach, thread_id: str, change: ThreadEdit, *, author: Author = OPERATOR
    ) -> Thread:
        """Change an open thread with an optimistic lock; a repeated effect is a no-op.

        A change that ends the active thread leaves no thread active.

        Args:
            reach: The partitions in which to look for the thread.
            change: A function that takes the thread and returns the changed thread; see
                `thread_changes`.
            author: The author of the change.

        Raises:
            NotFound: The thread, a document or a skill does not exist.
            Conflict: The thread has ended, or the caller may not change it.
            Unprocessable: A value is invalid.
            LostLease: The guard fails: another worker has claimed the run.
        """
        resources = ThreadResources(self.table, reach)

        def edited(before: Thread) -> Thread:
            check_open(before)
            after = change(before, resources)
            if after == before:
                return before
            return after.in_chat(author.source_chat_id).model_copy(
                update={
                    "updated_at": self.clock.now(),
                    "authors": before.authors.joined(author.authors),
                    "made_from": material_of(before, author),
                    "source_run_id": author.source_run_id or before.source_run_id,
                }
            )

        return self.edit(reach, thread_id, edited, effect=author.effect, guard=author.guard)

    def switch(
        self, reach: Reach, thread_id: str | None, *, author: Author = OPERATOR
    ) -> Thread | None:
        """Make an open thread the active one; None makes no thread active.

        The thread becomes active only in the last scope of `reach`. The open scope belongs to all
        open chats, so a run that was shown words of outsiders cannot make a thread active in the
        open scope.

        If the thread is in that same scope, and all people who may see it were present for the
        content of the run, the run is added to the thread's export. The chat of the change is then
        also added to `chat_ids`, if the caller may change the thread.

        Args:
            reach: The partitions in which to look for the thread; the thread becomes active in the
                last scope.
            author: The author of the change.

        Raises:
            NotFound: The thread does not exist, or the caller may not access it.
            Conflict: The thread has ended.
            LostLease: The guard fails: another worker has claimed the run.
        """
        if thread_id is None:
            transact_guarded(self.table, [Delete(_active_key(reach))], author.guard)
            return None
        here = reach.scopes[-1]

        def attempt() -> Thread:
            found = self.read(reach, [thread_id], effect=author.effect)
            if found.done is not None:
                return found.done
            thread = found.get(thread_id)
            check_open(thread)
            active = ActiveThread(thread_id=thread.id)
            writes: list[Write] = []
            if here is not None or reach.readers is None or not reach.actor.outsiders:
                writes.append(Put(_active_key(reach), active.attributes()))
            if thread.scope == here and reach.covers(thread):
                if author.source_run_id is not None and author.activation is not None:
                    worked = (author.source_run_id, author.activation, author.audience)
                    writes.append(run_link(thread, *worked, self.clock))
                before, named = thread, thread.in_chat(author.source_chat_id)
                if named != before and reach.changes(before):
                    thread = named.model_copy(update={"version": before.version + 1})
                    writes += found.writes(before, thread)
            writes += found.record(thread, here, self.clock.now())
            transact_guarded(self.table, writes, author.guard)
            return thread

        return optimistic(self.clock, attempt)

    def revise(self, reach: Reach, thread_id: str, given: Mapping[str, Any]) -> Thread:
        """Apply an operator's changes to a thread; see `ThreadChange`.

        Raises:
            NotFound: The thread, a document or a skill does not exist.
            Conflict: The thread has ended and the change does not reopen it, or too many threads
                are open.
            Unprocessable: A value is invalid, or the values contradict each other.
        """
        if given.get("status") == Thread.LIVE_STATUS:
            self.edit(reach, thread_id, Thread.restored)
            given = {name: value for name, value in given.items() if name != "status"}
        thread = self.get(reach, thread_id)
        change = operators(given, self.clock.now())
        if change is not None:
            thread = self.change(reach, thread_id, change)
        if given.get("active") is not None:
            is_active = self.active_id(reach) == thread_id
            if is_active != given["active"]:
                self.switch(reach, None if is_active else thread_id)
        return thread

    def delete(self, reach: Reach, item_id: str) -> Thread:
        """Delete a thread permanently, open or ended, and its links to runs.

        Raises:
            NotFound: The thread does not exist, or the caller may not access it.
        """
        thread = OwnedStore.delete(self, reach, item_id)
        prefix = ThreadRunLink.prefix_of(thread.id)
        for item in self.table.query(Query.under(thread.key.pk, prefix)).items:
            self.table.write(Delete(Key(item["pk"], item["sk"])))
        return thread


def run_link(
    thread: Thread, run_id: str, activation: int, audience: Audience, clock: Clock
) -> Write:
    """Return the write that links an activation to a thread (idempotent, except `shown_at`).

    Args:
        thread: The thread that was active.
        run_id: The activation's run.
        activation: The number of the activation in the run.
        audience: The audience of everything that the activation was shown.
        clock: Provides `shown_at`.
    """
    link = ThreadRunLink(
        thread_id=thread.id,
        run_id=run_id,
        activation=activation,
        audience=audience,
        shown_at=clock.now(),
    )
    owned = (thread.tenant, thread.agent_id, thread.scope)
    return Put(ThreadRunLink.key_of(*owned, thread.id, run_id, activation), link.attributes())


def _active_key(reach: Reach) -> Key:
    return ActiveThread.key_of(reach.tenant, reach.agent_id, reach.scopes[-1])
