"""Agent data of an erased person: memories, goals, plans, documents, threads and effects.

The erasure deletes everything in the person's own scope. In a private chat's scope, the erasure
deletes items that may hold content of the person. An open item is deleted if it comes from the
person's words, was made in a chat in the person's presence, or names the person; an operator's item
is never deleted for a name. Watermarks are set back before the first deleted span, so that agents
consolidate those chats again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from skein.errors import NotFound
from skein.models.chats.chat import chat_partition, epoch_raised
from skein.models.common.agent_item import REVISION, touched
from skein.models.common.ownership import EFFECT, EFFECT_KEPT, owned_partition
from skein.models.common.storage import (
    META,
    Delete,
    Is,
    Item,
    Key,
    Put,
    Update,
    key_kind,
)
from skein.models.directory.agent import PERMITS
from skein.models.memory.memory import Memory
from skein.models.memory.reflection import REFLECTED
from skein.models.planning.goal import Goal
from skein.models.planning.plan import Plan
from skein.models.privacy.erasure import ErasedChat
from skein.models.recall.stored import Posting
from skein.models.runs.run import LIVE_RUN, Run
from skein.models.workspace.document import (
    LISTS,
    PINS,
    Document,
    DocumentReach,
)
from skein.models.workspace.thread import (
    ENDED_THREAD,
    OPEN_THREADS,
    RUN_LINK,
    ThreadIndex,
    ThreadRunLink,
)
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import items_under
from skein.services.items.store import replaced
from skein.services.privacy.erasure_rewind import ConsolidationRewind
from skein.services.privacy.erasure_sweep import Sweep
from skein.services.workspace.documents import Documents
from skein.settings import Settings

MINUTE = timedelta(minutes=1)  # tolerance: effect records store their time in whole seconds

# Items that hold no content: revision counters, and the ids of pinned documents.
BOOKKEEPING = (REVISION, PINS)
# Sort keys of an agent's open partition to skip: bookkeeping, or erased elsewhere.
NOT_KEPT = (*BOOKKEEPING, OPEN_THREADS, META, Run.PREFIX, LIVE_RUN, PERMITS)
OF_CHATS = (Document.PREFIX, EFFECT)  # items that a chat itself owns

# Attributes of memories, goals, plans, documents and threads in which people are named.
FREE_TEXTS = (
    *("text", "name", "instruction", "concern", "goal", "deliverable", "approach", "progress"),
    *("blocking", "evidence", "learned"),
)

KINDS = {
    Document.PREFIX.kind: "documents",
    EFFECT.kind: "effects",
    Memory.PREFIX.kind: "memories",
    Goal.PREFIX.kind: "goals",
    key_kind(LISTS): "lists",
    Plan.PREFIX.kind: "plans",
    Posting.PREFIX.kind: "postings",
    REFLECTED.kind: "reflections",
    RUN_LINK.kind: "run_links",
    ENDED_THREAD.kind: "threads",
}


class KeptEraser:
    """The stage `kept` of an erasure: agents' data about the person."""

    def __init__(
        self, *, table: Table, clock: Clock, documents: Documents, settings: Settings
    ) -> None:
        self._table = table
        self._documents = documents
        self._threads = ThreadEraser(table=table, clock=clock)
        self._rewind = ConsolidationRewind(table=table, clock=clock, settings=settings)

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase the data of each agent, then of each chat; yield each position."""
        agents = {agent for erased in sweep.chats.values() for agent in erased.agents}
        for agent_id in sorted(agents):
            if after is None or agent_id > after:
                self._erase_own_scope(sweep, agent_id)
                for erased in sweep.chats.values():
                    if erased.private and agent_id in erased.agents:
                        self._erase_private_chat(sweep, agent_id, erased)
                self._erase_open_scope(sweep, agent_id)
                yield agent_id
        for erased in sorted(sweep.chats.values(), key=lambda erased: erased.chat_id):
            position = f"~{erased.chat_id}"  # sorts after every agent
            if after is None or position > after:
                self._erase_items_of_chat(sweep, erased)
                yield position

    def _erase_own_scope(self, sweep: Sweep, agent_id: str) -> None:
        """Delete the person's own scope of an agent, revision counters and postings included."""
        for user_id in sweep.subject.ids:
            scope = f"user:{user_id}"
            for pk in (
                owned_partition(sweep.tenant, agent_id, scope),
                Posting.partition_of(sweep.tenant, agent_id, scope),
            ):
                for item in items_under(self._table, pk, ""):
                    self._table.write(Delete(Key(item["pk"], item["sk"])))
                    sweep.unsaved.counts[_kind(item)] += item["sk"] not in BOOKKEEPING

    def _erase_private_chat(self, sweep: Sweep, agent_id: str, erased: ErasedChat) -> None:
        scope = f"chat:{erased.chat_id}"
        pk = owned_partition(sweep.tenant, agent_id, scope)
        rests = partial(self._was_there, sweep, erased)
        self._threads.clear(sweep, agent_id, scope, rests)
        own = (*BOOKKEEPING, OPEN_THREADS)
        items = [item for item in items_under(self._table, pk, "") if item["sk"] not in own]
        going = [item for item in items if rests(item)]
        self._rewind.before_erasing(sweep, agent_id, going, [erased])
        self._erase(sweep, items, going, touched(sweep.tenant, agent_id, scope))

    def _erase_items_of_chat(self, sweep: Sweep, erased: ErasedChat) -> None:
        """Erase items that the chat itself owns: documents and effects."""
        pk = chat_partition(sweep.tenant, erased.chat_id)
        items = [item for prefix in OF_CHATS for item in items_under(self._table, pk, prefix)]
        rests = self._was_there if erased.private else self._is_derived_here
        going = [item for item in items if rests(sweep, erased, item)]
        self._erase(sweep, items, going, epoch_raised(sweep.tenant, erased.chat_id))

    def _was_there(self, sweep: Sweep, erased: ErasedChat, item: Item) -> bool:
        """Return whether an item of a private chat may hold content of the person."""
        if EFFECT.holds(item):
            return _is_spent(sweep, item, erased.since)
        if _is_for_them(sweep, item) or _names_them(sweep, item):
            return True
        moment = _made_at(item)
        if moment is None:  # the record of a reflection, which holds only ids
            return False
        return moment >= erased.since and (sweep.suspect(moment) or self._by_suspect(sweep, item))

    def _erase_open_scope(self, sweep: Sweep, agent_id: str) -> None:
        pk = owned_partition(sweep.tenant, agent_id, None)
        self._threads.clear(sweep, agent_id, None, partial(self._is_derived, sweep))
        items = [
            item for item in items_under(self._table, pk, "") if not item["sk"].startswith(NOT_KEPT)
        ]
        going = [item for item in items if self._is_derived(sweep, item)]
        ids, keys = {item.get("id") for item in going}, {item["sk"] for item in going}
        going.extend(
            item
            for item in items
            if item["sk"] not in keys and item.get("promoted_from") in ids - {None}
        )
        erased_chats = [erased for erased in sweep.chats.values() if agent_id in erased.agents]
        self._rewind.before_erasing(sweep, agent_id, going, erased_chats)
        self._erase(sweep, items, going, touched(sweep.tenant, agent_id, None))

    def _is_derived_here(self, sweep: Sweep, erased: ErasedChat, item: Item) -> bool:
        del erased  # the item itself holds its source chat
        return self._is_derived(sweep, item)

    def _is_derived(self, sweep: Sweep, item: Item) -> bool:
        """Return whether an open item may rest on the person's words, or names the person."""
        if EFFECT.holds(item):
            since = min((erased.since for erased in sweep.chats.values()), default=sweep.now)
            return _is_spent(sweep, item, since)
        if _is_for_them(sweep, item) or _names_them(sweep, item):
            return True
        sources = [str(_source(item)), *item.get("chat_ids", ())]
        erased_chats = [sweep.chats[source] for source in sources if source in sweep.chats]
        return any(self._is_derived_there(sweep, erased, item) for erased in erased_chats)

    def _is_derived_there(self, sweep: Sweep, erased: ErasedChat, item: Item) -> bool:
        moment = _made_at(item)
        if moment is None:
            return False
        if not (sweep.suspect(moment) or self._by_suspect(sweep, item)):
            return False
        if item.get("to_seq") is not None:
            return erased.first_seq is not None and item["to_seq"] >= erased.first_seq
        return erased.first_seq is not None and moment >= erased.since

    def _by_suspect(self, sweep: Sweep, item: Item) -> bool:
        """Return whether the item's run started before the end of the first sweep."""
        run_id = item.get("source_run_id")
        found = self._table.get(Run.key_of(sweep.tenant, run_id)) if run_id else None
        run = Run.from_item(found) if found else None
        return run is not None and run.started_at is not None and sweep.suspect(run.started_at)

    # ------------------------------------------------------------------ erasing

    def _erase(self, sweep: Sweep, items: list[Item], going: list[Item], change: Update) -> None:
        """Restore memories that deleted ones superseded, then delete the items.

        Each transaction here includes `change`, which invalidates caches.
        """
        gone = {item.get("id") for item in going} - {None}
        keys = {item["sk"] for item in going}
        for item in items:
            replaced_by = item.get("superseded_by")
            if item["sk"] not in keys and replaced_by in gone and item["status"] == "superseded":
                memory = Memory.from_item(item)
                self._table.transact([*replaced(memory, memory.restored()), change])
        for item in going:
            if Document.PREFIX.holds(item):
                self._delete_document(item)
            else:
                self._table.transact([Delete(Key(item["pk"], item["sk"])), change])
            if ENDED_THREAD.holds(item):
                self._threads.drop_run_links(sweep, item["pk"], str(item["id"]))
            sweep.unsaved.counts[_kind(item)] += 1

    def _delete_document(self, item: Item) -> None:
        """Delete a document through `Documents`, so that it is also unlisted."""
        document = Document.from_item(item)
        try:
            self._documents.delete(DocumentReach(folders=(document.folder,)), document.id)
        except NotFound:  # the chat is discarded, so no list holds the document
            self._table.write(Delete(document.key))


def _is_spent(sweep: Sweep, effect: Item, since: datetime) -> bool:
    """Return whether an effect's record may concern the person and is no longer needed.

    Only records written between `since` and the end of the first sweep count. While the first
    sweep is at work, a run may still need its records.
    """
    made_at = datetime.fromtimestamp(int(effect["expires_at"]), UTC) - EFFECT_KEPT
    swept_at = sweep.erasure.swept_at
    return swept_at is not None and since <= made_at + MINUTE and made_at <= swept_at


def _source(item: Item) -> str | None:
    """Return an item's source chat; without one, the home chat of its run."""
    if item.get("chat_id") or item.get("source_chat_id"):
        return str(item.get("chat_id") or item["source_chat_id"])
    try:
        return Run.home_of(str(item.get("source_run_id")))
    except ValueError:
        return None


def _is_for_them(sweep: Sweep, item: Item) -> bool:
    """Return whether the person is in an item's audience, or had the item made."""
    people = (item.get("audience") or {}).get("people", ())
    return not {*people, item.get("set_by")}.isdisjoint(sweep.subject.ids)


def _names_them(sweep: Sweep, item: Item) -> bool:
    """Return whether an agent named the person in an item's free text; see `Sweep.names_them`.

    An operator's item is never erased for a name in it.
    """
    if _is_of_operator(item):
        return False
    return sweep.names_them(*map(item.get, FREE_TEXTS), *item.get("documents", ()))


def _is_of_operator(item: Item) -> bool:
    """Return whether an operator made an item, last changed it, or made it constitutional."""
    if item.get("made_by") is not None:  # a memory
        return item["made_by"] == "api" or bool(item.get("constitutional"))
    return item.get("source_run_id") is None


def _kind(item: Item) -> str:
    """Return the kind of an item for the report, from its sort key."""
    kind = key_kind(item["sk"])
    return KINDS.get(kind, kind.lower())


def _made_at(item: Item) -> datetime | None:
    """Return the time of the last update, or else of creation; None without either."""
    written_at = item.get("updated_at") or item.get("created_at")
    return datetime.fromisoformat(str(written_at)) if written_at else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEraser:
    """Eraser of open threads and of threads' links to runs."""

    table: Table
    clock: Clock

    def clear(
        self, sweep: Sweep, agent_id: str, scope: str | None, going: Callable[[Item], bool]
    ) -> None:
        """Remove the open threads that `going` selects from their thread index."""

        def attempt() -> None:
            index = ThreadIndex.from_optional(self.table.get(key))
            gone = [each for each in index.threads if going({"sk": "", **each.attributes()})]
            if not gone:
                return
            after = index
            for thread in gone:
                after = after.without(thread.id)
            after = after.model_copy(update={"version": index.version + 1})
            self.table.write(Put(key, after.attributes(), Is("version", index.version)))
            sweep.unsaved.counts["threads"] += len(gone)
            for thread in gone:
                self.drop_run_links(sweep, key.pk, thread.id)

        key = ThreadIndex.key_of(sweep.tenant, agent_id, scope)
        optimistic(self.clock, attempt)

    def drop_run_links(self, sweep: Sweep, pk: str, thread_id: str) -> None:
        """Delete the links between a thread and its activations."""
        for item in list(items_under(self.table, pk, ThreadRunLink.prefix_of(thread_id))):
            self.table.write(Delete(Key(item["pk"], item["sk"])))
            sweep.unsaved.counts["run_links"] += 1
