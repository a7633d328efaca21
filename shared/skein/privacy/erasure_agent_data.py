"""Agent data of an erased person: memories, goals, plans, documents, threads and effects.

The erasure deletes everything in the person's own scope. In the other scopes, it follows each
item's provenance (`models/common/provenance.py`): an item goes if it was made from the person's
messages, or in private in the person's presence. The scopes are those of the person's chats, and
those that the index of source chats names. Provenance does not know whom a text names, so agents'
items that name the person go, too. Watermarks are set back before the first deleted span, so that
agents consolidate those chats again.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from skein.errors import ConditionFailed, NotFound
from skein.memory.models.memory import Memory
from skein.memory.models.records import REFLECTED
from skein.models.chats.chat import chat_partition, epoch_raised
from skein.models.common.agent_item import REVISION, touched
from skein.models.common.audience import Audience
from skein.models.common.ownership import (
    EFFECT,
    EFFECT_KEPT,
    owned_partition,
)
from skein.models.common.provenance import made_relation, mixed_relation
from skein.models.common.storage import (
    META,
    Delete,
    Is,
    Item,
    Key,
    Update,
    key_kind,
)
from skein.models.directory.agent import PERMITS
from skein.models.runs.run import LIVE_RUN, Run
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.ports import Clock, Table
from skein.privacy.erasure_rewind import ConsolidationRewind
from skein.privacy.erasure_sweep import Sweep
from skein.privacy.made_items import MadeItem, folder_of, keys_made_from, made_in
from skein.privacy.models.erasure import ErasedChat
from skein.recall.models.stored import Posting
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

MINUTE = timedelta(minutes=1)  # tolerance: effect records store their time in whole seconds

# Items that hold no content: counters, and the ids of pinned documents and of active threads.
BOOKKEEPING = (REVISION, PINS, ACTIVE_THREAD)
# Sort keys of an agent's partition to skip: bookkeeping, or erased elsewhere.
NOT_KEPT = (*BOOKKEEPING, META, Run.PREFIX, LIVE_RUN, PERMITS)
OF_CHATS = (Document.PREFIX, EFFECT)  # items that a chat itself owns

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
    Thread.PREFIX.kind: "threads",
}


class KeptEraser:
    """The stage `kept` of an erasure: agents' data about the person."""

    def __init__(
        self, *, table: Table, clock: Clock, documents: Documents, settings: Settings
    ) -> None:
        self._table = table
        self._documents = documents
        self._rewind = ConsolidationRewind(table=table, clock=clock, settings=settings)

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase the data of each agent, then of each chat; yield each position."""
        agents = sorted({agent for erased in sweep.chats.values() for agent in erased.agents})
        folders = self._folders(sweep, agents)
        for agent_id in agents:
            if after is None or agent_id > after:
                self._erase_own_scope(sweep, agent_id)
                scopes = {folder.scope for folder in folders if folder.agent_id == agent_id}
                for scope in _scopes(sweep, agent_id, scopes):
                    self._erase_scope(sweep, agent_id, scope)
                yield agent_id
        for chat_id in sorted({*sweep.chats, *(each.chat_id for each in folders if each.chat_id)}):
            position = f"~{chat_id}"  # sorts after every agent
            if after is None or position > after:
                self._erase_items_of_chat(sweep, chat_id)
                yield position

    def _folders(self, sweep: Sweep, agents: Sequence[str]) -> set[Folder]:
        """Return the owners of what was made from the person's chats, by the index of source chats.

        Items made from several chats count, too, if they are of one of `agents` or of a chat.
        """
        relations = [made_relation(sweep.tenant, chat_id) for chat_id in sweep.chats]
        relations += [mixed_relation(sweep.tenant, agent_id) for agent_id in (*agents, None)]
        keys = [key for each in relations for key in keys_made_from(self._table, each)]
        found = read_items(self._table, keys).values()
        return {folder_of(thing) for item in found if (thing := made_in(item))}

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

    def _erase_scope(self, sweep: Sweep, agent_id: str, scope: str | None) -> None:
        """Erase the items of one scope that rest on the person's words."""
        pk = owned_partition(sweep.tenant, agent_id, scope)
        items = [
            item for item in items_under(self._table, pk, "") if not item["sk"].startswith(NOT_KEPT)
        ]
        shared = scope is None or scope in {f"chat:{chat_id}" for chat_id in sweep.chats}
        going = _going(sweep, items, names=shared)
        sources = [thing.made_from for item in going if (thing := made_in(item))]
        self._rewind.before_erasing(sweep, agent_id, sources, first=scope is None)
        self._erase(sweep, items, going, touched(sweep.tenant, agent_id, scope))

    def _erase_items_of_chat(self, sweep: Sweep, chat_id: str) -> None:
        """Erase items that a chat itself owns: documents and effects."""
        pk = chat_partition(sweep.tenant, chat_id)
        items = [item for prefix in OF_CHATS for item in items_under(self._table, pk, prefix)]
        going = _going(sweep, items, names=chat_id in sweep.chats)
        self._erase(sweep, items, going, epoch_raised(sweep.tenant, chat_id))

    # ------------------------------------------------------------------ erasing

    def _erase(self, sweep: Sweep, items: list[Item], going: list[Item], change: Update) -> None:
        """Restore memories that deleted ones superseded, then delete the items.

        Source labels of the other items lose the person's name. Each transaction here includes
        `change`, which invalidates caches.
        """
        keys = {item["sk"] for item in going}
        for item in items:
            if item["sk"] not in keys:
                self._clean_label(sweep, item, change)
        gone = {thing.id for item in going if (thing := made_in(item))}
        for memory in (made_in(item) for item in items if item["sk"] not in keys):
            if not isinstance(memory, Memory) or memory.status != "superseded":
                continue
            if memory.superseded_by in gone:
                self._table.transact([*replaced(memory, memory.restored()), change])
        for item in going:
            if Document.PREFIX.holds(item):
                self._delete_document(item)
            else:
                self._table.transact([Delete(Key(item["pk"], item["sk"])), change])
            if _kind(item) == "threads":
                self._drop_run_links(sweep, item["pk"], str(item["id"]))
            sweep.unsaved.counts[_kind(item)] += 1

    def _clean_label(self, sweep: Sweep, item: Item, change: Update) -> None:
        """Remove the person, and a title that names the person, from an item's source label."""
        thing = made_in(item)
        label = thing.made_from.source if thing is not None else None
        if thing is None or label is None:
            return
        clean = label.without(sweep.subject.ids, title=sweep.names_them(label.title))
        if clean != label:
            made = thing.made_from.model_copy(update={"source": clean})
            key, as_read = Key(item["pk"], item["sk"]), Is("made_from", item["made_from"])
            cleaned = {"made_from": made.model_dump(mode="json", exclude_none=True)}
            with suppress(ConditionFailed):  # changed meanwhile; the next sweep looks again
                self._table.transact([Update(key, set=cleaned, condition=as_read), change])

    def _drop_run_links(self, sweep: Sweep, pk: str, thread_id: str) -> None:
        """Delete the links between a thread and its activations."""
        for item in list(items_under(self._table, pk, ThreadRunLink.prefix_of(thread_id))):
            self._table.write(Delete(Key(item["pk"], item["sk"])))
            sweep.unsaved.counts["run_links"] += 1

    def _delete_document(self, item: Item) -> None:
        """Delete a document through `Documents`, so that it is also unlisted."""
        document = Document.from_item(item)
        try:
            self._documents.delete(DocumentReach(folders=(document.folder,)), document.id)
        except NotFound:  # the chat is discarded, so no list holds the document
            self._table.write(Delete(document.key))


def _scopes(sweep: Sweep, agent_id: str, indexed: set[str | None]) -> list[str | None]:
    """Return the agent's scopes that may have items made from the person's words, open last."""
    own = {f"user:{user_id}" for user_id in sweep.subject.ids}
    theirs = {
        f"chat:{erased.chat_id}"
        for erased in sweep.chats.values()
        if erased.private and agent_id in erased.agents
    }
    return [*sorted({each for each in theirs | indexed if each is not None} - own), None]


def _going(sweep: Sweep, items: Sequence[Item], *, names: bool) -> list[Item]:
    """Return the items that rest on the person's words, after those made from such items alone.

    In this order, a deletion that a crash interrupts finds the same items again.

    Args:
        names: Whether items that name the person go, too; operators' items never do.
    """
    things = {item["sk"]: made_in(item) for item in items}
    going = [item for item in items if _is_to_go(sweep, item, things[item["sk"]], names=names)]
    gone = {thing.id for item in going if (thing := things[item["sk"]])}
    alone = {
        sk
        for sk, thing in things.items()
        if thing and not thing.made_from.spans and not gone.isdisjoint(thing.made_from.items)
    }
    return [
        *(item for item in items if item["sk"] in alone),
        *(item for item in going if item["sk"] not in alone),
    ]


def _is_to_go(sweep: Sweep, item: Item, thing: MadeItem | None, *, names: bool) -> bool:
    """Return whether an item rests on the person's words, is for them, or names them."""
    if EFFECT.holds(item):
        return _is_spent(sweep, item)
    ids, audience = sweep.subject.ids, item.get("audience")
    if audience and Audience.model_validate(audience).counts(ids):
        return True
    if thing is None:
        return False
    if isinstance(thing, Plan) and thing.set_by in ids:
        return True
    if any(_is_made_there(sweep, erased, thing) for erased in sweep.chats.values()):
        return True
    return names and not thing.by_operator and sweep.names_them(*thing.texts)


def _is_made_there(sweep: Sweep, erased: ErasedChat, thing: MadeItem) -> bool:
    """Return whether a thing was made from a chat's messages that the erasure takes.

    These are the person's own, and in private all since the person joined. Words of agents alone
    count if they were said after the person's. Where it is not certain that a message of the
    person's was among them, only things from before the end of the first sweep count.
    """
    made = thing.made_from
    if made.reaches(erased.chat_id, erased.first_seq) and made.wrote(sweep.subject.ids):
        certain = made.writers.includes(sweep.subject.ids)
    elif erased.private and made.reaches(erased.chat_id, erased.present_seq or 1):
        certain = False
    else:
        return False
    return certain or sweep.suspect(thing.updated_at or thing.created_at)


def _is_spent(sweep: Sweep, effect: Item) -> bool:
    """Return whether an effect's record may concern the person and is no longer needed.

    Only records written since the person joined a chat and up to the end of the first sweep count.
    While the first sweep is at work, a run may still need its records.
    """
    since = min((erased.since for erased in sweep.chats.values()), default=sweep.now)
    made_at = datetime.fromtimestamp(int(effect["expires_at"]), UTC) - EFFECT_KEPT
    swept_at = sweep.erasure.swept_at
    return swept_at is not None and since <= made_at + MINUTE and made_at <= swept_at


def _kind(item: Item) -> str:
    """Return the kind of an item for the report, from its sort key."""
    kind = key_kind(item["sk"])
    return KINDS.get(kind, kind.lower())
