"""Memories: add, forget, restore, read and list what agents have learnt."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import ValidationError
from ulid import ULID

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.ownership import Owner, Reach, owned_partition
from skein.models.common.storage import Check, Is, Item, Key, Missing, Put, Update, Write
from skein.models.memory.memory import MadeBy, Memory, MemoryKind, revision_key, touched
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import (
    check_change,
    invalid_arguments,
    optimistic,
    transact_guarded,
)
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_owned
from skein.services.memory.store import searchable_memories
from skein.services.memory.writes import double_of, gives_way, made, moved, normalised, superseded

MemoryState = Literal["live", "ended"]


class AddedMemory(NamedTuple):
    """Result of adding a memory.

    Attributes:
        memory: The memory as stored.
        known: Whether `memory` is an older memory with the same words; if so, nothing was added.
    """

    memory: Memory
    known: bool


def memory_id_of(effect: str, at: datetime) -> str:
    """Derive the memory id of an effect, so that retries produce the same id.

    The id is a ULID, so ids sort by `at`.

    Args:
        effect: The effect's id.
        at: A time that is the same on every attempt, for example the run's creation time.
    """
    moment = int(at.timestamp() * 1000).to_bytes(6, "big")
    return f"mem_{ULID(moment + hashlib.sha256(effect.encode()).digest()[:10])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """Store of the agents' memories, partitioned by scope."""

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
    ) -> AddedMemory:
        """Add a memory (idempotent with the same `memory_id`).

        A memory with the same words as a live one is not stored again. With the same words, a core
        memory supersedes a journal entry, and a constitutional memory supersedes a core memory, as
        far as `gives_way` allows.

        Args:
            owner: The agent, and the scope, audience and source of the memory.
            text: 1 to 10,000 characters.
            kind: `core` memories stay; `journal` entries fade after 7 days.
            made_by: The author's role.
            reach: The memories to search for duplicates; by default those of the same partition.
            constitutional: Whether only operators can remove the memory.
            memory_id: The memory's id. For a run's effect, an id that is the same on every attempt.
                None generates an id.
            span: The first and the last message of the source chat that the memory is based on.
            guard: A check on the run that adds the memory.

        Raises:
            Unprocessable: The text is invalid, or a journal entry is to be constitutional.
            LostLease: The guard does not hold.
        """
        if constitutional and kind != "core":
            raise Unprocessable("only a core memory can be constitutional")
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
            raise invalid_arguments(error) from None
        return optimistic(self.clock, lambda: self._add_once(memory, reach or owner.reach, guard))

    def _add_once(self, memory: Memory, reach: Reach, guard: Check | None) -> AddedMemory:
        own = Reach(tenant=memory.tenant, agent_id=memory.agent_id, scopes=(memory.scope,))
        revision = revision_key(memory.tenant, memory.agent_id, memory.scope)
        keys = _keys(own, memory.id)
        found = self.table.get_many([*keys, revision])
        stored = next((Memory.from_item(found[key]) for key in keys if key in found), None)
        if stored is not None:
            return AddedMemory(stored, known=False)
        live = self.live(reach)
        double = double_of(memory.kind, memory.text, live)
        if double is not None and (double.constitutional or not memory.constitutional):
            return AddedMemory(double, known=True)
        ended = memory.model_copy(update={"deleted_at": memory.created_at}).key
        writes: list[Write] = [Put(memory.key, memory.to_item(), Missing())]
        for old in live:
            same = normalised(old.text) == normalised(memory.text)
            if same and gives_way(old, memory):
                writes += superseded(old, memory)
        # A concurrent add of the same words fails on the revision.
        as_read = found.get(revision, {}).get("revision")
        raised = Update(revision, add={"revision": 1}, condition=Is("revision", as_read))
        transact_guarded(self.table, [*writes, Check(ended, Missing()), raised], guard)
        return AddedMemory(memory, known=False)

    def forget(self, reach: Reach, memory_id: str, *, guard: Check | None = None) -> Memory:
        """Remove a memory on behalf of its agent (idempotent).

        Raises:
            NotFound: No memory within reach has this id.
            Conflict: The memory is constitutional, or must not be changed from this reach.
            LostLease: The guard does not hold.
        """
        return self._remove(reach, memory_id, guard, by_agent=True)

    def remove(self, reach: Reach, memory_id: str) -> Memory:
        """Remove any memory on behalf of an operator (idempotent); the memory stays on record.

        Raises:
            NotFound: No memory within reach has this id.
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
                raise Conflict("a constitutional memory cannot be removed")
            return self._move(memory, guard, deleted_at=self.clock.now())

        return optimistic(self.clock, attempt)

    def restore(self, reach: Reach, memory_id: str) -> Memory:
        """Restore a removed or superseded memory (idempotent).

        A journal entry keeps the time at which it fades: a faded entry is not shown again.

        Raises:
            NotFound: No memory within reach has this id.
        """

        def attempt() -> Memory:
            memory = self.get(reach, memory_id)
            if memory.live:
                return memory
            return self._move(memory, None, deleted_at=None, superseded_by=None)

        return optimistic(self.clock, attempt)

    def supersede(self, reach: Reach, memory_id: str, text: str) -> Memory:
        """Replace a live memory by one with other words, on behalf of an operator.

        The new memory has the kind, the scope, the audience and the source of the old one, which
        stays on record. To undo it, restore the old memory and remove the new one.

        Raises:
            NotFound: No memory within reach has this id.
            Conflict: The memory has ended.
            Unprocessable: The text is invalid.
        """
        new_id = f"mem_{self.ids.ulid()}"

        def attempt() -> Memory:
            old = self.get(reach, memory_id)
            if not old.live:
                raise Conflict("the memory has ended: restore it first")
            changes = {
                "id": new_id,
                "text": text,
                "made_by": "api",
                "created_at": self.clock.now(),
                "version": 1,
                "promoted_from": None,
            }
            try:
                new = Memory.model_validate({**dict(old), **changes})
            except ValidationError as error:
                raise invalid_arguments(error) from None
            change = touched(old.tenant, old.agent_id, old.scope)
            kept = Put(new.key, new.to_item(), Missing())
            self.table.transact([*superseded(old, new), kept, change])
            return new

        return optimistic(self.clock, attempt)

    def _move(self, memory: Memory, guard: Check | None, **changes: datetime | None) -> Memory:
        changed = memory.model_copy(update={**changes, "version": memory.version + 1})
        change = touched(memory.tenant, memory.agent_id, memory.scope)
        transact_guarded(self.table, [*moved(memory, changed), change], guard)
        return changed

    def get(self, reach: Reach, memory_id: str) -> Memory:
        """Get a memory, whether live, faded or ended.

        Raises:
            NotFound: No memory within reach has this id.
        """
        keys = _keys(reach, memory_id)
        found = self.table.get_many(keys)
        memories = [Memory.from_item(found[key]) for key in keys if key in found]
        memory = next(filter(reach.shows, memories), None)
        if memory is None:
            raise NotFound("memory not found")
        return memory

    def live(self, reach: Reach) -> list[Memory]:
        """Read an agent's live memories within reach; see `searchable_memories`."""
        return searchable_memories(self.table, reach, now=self.clock.now())

    def list(
        self,
        reach: Reach,
        *,
        kind: MemoryKind | None = None,
        state: MemoryState | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Memory]:
        """List the memories of one partition, by page: live before ended, core before journal.

        Args:
            reach: The agent and the partition; only the first scope is used.
            kind: Only memories of this kind.
            state: Only `live` memories, or only `ended` ones: removed, superseded or faded.
            cursor: Where the previous page ended.

        Raises:
            Invalid: The cursor does not belong to this list.
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
    """Return all keys under which a memory of this id can be stored."""
    return [
        Key(owned_partition(reach.tenant, reach.agent_id, scope), sort_key)
        for scope in reach.scopes
        for sort_key in Memory.sort_keys(memory_id)
    ]
