"""Memories: what agents have learnt, until it fades, is let go or gives way to something newer."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import ValidationError
from ulid import ULID

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.memory import MadeBy, Memory, MemoryKind, revision_key, touched
from skein.models.ownership import Owner, Reach, owned_partition
from skein.models.storage import Check, Is, Item, Key, Missing, Put, Update, Write
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import check_change, optimistic, transact_guarded, unfit
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_owned
from skein.services.memory.store import known_memories
from skein.services.memory.writes import double_of, gives_way, made, moved, normalised, superseded

MemoryState = Literal["live", "ended"]


class Added(NamedTuple):
    """What came of adding a memory.

    Attributes:
        memory: As it stands now.
        known: It is an older one that says the same; nothing was added.
    """

    memory: Memory
    known: bool


def memory_id_of(effect: str, at: datetime) -> str:
    """The id of what an effect makes: the same on every attempt, and in the order of time.

    Args:
        effect: Names the effect.
        at: A time that is the same on every attempt, e.g. when the run was made.
    """
    moment = int(at.timestamp() * 1000).to_bytes(6, "big")
    return f"mem_{ULID(moment + hashlib.sha256(effect.encode()).digest()[:10])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """Keeps the agents' memories, each in the partition of those it may be shown to."""

    table: Table
    clock: Clock
    ids: Ids

    def add(
        self,
        owner: Owner,
        text: str,
        kind: MemoryKind,
        *,
        made_by: MadeBy,
        reach: Reach | None = None,
        constitutional: bool = False,
        memory_id: str | None = None,
        span: tuple[int, int] | None = None,
        guard: Check | None = None,
    ) -> Added:
        """Let an agent remember something; doing it again with the same id changes nothing.

        What it remembers already is not stored again. A journal entry that says the same gives way
        to a core memory, and a core memory to a constitutional one.

        Args:
            owner: Whose, and where it is made.
            text: 1 to 10,000 characters.
            kind: `core` for good; a `journal` entry fades after a week.
            made_by: Who makes it.
            reach: Among which memories to look for doubles; without it, those beside it.
            constitutional: Only operators can remove it.
            memory_id: Its id; for a run's effect one that is the same on every attempt. None for a
                new one.
            span: The first and the last message of the source chat that it rests on.
            guard: A check on the run that makes it.

        Raises:
            Unprocessable: The text does not fit, or a journal entry is to be constitutional.
            LostLease: The guard does not hold.
        """
        if constitutional and kind != "core":
            raise Unprocessable("only a core memory is constitutional")
        try:
            memory = made(
                owner,
                kind,
                text,
                memory_id=memory_id or f"mem_{self.ids.ulid()}",
                made_by=made_by,
                now=self.clock.now(),
                span=span,
                constitutional=constitutional,
            )
        except ValidationError as error:
            raise unfit(error) from None
        return optimistic(self.clock, lambda: self._add_once(memory, reach or owner.reach, guard))

    def _add_once(self, memory: Memory, reach: Reach, guard: Check | None) -> Added:
        own = Reach(tenant=memory.tenant, agent_id=memory.agent_id, scopes=(memory.scope,))
        revision = revision_key(memory.tenant, memory.agent_id, memory.scope)
        keys = _keys(own, memory.id)
        found = self.table.get_many([*keys, revision])
        stored = next((Memory.from_item(found[key]) for key in keys if key in found), None)
        if stored is not None:
            return Added(stored, known=False)
        live = self.live(reach)
        double = double_of(memory.kind, memory.text, live)
        if double is not None and (double.constitutional or not memory.constitutional):
            return Added(double, known=True)
        ended = memory.model_copy(update={"deleted_at": memory.created_at}).key
        writes: list[Write] = [Put(memory.key, memory.to_item(), Missing())]
        for old in live:
            same = normalised(old.text) == normalised(memory.text)
            if same and gives_way(old, memory):
                writes += superseded(old, memory)
        # Whoever adds the same at the same time finds the revision raised.
        as_read = found.get(revision, {}).get("revision")
        raised = Update(revision, add={"revision": 1}, condition=Is("revision", as_read))
        transact_guarded(self.table, [*writes, Check(ended, Missing()), raised], guard)
        return Added(memory, known=False)

    def forget(self, reach: Reach, memory_id: str, *, guard: Check | None = None) -> Memory:
        """Let an agent put a memory out of its mind; doing it again changes nothing.

        Raises:
            NotFound: There is no such memory within reach.
            Conflict: It is constitutional, or may not be changed from there.
            LostLease: The guard does not hold.
        """
        return self._remove(reach, memory_id, guard, by_agent=True)

    def remove(self, reach: Reach, memory_id: str) -> Memory:
        """Put any memory away, on behalf of an operator; it stays on record.

        Raises:
            NotFound: There is no such memory within reach.
        """
        return self._remove(reach, memory_id, None, by_agent=False)

    def _remove(
        self, reach: Reach, memory_id: str, guard: Check | None, *, by_agent: bool
    ) -> Memory:
        def attempt() -> Memory:
            memory = self.get(reach, memory_id)
            if memory.deleted_at is not None:
                return memory
            check_change(reach, memory)
            if by_agent and memory.constitutional:
                raise Conflict("this memory is constitutional: it stays")
            return self._move(memory, guard, deleted_at=self.clock.now())

        return optimistic(self.clock, attempt)

    def restore(self, reach: Reach, memory_id: str) -> Memory:
        """Bring a memory back that was removed or has given way; doing it again changes nothing.

        A journal entry keeps the time at which it fades: one that has faded is not shown again.

        Raises:
            NotFound: There is no such memory within reach.
        """

        def attempt() -> Memory:
            memory = self.get(reach, memory_id)
            if memory.live:
                return memory
            return self._move(memory, None, deleted_at=None, superseded_by=None)

        return optimistic(self.clock, attempt)

    def _move(self, memory: Memory, guard: Check | None, **changes: datetime | None) -> Memory:
        changed = memory.model_copy(update={**changes, "version": memory.version + 1})
        change = touched(memory.tenant, memory.agent_id, memory.scope)
        transact_guarded(self.table, [*moved(memory, changed), change], guard)
        return changed

    def get(self, reach: Reach, memory_id: str) -> Memory:
        """One memory, live, faded or ended.

        Raises:
            NotFound: There is no such memory within reach.
        """
        keys = _keys(reach, memory_id)
        found = self.table.get_many(keys)
        memories = [Memory.from_item(found[key]) for key in keys if key in found]
        memory = next(filter(reach.shows, memories), None)
        if memory is None:
            raise NotFound("there is no such memory")
        return memory

    def live(self, reach: Reach) -> list[Memory]:
        """What an agent remembers now within reach; see `known_memories`."""
        return known_memories(self.table, reach, now=self.clock.now())

    def list(
        self,
        reach: Reach,
        *,
        kind: MemoryKind | None = None,
        state: MemoryState | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Memory]:
        """A page of the memories in one partition: core before journal, live before ended.

        Args:
            reach: Whose; its first scope counts.
            kind: Only these.
            state: `live`, or `ended`: removed, superseded or faded.
            limit: How many to read at most.
            cursor: Where an earlier page ended.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        now = self.clock.now()

        def read(item: Item) -> Memory | None:
            memory = Memory.from_item(item)
            live = memory.live and not memory.faded(now)
            wanted = state is None or live == (state == "live")
            return memory if wanted and reach.shows(memory) else None

        sections = Memory.prefixes(kind=kind, live=state != "ended", ended=state != "live")
        return list_owned(self.table, reach, sections, read, limit=limit, cursor=cursor)


def _keys(reach: Reach, memory_id: str) -> Sequence[Key]:
    """Where a memory of this id may stand."""
    return [
        Key(owned_partition(reach.tenant, reach.agent_id, scope), sort_key)
        for scope in reach.scopes
        for sort_key in Memory.sort_keys(memory_id)
    ]
