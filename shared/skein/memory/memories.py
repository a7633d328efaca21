"""Add, remove, restore, read and list the memories of agents."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import ValidationError
from ulid import ULID

from skein.errors import Conflict, Unprocessable
from skein.memory.models.memory import MadeBy, Memory, MemoryKind
from skein.memory.store import searchable_memories
from skein.memory.writes import double_of, gives_way, made, normalised, superseded
from skein.models.common.storage import Check, Write
from skein.models.visibility.ownership import Owner, Reach
from skein.ports import Ids
from skein.services.common.optimistic import invalid_arguments, optimistic, transact_guarded
from skein.services.common.pagination import DEFAULT_PAGE, Listing
from skein.services.items.store import OwnedStore, check_open

if TYPE_CHECKING:
    from skein.memory.api.memories import MemoryChange  # only the API imports it

MemoryState = Literal["live", "ended"]
RestsOn = Literal["one_person"]
ENDED = "the memory has ended: restore it first"


class AddedMemory(NamedTuple):
    """The result of adding a memory.

    Attributes:
        memory: The memory as stored.
        known: Whether `memory` is an older memory with the same words. Nothing was added then.
    """

    memory: Memory
    known: bool


def memory_id_of(effect: str, at: datetime) -> str:
    """Derive a memory's id from the effect that adds it, so that retries use the same id.

    The id is a ULID, so ids sort by `at`.

    Args:
        effect: The effect's id.
        at: A time that is the same on every attempt, for example the run's creation time.
    """
    moment = int(at.timestamp() * 1000).to_bytes(6, "big")
    return f"mem_{ULID(moment + hashlib.sha256(effect.encode()).digest()[:10])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories(OwnedStore[Memory]):
    """Store of agents' memories, partitioned by scope."""

    ids: Ids

    @property
    def kind(self) -> type[Memory]:
        return Memory

    def add(
        self,
        owner: Owner,
        text: str,
        kind: MemoryKind,
        *,
        made_by: MadeBy,
        reach: Reach | None = None,
        constitutional: bool = False,
        public: bool = False,
        learned_at: datetime | None = None,
        memory_id: str | None = None,
        guard: Check | None = None,
    ) -> AddedMemory:
        """Add a memory (idempotent with the same `memory_id`).

        If a live memory has the same words, nothing is added. There are two exceptions: a core
        memory supersedes a journal entry with the same words, and an operator's memory supersedes
        memories that no operator made. Both apply only if `gives_way` allows it.

        Args:
            owner: The agent, and the scope, audience and source of the memory.
            text: 1 to 10,000 characters.
            kind: `core` memories stay; `journal` entries fade after 7 days.
            made_by: What makes the memory.
            reach: The memories to search for duplicates. Default: the memories of the same
                partition.
            constitutional: Whether prompts always show the memory.
            public: Whether visitors may be shown the memory, too.
            learned_at: When the agent learned the memory; None for now.
            memory_id: The memory's id. For a run's effect, an id that is the same on every attempt.
                None generates an id.
            guard: A check that the run that adds the memory was not taken over by another worker.

        Raises:
            Unprocessable: The text is invalid, or a journal entry is to be constitutional.
            LostLease: The guard fails: another worker has claimed the run.
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
                learned_at=learned_at,
                constitutional=constitutional,
                public=public,
            )
        except ValidationError as error:
            raise invalid_arguments(error) from None
        within = reach or owner.reach
        return optimistic(self.clock, lambda: self._add_once(memory, within, guard))

    def _add_once(self, memory: Memory, reach: Reach, guard: Check | None) -> AddedMemory:
        own = Reach(tenant=memory.tenant, agent_id=memory.agent_id, scopes=(memory.scope,))
        found = self.read(own, [memory.id])
        stored = found.shown(memory.id)
        if stored is not None:
            return AddedMemory(stored, known=False)
        live = self.live(reach)
        double = double_of(memory, live)
        if double is not None and (double.constitutional or not memory.constitutional):
            return AddedMemory(double, known=True)
        writes: list[Write] = found.writes(None, memory)
        for old in live:
            same = normalised(old.text) == normalised(memory.text)
            if same and old.kind in {"journal", memory.kind} and gives_way(old, memory, reach):
                writes += superseded(old, memory, memory.created_at)
        transact_guarded(self.table, writes, guard)
        return AddedMemory(memory, known=False)

    def forget(self, reach: Reach, memory_id: str, *, guard: Check | None = None) -> Memory:
        """Remove a memory on behalf of its agent (idempotent).

        Raises:
            NotFound: The memory does not exist, or the caller may not access it.
            Conflict: The caller has no right to change the memory.
            LostLease: The guard fails: another worker has claimed the run.
        """
        return self.edit(reach, memory_id, self._removed, guard=guard)

    def delete(self, reach: Reach, item_id: str) -> Memory:
        """Remove any memory on behalf of an operator (idempotent). The memory stays on record.

        Raises:
            NotFound: The memory does not exist, or the caller may not access it.
        """
        return self.edit(reach, item_id, self._removed)

    def _removed(self, memory: Memory) -> Memory:
        if memory.status == "removed":
            return memory
        return memory.ended("removed", self.clock.now())

    def restore(self, reach: Reach, memory_id: str) -> Memory:
        """Restore a removed or superseded memory (idempotent).

        A journal entry still fades at its original time. If it has already faded, it is not shown
        again.

        Raises:
            NotFound: The memory does not exist, or the caller may not access it.
        """
        return self.edit(reach, memory_id, Memory.restored)

    def change(self, reach: Reach, memory_id: str, change: "MemoryChange") -> Memory:
        """Confirm a memory for an operator, mark it as public, or undo either (idempotent).

        Only operators can change a confirmed memory.

        Raises:
            NotFound: The memory does not exist, or the caller may not access it.
            Conflict: The memory has ended, or is private and cannot be public.
        """

        def changed(memory: Memory) -> Memory:
            if not memory.live:
                raise Conflict(ENDED)
            if change.public:
                check_open(memory)
            confirmed, public = change.confirmed, change.public
            kept = memory.by_operator if confirmed is None else confirmed
            return memory.model_copy(
                update={
                    "by_operator": kept or memory.made_by == "api",
                    "public": memory.public if public is None else public,
                }
            )

        return self.edit(reach, memory_id, changed)

    def supersede(self, reach: Reach, memory_id: str, text: str) -> Memory:
        """Replace a live memory with a new memory that has other words, on behalf of an operator.

        The new memory has the kind, the scope, the audience and the source of the old memory, which
        stays on record. To undo this, restore the old memory and remove the new one.

        Raises:
            NotFound: The memory does not exist, or the caller may not access it.
            Conflict: The memory has ended.
            Unprocessable: The text is invalid.
        """
        new_id = f"mem_{self.ids.ulid()}"

        def attempt() -> Memory:
            found = self.read(reach, [memory_id])
            old = found.get(memory_id)
            if not old.live:
                raise Conflict(ENDED)
            changes = {
                "id": new_id,
                "text": text,
                "made_by": "api",
                "by_operator": True,
                "created_at": self.clock.now(),
                "learned_at": None,
                "version": 1,
            }
            try:
                new = Memory.model_validate({**dict(old), **changes})
            except ValidationError as error:
                raise invalid_arguments(error) from None
            writes = superseded(old, new, new.created_at)
            self.table.transact([*found.writes(None, new), *writes])
            return new

        return optimistic(self.clock, attempt)

    def live(self, reach: Reach) -> list[Memory]:
        """Read an agent's live memories within reach; see `searchable_memories`."""
        return searchable_memories(self.table, reach, now=self.clock.now())

    def list(
        self,
        reach: Reach,
        *,
        status: str | None = None,
        kind: MemoryKind | None = None,
        rests_on: RestsOn | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Memory]:
        """List a page of one partition's memories: live ones before ended ones, operators' first.

        Args:
            reach: The agent and the partition; only the first scope is used.
            status: `live` for live memories. `ended` for memories that were removed or superseded
                or have faded. Default: all.
            kind: Only memories of this kind.
            rests_on: Only unconfirmed memories that were made from the words of a single person.
            limit: The maximum size of the page.
            cursor: Where the previous page ended.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        now = self.clock.now()

        def wanted(memory: Memory) -> bool:
            if kind not in {None, memory.kind} or (rests_on and not memory.rests_on_one_person):
                return False
            live = memory.live and not memory.faded(now)
            return status is None or live == (status == "live")

        sections = Memory.prefixes(kind=kind, live=status != "ended", ended=status != "live")
        return self.page(reach, sections, wanted, limit=limit, cursor=cursor)
