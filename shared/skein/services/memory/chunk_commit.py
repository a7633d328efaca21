"""What comes of a chunk of conversation, as it is written: all of it, or nothing.

The memories of a chunk and the agent's new mark are one transaction, conditional on the old mark
(DESIGN section 5, invariant 13); so are a failure and its record.
"""

import logging
from dataclasses import dataclass, replace
from typing import NamedTuple

from skein.errors import Ambiguous, ConditionFailed, SkeinError
from skein.models.base import rfc3339
from skein.models.chat import Membership
from skein.models.completion import TokenUsage
from skein.models.consolidation import ConsolidationRecord, Kept
from skein.models.memory import revision_key
from skein.models.ownership import Owner
from skein.models.storage import (
    Absent,
    Check,
    Condition,
    Is,
    Item,
    Key,
    Put,
    Update,
    Write,
    all_of,
    any_of,
)
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.common.optimistic import optimistic
from skein.services.memory.chunking import Chunk, Mark
from skein.services.memory.consolidation_schedule import PATIENCE, after_failure
from skein.services.memory.extraction import Extracted, TooMuch
from skein.services.memory.store import known_memories
from skein.services.memory.transcript import Work, reach_of
from skein.services.memory.writes import Remembered, remember

MAX_WRITES = 95
MAX_BYTES = 3_000_000

logger = logging.getLogger(__name__)


class Overtaken(SkeinError):
    """It is not as it was: the agent has left, somebody else was here, or somebody is erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCommitter:
    """Writes down what agents remember of a chat, and up to where they have come."""

    table: Table
    clock: Clock
    ids: Ids
    metrics: Metrics

    def keep(
        self,
        work: Work,
        since: Mark,
        chunk: Chunk,
        owner: Owner,
        extracted: Extracted | None,
        usage: TokenUsage,
    ) -> None:
        """Store what comes of a chunk together with the new mark.

        Args:
            work: Who remembers, and of which chat.
            since: The mark as it was when the chunk was made.
            chunk: What was asked about.
            owner: On whose behalf, and before whom.
            extracted: What is to be remembered; None where nobody was asked.
            usage: What that has cost, attempts with larger chunks included.

        Raises:
            Overtaken: The mark is elsewhere, or an erasure has begun; nothing is stored.
            TooMuch: One transaction does not hold it; nothing is stored.
        """
        unclear = False

        def attempt() -> Kept:
            nonlocal unclear
            place, revision = self._read(work.place, owner)
            if unclear and mark_of(place) == chunk.mark:
                return Kept()
            if not place.active or mark_of(place) != since:
                raise Overtaken(str(place.key))
            kept = Remembered()
            if extracted is not None and extracted.entries:
                live = known_memories(self.table, reach_of(owner), now=self.clock.now())
                kept = remember(
                    owner,
                    extracted.entries,
                    live,
                    span=(chunk.from_seq, chunk.to_seq),
                    now=self.clock.now(),
                    ids=self.ids,
                )
            record = self._record(work, chunk, usage, kept=kept.kept, passed_over=extracted is None)
            change = _moved(chunk.mark) | {"consolidation_failures": 0}
            same_epoch = 1  # an erasure raises it; nothing may come of what that sweeps
            writes: list[Write] = [
                Update(place.key, set=change, condition=_still(place)),
                Check(work.chat.key, Is("epoch", work.chat.epoch)),
                Put(record.key, record.to_item()),
                *(_on_revision(write, revision) for write in kept.writes),
            ]
            if len(writes) > MAX_WRITES or _size(writes) > MAX_BYTES:
                spent = extracted.usage if extracted else TokenUsage()
                raise TooMuch("it is more than a transaction holds", spent)
            try:
                self.table.transact(writes)
            except Ambiguous:
                unclear = True
                raise ConditionFailed(frozenset()) from None  # look again: it may be there
            except ConditionFailed as failure:
                if same_epoch in failure.failed:
                    raise Overtaken(str(work.chat.key)) from failure
                raise
            return kept.kept

        kept = optimistic(self.clock, attempt)
        self.metrics.count("MemoriesMade", kept.core + kept.journal)

    def fail(self, work: Work, since: Mark, chunk: Chunk, why: str, usage: TokenUsage) -> None:
        """Put on record that nothing came of a chunk, and when it is to be tried again."""

        def attempt() -> int:
            place, now = self._place(work.place), self.clock.now()
            if place is None or not place.active or mark_of(place) != since:
                return 0
            failures = place.consolidation_failures + 1
            change = {
                "consolidation_failures": failures,
                "consolidation_retry_at": rfc3339(after_failure(now, failures)),
            }
            record = self._record(work, chunk, usage, failure=why)
            unchanged = all_of(
                _still(place), _is_or_new("consolidation_failures", place.consolidation_failures)
            )
            self.table.transact(
                [
                    Update(place.key, set=change, condition=unchanged),
                    Put(record.key, record.to_item()),
                ]
            )
            return failures

        failures = optimistic(self.clock, attempt)
        logger.warning(
            "a consolidation failed",
            extra={"chat_id": work.chat.id, "agent_id": work.agent.id, "why": why},
        )
        self.metrics.count("ConsolidationsFailed")
        if failures >= PATIENCE:
            self.metrics.count("ConsolidationsStuck")

    def pass_over(self, place: Membership, since: Mark, until: Mark) -> None:
        """Move the mark past what holds no words, or past everything for an agent that is gone."""

        def attempt() -> None:
            fresh = self._place(place)
            if fresh is not None and fresh.active and mark_of(fresh) == since:
                change = _moved(until) | {"consolidation_failures": 0}
                self.table.write(Update(fresh.key, set=change, condition=_still(fresh)))

        optimistic(self.clock, attempt)

    def _read(self, place: Membership, owner: Owner) -> tuple[Membership, "_Revision"]:
        """The agent's place, and what everything that is written rests on, in one batch."""
        key = revision_key(owner.tenant, owner.agent_id, owner.scope)
        found = self.table.get_many([place.key, key])
        if place.key not in found:
            raise Overtaken(str(place.key))
        known = found.get(key, {}).get("revision")
        return Membership.from_item(found[place.key]), _Revision(key, known)

    def _place(self, place: Membership) -> Membership | None:
        """The place as it is now; None once the agent has left."""
        item: Item | None = self.table.get(place.key)
        return Membership.from_item(item) if item is not None else None

    def _record(
        self, work: Work, chunk: Chunk, usage: TokenUsage, **fields: object
    ) -> ConsolidationRecord:
        values = {
            "tenant": work.chat.tenant,
            "chat_id": work.chat.id,
            "id": f"con_{self.ids.ulid()}",
            "agent_id": work.agent.id,
            "from_seq": chunk.from_seq,
            "to_seq": chunk.to_seq,
            "messages": len(chunk.pieces),
            "usage": usage,
            "at": self.clock.now(),
        }
        return ConsolidationRecord.model_validate(values | fields)


class _Revision(NamedTuple):
    """The revision of what an agent remembers, as it was read."""

    key: Key
    known: int | None


def _on_revision(write: Write, revision: _Revision) -> Write:
    """The write; nobody may have remembered anything in between if it says that somebody has."""
    if isinstance(write, Update) and write.key == revision.key:
        return replace(write, condition=Is("revision", revision.known))
    return write


def mark_of(place: Membership) -> Mark:
    """Up to where an agent has remembered a chat."""
    joined_since = place.joined_seq > place.consolidated_seq
    return Mark(place.remembered_seq, 0 if joined_since else place.consolidated_characters)


def _moved(mark: Mark) -> dict[str, object]:
    return {"consolidated_seq": mark.seq, "consolidated_characters": mark.characters}


def _still(place: Membership) -> Condition:
    """The agent's mark is the one that was read, and the agent is still there."""
    return all_of(
        _is_or_new("consolidated_seq", place.consolidated_seq),
        _is_or_new("consolidated_characters", place.consolidated_characters),
        _is_or_new("joined_seq", place.joined_seq),
        Absent("left_seq"),
        Is("chat_id", place.chat_id),
    )


def _is_or_new(name: str, value: int) -> Condition:
    """A count is what was read; items that are older than the attribute are without it."""
    return any_of(Is(name, value), Absent(name)) if value == 0 else Is(name, value)


def _size(writes: list[Write]) -> int:
    """About how many bytes a transaction takes; texts are what counts."""
    return sum(
        len(str(value).encode())
        for write in writes
        if isinstance(write, Put)
        for value in write.item.values()
    )
