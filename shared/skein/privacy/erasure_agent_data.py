"""Agents' data about an erased person: memories, goals, plans, documents, threads and effects.

All items that an agent keeps for this person only are deleted. In all other scopes, the rules
(`erasure_rules.py`) apply to items made from the person's chats. Before items are deleted, the
consolidation watermarks are set back to the messages from which the items were made, so that agents
consolidate other people's messages again.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from skein.errors import NotFound
from skein.memory.models.memory import Memory
from skein.memory.models.records import REFLECTED
from skein.models.chats.chat import chat_partition, epoch_raised
from skein.models.common.effects import EFFECT, EFFECT_KEPT
from skein.models.common.storage import (
    META,
    Delete,
    Is,
    Item,
    Key,
    Update,
    Write,
    key_kind,
)
from skein.models.items.agent_item import REVISION, AgentItem, touched
from skein.models.runs.run import LIVE_RUN, Run
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import owned_partition
from skein.models.visibility.provenance import made_relation, mixed_relation
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.ports import Clock, Table
from skein.privacy.erasure_renames import document_writes, under_free_id
from skein.privacy.erasure_rewind import ConsolidationRewind
from skein.privacy.erasure_rules import is_to_make_again, item_after, item_goes
from skein.privacy.erasure_sweep import Sweep
from skein.privacy.made_items import folder_of, keys_made_from, made_in
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.models.stored import Posting
from skein.services.common.optimistic import known_first, optimistic
from skein.services.common.pagination import items_under, read_items
from skein.services.items.store import replaced
from skein.settings import Settings
from skein.workspace.documents import Documents
from skein.workspace.models.document import (
    LISTS,
    PINS,
    Document,
    DocumentReach,
    Folder,
)
from skein.workspace.models.thread import ACTIVE_THREAD, RUN_LINK, Thread, ThreadRunLink

MINUTE = timedelta(minutes=1)  # tolerance, because effect records store their time in whole seconds

# Items without content: counters, ids of pinned documents and ids of active threads.
BOOKKEEPING = (REVISION, PINS, ACTIVE_THREAD)
# Sort keys that are skipped in an agent's partition: bookkeeping, and items of other stages.
NOT_KEPT = (*BOOKKEEPING, META, Run.PREFIX, LIVE_RUN)
OF_CHATS = (Document.PREFIX, EFFECT)  # items that belong to a chat

KINDS = {
    Document.PREFIX.kind: "documents",
    EFFECT.kind: "effects",
    Memory.PREFIX.kind: "memories",
    OwnWordsMemory.PREFIX.kind: "memories",
    Goal.PREFIX.kind: "goals",
    key_kind(LISTS): "lists",
    Plan.PREFIX.kind: "plans",
    Posting.PREFIX.kind: "postings",
    REFLECTED.kind: "reflections",
    RUN_LINK.kind: "run_links",
    Thread.PREFIX.kind: "threads",
}


class KeptEraser:
    """The stage `kept` of an erasure: data that agents keep about the person."""

    def __init__(
        self, *, table: Table, clock: Clock, documents: Documents, settings: Settings
    ) -> None:
        self._table = table
        self._clock = clock
        self._documents = documents
        self._rewind = ConsolidationRewind(table=table, clock=clock, settings=settings)

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase the data of each agent, then of each chat; yield the position after each."""
        agents = agents_of(sweep)
        folders = folders_made_from(self._table, sweep, agents)
        for agent_id in agents:
            if after is None or agent_id > after:
                self._erase_own_scope(sweep, agent_id)
                scopes = {folder.scope for folder in folders if folder.agent_id == agent_id}
                for scope in scopes_of(sweep, agent_id, scopes):
                    self.erase_scope(sweep, agent_id, scope)
                yield agent_id
        for chat_id in sorted({*sweep.chats, *(each.chat_id for each in folders if each.chat_id)}):
            position = f"~{chat_id}"  # sorts after every agent
            if after is None or position > after:
                self._erase_items_of_chat(sweep, chat_id)
                yield position

    def _erase_own_scope(self, sweep: Sweep, agent_id: str) -> None:
        """Delete all items that an agent keeps for this person only, including postings."""
        for user_id in sweep.subject.ids:
            scope = f"user:{user_id}"
            for pk in (
                owned_partition(sweep.tenant, agent_id, scope),
                Posting.partition_of(sweep.tenant, agent_id, scope),
            ):
                for item in items_under(self._table, pk, ""):
                    self._table.write(Delete(Key(item["pk"], item["sk"])))
                    sweep.unsaved.counts[kind_of(item)] += item["sk"] not in BOOKKEEPING

    def erase_scope(self, sweep: Sweep, agent_id: str, scope: str | None) -> None:
        """Apply the rules to the items in one scope of an agent."""
        pk = owned_partition(sweep.tenant, agent_id, scope)
        items = [
            item for item in items_under(self._table, pk, "") if not item["sk"].startswith(NOT_KEPT)
        ]
        going = going_among(sweep, items)
        made = [thing for item in going if (thing := made_in(item))]
        again = [thing.made_from for thing in made if is_to_make_again(sweep, thing)]
        self._rewind.before_erasing(sweep, agent_id, again, first=scope is None)
        self._erase(sweep, items, going, touched(sweep.tenant, agent_id, scope))

    def _erase_items_of_chat(self, sweep: Sweep, chat_id: str) -> None:
        """Apply the rules to the items that belong to a chat: documents and effects."""
        pk = chat_partition(sweep.tenant, chat_id)
        items = [item for prefix in OF_CHATS for item in items_under(self._table, pk, prefix)]
        going = going_among(sweep, items)
        self._erase(sweep, items, going, epoch_raised(sweep.tenant, chat_id))

    # ------------------------------------------------------------------ erasing

    def _erase(self, sweep: Sweep, items: list[Item], going: list[Item], change: Update) -> None:
        """Update the items that stay, then delete the items in `going`.

        If a deleted memory had superseded a memory that stays, the older memory becomes live again.
        Each transaction includes `change`, which invalidates caches.
        """
        keys = {item["sk"] for item in going}
        gone = {thing.id for item in going if (thing := made_in(item))}
        for item in items:
            if item["sk"] not in keys:
                self._rewrite(sweep, item, gone, change)
        for item in going:
            if Document.PREFIX.holds(item):
                self._delete_document(item)
            else:
                self._table.transact([Delete(Key(item["pk"], item["sk"])), change])
            if kind_of(item) == "threads":
                self._drop_run_links(sweep, item["pk"], str(item["id"]))
            sweep.unsaved.counts[kind_of(item)] += 1

    def _rewrite(self, sweep: Sweep, item: Item, gone: set[str], change: Update) -> None:
        """Apply the rules to an item that stays, and store the result (optimistic lock)."""
        key = Key(item["pk"], item["sk"])
        read = known_first(item, lambda: self._table.get(key) or {})

        def attempt() -> bool:
            writes = self._rewritten(sweep, read(), gone)
            if writes:
                self._table.transact([*writes, change])
            return bool(writes)

        changed = optimistic(self._clock, attempt, finds_own_write=True)
        sweep.unsaved.counts[f"{kind_of(item)}_changed"] += changed

    def _rewritten(self, sweep: Sweep, item: Item, gone: set[str]) -> list[Write]:
        """Return the writes that apply the rules to an item; empty if nothing changes."""
        thing = made_in(item) if item else None
        if thing is None:
            return _without_in_audience(sweep, item)
        after = item_after(sweep, thing)
        if isinstance(after, Memory) and after.superseded_by in gone:
            after = after.restored()
        if after == thing:
            return []
        if isinstance(thing, Document) and isinstance(after, Document):
            return document_writes(self._table, thing, after)
        if isinstance(after, Plan) and after.name != item["name"]:
            after = under_free_id(self._table, after)
        if isinstance(thing, AgentItem) and isinstance(after, AgentItem):
            return replaced(thing, after)
        raise TypeError("an item keeps its kind")

    def _drop_run_links(self, sweep: Sweep, pk: str, thread_id: str) -> None:
        """Delete the links from a thread to its activations."""
        for item in list(items_under(self._table, pk, ThreadRunLink.prefix_of(thread_id))):
            self._table.write(Delete(Key(item["pk"], item["sk"])))
            sweep.unsaved.counts["run_links"] += 1

    def _delete_document(self, item: Item) -> None:
        """Delete a document through `Documents`, which also removes the document from lists."""
        document = Document.from_item(item)
        try:
            self._documents.delete(DocumentReach(folders=(document.folder,)), document.id)
        except NotFound:  # the chat is discarded, so no list contains the document
            self._table.write(Delete(document.key))


def agents_of(sweep: Sweep) -> list[str]:
    """Return the agents of the person's chats."""
    return sorted({agent for erased in sweep.chats.values() for agent in erased.agents})


def folders_made_from(table: Table, sweep: Sweep, agents: Sequence[str]) -> set[Folder]:
    """Return the agents' scopes and the chats that own items made from the person's chats.

    The items are found in the index of source chats. The index doesn't say which chats an item was
    made from if there are several. The owner of such an item is therefore always included, even if
    none of the source chats is the person's.
    """
    relations = [made_relation(sweep.tenant, chat_id) for chat_id in sweep.chats]
    relations += [mixed_relation(sweep.tenant, agent_id) for agent_id in (*agents, None)]
    keys = [key for each in relations for key in keys_made_from(table, each)]
    found = read_items(table, keys).values()
    return {folder_of(thing) for item in found if (thing := made_in(item))}


def scopes_of(sweep: Sweep, agent_id: str, indexed: set[str | None]) -> list[str | None]:
    """Return the agent's scopes that can contain items made from the person's words.

    The person's own scope is left out. The agent's open scope (None) is the last one.
    """
    own = {f"user:{user_id}" for user_id in sweep.subject.ids}
    theirs = {
        f"chat:{erased.chat_id}"
        for erased in sweep.chats.values()
        if erased.private and agent_id in erased.agents
    }
    return [*sorted({each for each in theirs | indexed if each is not None} - own), None]


def going_among(sweep: Sweep, items: Sequence[Item]) -> list[Item]:
    """Return those items of a partition that are to be deleted.

    Items that were made only from other deleted items come first. If a crash interrupts the
    deletion, the next attempt therefore finds the same items again.
    """
    things = {item["sk"]: thing for item in items if (thing := made_in(item))}
    going = {sk for sk, thing in things.items() if item_goes(sweep, thing)}
    gone = {things[sk].id for sk in going}
    alone = {
        sk
        for sk, thing in things.items()
        if not thing.made_from.spans and thing.made_from.items and gone >= {*thing.made_from.items}
    }
    spent = [item for item in items if EFFECT.holds(item) and _is_spent(sweep, item)]
    return [
        *(item for item in items if item["sk"] in alone),
        *(item for item in items if item["sk"] in going - alone),
        *spent,
    ]


def _without_in_audience(sweep: Sweep, item: Item) -> list[Write]:
    """Return the write that removes the person from an item's audience, if the person is in it."""
    audience = Audience.model_validate(item.get("audience") or OPEN)
    if not audience.counts(sweep.subject.ids):
        return []
    left = audience.without(sweep.subject.ids).model_dump(mode="json")
    as_read = Is("audience", item["audience"])
    return [Update(Key(item["pk"], item["sk"]), set={"audience": left}, condition=as_read)]


def _is_spent(sweep: Sweep, effect: Item) -> bool:
    """Return whether the record of an effect may concern the person and can be deleted.

    This is the case if the record was written after the person joined the first of their chats, and
    before the first sweep ended. The first sweep itself deletes no records, because a run may still
    need them.
    """
    since = min((erased.since for erased in sweep.chats.values()), default=sweep.now)
    made_at = datetime.fromtimestamp(int(effect["expires_at"]), UTC) - EFFECT_KEPT
    swept_at = sweep.erasure.swept_at
    return swept_at is not None and since <= made_at + MINUTE and made_at <= swept_at


def kind_of(item: Item) -> str:
    """Return an item's kind, as named in the report, from its sort key."""
    kind = key_kind(item["sk"])
    return KINDS.get(kind, kind.lower())
