"""Store agents' items: create, change, end, restore, delete, get and list them.

Each item has a version as an optimistic lock. Each partition has a revision item with a counter for
each kind of items. A transaction that adds or restores an item also raises the counter. The
transaction fails if another writer has raised the counter since the items were read. So duplicates
and items over a limit are detected even if two writers add items at the same time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Self, TypeVar

from skein.errors import Conflict, NotFound
from skein.models.common.effects import effect_key, effect_record
from skein.models.common.storage import Check, Delete, Is, Item, Key, Missing, Put, Query, Write
from skein.models.items.agent_item import AgentItem, raised, revision_key, touched
from skein.models.visibility.ownership import MAX_KEPT, DerivedItem, Reach, Readers, owned_partition
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, transact_guarded
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition

FULL = "the storage for this chat, person or agent is full"
NOT_FROM_HERE = (
    "this is shared with people who were not there for this conversation, so it can be read here, "
    "but not changed; keep a new one under another name instead"
)
STAYS_HERE = (
    "a sharing rule told others' words here, so only what was made in this chat can be changed; "
    "keep a new one instead"
)
OPERATORS_ONLY = (
    "an operator made this, and only operators change it; keep a new one under another name instead"
)

Kept = TypeVar("Kept", bound=AgentItem)


def check_change(reach: Readers, thing: DerivedItem) -> None:
    """Check that a caller may change an item; see `Readers.changes`.

    Args:
        reach: The access of the caller.
        thing: The item.

    Raises:
        Conflict: The caller has no right to change the item.
    """
    if not reach.changes(thing):
        if thing.by_operator or thing.public:
            raise Conflict(OPERATORS_ONLY)
        raise Conflict(STAYS_HERE if reach.actor.authors.by_rule else NOT_FROM_HERE)


def check_open(thing: DerivedItem) -> None:
    """Check that operators may mark an item as public.

    Raises:
        Conflict: The item is private.
    """
    if not thing.audience.open:
        raise Conflict("only open items can be public")


def noun_of(kind: type[AgentItem]) -> str:
    """Return the name of a kind of items, for errors."""
    return kind.__name__.lower()


def replaced(before: AgentItem, after: AgentItem) -> list[Write]:
    """Return the writes that replace an item with its next version (optimistic lock).

    If the key changes, the item moves: the writes are one delete and one put.
    """
    as_read = Is("version", before.version)
    after = AgentItem.model_copy(after, update={"version": before.version + 1})
    if before.key == after.key:
        return [Put(after.key, after.to_item(), as_read)]
    return [Delete(before.key, as_read), Put(after.key, after.to_item(), Missing())]


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[Kept]):
    """Items of one kind, their counters and the record of an effect, read in one batch.

    Attributes:
        found: The stored items that exist, by key.
        effect: The id of the effect (the result of one tool call) that the caller stores, if any.
    """

    kind: type[Kept]
    reach: Reach
    found: Mapping[Key, Item]
    effect: str | None

    @classmethod
    def read(
        cls,
        table: Table,
        kind: type[Kept],
        reach: Reach,
        ids: Sequence[str],
        *,
        effect: str | None = None,
        counters: bool = False,
    ) -> Self:
        """Read the items with the given ids from all scopes of `reach`, in one batch.

        Args:
            effect: The id of a run's effect; the record of the effect is read, too.
            counters: Whether to read the counters, which are needed to add or restore an item.
        """
        keys: list[Key] = []
        for scope in reach.scopes:
            owned = (reach.tenant, reach.agent_id, scope)
            keys += [key for each in ids for key in kind.keys_of(*owned, each)]
            keys += [revision_key(*owned)] if counters else []
            keys += [effect_key(owned_partition(*owned), effect)] if effect is not None else []
        return cls(kind, reach, table.get_many(keys), effect)

    def get(self, item_id: str) -> Kept:
        """Return the first item with this id that the caller may see.

        Raises:
            NotFound: The item does not exist, or the caller may not see it.
        """
        item = self.shown(item_id)
        if item is None:
            raise NotFound(f"{noun_of(self.kind)} not found")
        return item

    def stored(self, scope: str | None, item_id: str) -> Kept | None:
        """Return the item with this id in a scope, even one that has ended or is hidden."""
        return self._first(self.kind.keys_of(*self._owned(scope), item_id))

    def shown(self, item_id: str) -> Kept | None:
        """Return the first item with this id that the caller may see, or None."""
        stored = (self.stored(scope, item_id) for scope in self.reach.scopes)
        return next((item for item in stored if item is not None and self.reach.shows(item)), None)

    @property
    def done(self) -> Kept | None:
        """The item that an earlier attempt of the effect returned; None on the first attempt."""
        if self.effect is None:
            return None
        scopes = self.reach.scopes
        owned = (owned_partition(*self._owned(scope)) for scope in scopes)
        return self._first(effect_key(partition, self.effect) for partition in owned)

    def writes(self, before: Kept | None, after: Kept) -> list[Write]:
        """Return the writes that store a new item or a changed item (optimistic locks)."""
        if before is None:
            writes: list[Write] = [Put(after.key, after.to_item(), Missing())]
        else:
            writes = replaced(before, after)
        if after.live and (before is None or not before.live):
            writes.append(self.raised(after.scope))
        elif self.kind.CACHED:
            writes.append(touched(*self._owned(after.scope)))
        return writes

    def raised(self, scope: str | None) -> Write:
        """Return the write that raises a scope's counter, unless it has changed since the read."""
        return raised(revision_key(*self._owned(scope)), self.kind.COUNTER, self.found)

    def record(self, item: Kept, scope: str | None, now: datetime) -> list[Write]:
        """Return the write that records the effect as carried out; no write without an effect."""
        if self.effect is None:
            return []
        key = effect_key(owned_partition(*self._owned(scope)), self.effect)
        return [effect_record(key, item, now)]

    def _first(self, keys: Iterable[Key]) -> Kept | None:
        return next(iter(self.kind.read_each(self.found, keys)), None)

    def _owned(self, scope: str | None) -> tuple[str, str, str | None]:
        return self.reach.tenant, self.reach.agent_id, scope


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedStore(ABC, Generic[Kept]):
    """The store of one kind of items; a subclass adds the rules of its kind."""

    table: Table
    clock: Clock

    @property
    @abstractmethod
    def kind(self) -> type[Kept]: ...

    @property
    def limit(self) -> int | None:
        """The maximum number of live items in a scope that the caller may see, if any."""
        return None

    @property
    def max_kept(self) -> int:
        """The maximum number of live items in a partition, including those that are hidden."""
        return MAX_KEPT

    # ------------------------------------------------------------------ reading

    def get(self, reach: Reach, item_id: str) -> Kept:
        """Return one item, live or ended.

        Raises:
            NotFound: The item does not exist, or the caller may not access it.
        """
        return Snapshot.read(self.table, self.kind, reach, [item_id]).get(item_id)

    def list(
        self,
        reach: Reach,
        *,
        status: str | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Kept]:
        """List a page of the items in one partition, live items first.

        Args:
            reach: The agent and the readers; only the first scope is listed.
            status: List only items with this status; None for all items.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        prefix, live = self.kind.PREFIX, self.kind.LIVE_STATUS
        sections = {live: (prefix,), None: (prefix, prefix.ended)}.get(status, (prefix.ended,))
        return self.page(
            reach,
            sections,
            lambda item: status in {None, item.status},
            limit=limit,
            cursor=cursor,
        )

    def page(
        self,
        reach: Reach,
        sections: Sequence[str],
        wanted: Callable[[Kept], bool],
        *,
        limit: int,
        cursor: str | None,
    ) -> Listing[Kept]:
        """List a page of the items that `wanted` accepts and the caller may see.

        Args:
            sections: The prefixes of the sort keys, in the order of the list.
            wanted: Returns whether an item belongs to the list.

        Raises:
            Invalid: The cursor does not belong to this list.
        """

        def read(item: Item) -> Kept | None:
            thing = self.kind.from_item(item)
            return thing if wanted(thing) and reach.shows(thing) else None

        return list_partition(
            self.table, reach.partition, sections, read, limit=limit, cursor=cursor
        )

    def read(
        self, reach: Reach, ids: Sequence[str], *, effect: str | None = None
    ) -> Snapshot[Kept]:
        """Read items and the counters in order to change the items; see `Snapshot.read`."""
        return Snapshot.read(self.table, self.kind, reach, ids, effect=effect, counters=True)

    # ------------------------------------------------------------------ writing

    def insert(self, item: Kept, reach: Reach | None = None, *, guard: Check | None = None) -> Kept:
        """Store a new item (idempotent with the same id).

        Args:
            reach: The caller. Only live items that the caller may see count toward the limit; if
                None, all live items in the item's partition count.
            guard: A check on the run that makes the item.

        Returns:
            The new item or, if an item with this id exists already, the existing item.

        Raises:
            Conflict: A limit on live items is reached.
            LostLease: The guard does not hold.
        """
        own = Reach(tenant=item.tenant, agent_id=item.agent_id, scopes=(item.scope,))

        def attempt() -> Kept:
            found = self.read(own, [item.id])
            stored = found.shown(item.id)
            if stored is not None:
                return stored
            self.check_limit((reach or own).at(item.scope), item)
            transact_guarded(self.table, found.writes(None, item), guard)
            return item

        return optimistic(self.clock, attempt)

    def edit(
        self,
        reach: Reach,
        item_id: str,
        change: Callable[[Kept], Kept],
        *,
        effect: str | None = None,
        guard: Check | None = None,
    ) -> Kept:
        """Change, end or restore an item with an optimistic lock.

        Args:
            change: Returns the changed item. It is called again if another writer was faster.
            effect: The id of a run's effect; a repeated effect changes nothing.
            guard: A check on the run that makes the change.

        Returns:
            The changed item; for a repeated effect, the item that the first attempt returned.

        Raises:
            NotFound: The item does not exist, or the caller may not access it.
            Conflict: The caller may not change the item, or a limit on live items is reached.
            LostLease: The guard does not hold.
        """

        def attempt() -> Kept:
            found = self.read(reach, [item_id], effect=effect)
            if found.done is not None:
                return found.done
            before = found.get(item_id)
            return self.replace(found, before, change(before), guard=guard)

        return optimistic(self.clock, attempt)

    def replace(
        self,
        found: Snapshot[Kept],
        before: Kept,
        after: Kept,
        *,
        guard: Check | None = None,
    ) -> Kept:
        """Try once to store a changed item; write nothing if nothing has changed.

        Args:
            found: The caller's snapshot, which contains `before`.

        Raises:
            ConditionFailed: Another writer was faster.
            Conflict: The caller may not change the item, or a limit on live items is reached.
            LostLease: The guard does not hold.
        """
        if before.live or after != before:
            check_change(found.reach, before)
        if after == before:
            return before
        if after.live and not before.live:
            self.check_limit(found.reach.at(after.scope), after)
        after = AgentItem.model_copy(after, update={"version": before.version + 1})
        record = found.record(after, after.scope, self.clock.now())
        transact_guarded(self.table, [*found.writes(before, after), *record], guard)
        return after

    def delete(self, reach: Reach, item_id: str) -> Kept:
        """Delete a live or ended item permanently; some kinds end the item instead.

        Returns:
            The item before its deletion, or the ended item.

        Raises:
            NotFound: The item does not exist, or the caller may not access it.
        """

        def attempt() -> Kept:
            item = self.get(reach, item_id)
            self.table.write(Delete(item.key, Is("version", item.version)))
            return item

        return optimistic(self.clock, attempt)

    def check_limit(self, reach: Reach, new: Kept) -> None:
        """Check that one more live item fits in the first scope of `reach`.

        `limit` counts only items that the caller may see, so it reveals nothing about hidden items.
        `max_kept` counts all stored items, so that a prompt's query can read them all. For an
        operator's item, both limits count only operators' items, so that agents' items cannot use
        up the operators' limits.

        Raises:
            Conflict: One of the limits is reached.
        """
        if self.limit is None:
            return
        query = Query.under(reach.partition, self.kind.PREFIX, limit=2 * self.max_kept)
        stored = self.kind.each_of(self.table.query(query).items)
        items = [item for item in stored if item.by_operator >= new.by_operator]
        if sum(map(reach.shows, items)) >= self.limit:
            live = f"{self.kind.LIVE_STATUS} {noun_of(self.kind)}s"
            raise Conflict(f"there are already {self.limit} {live}; end one first")
        if len(items) >= self.max_kept:
            raise Conflict(FULL)
