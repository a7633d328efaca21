"""Store the memories of a chunk together with the new consolidation watermark.

The memories and the agent's new watermark are written in one transaction, which requires that the
old watermark is unchanged. No message is therefore skipped. A failed chunk and its record are also
written in one transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from skein.errors import ConditionFailed
from skein.memory.chunking import Chunk, HistoryPosition
from skein.memory.extraction import Extraction
from skein.memory.models.memory import Memory
from skein.memory.models.records import ConsolidationRecord, KeptCounts
from skein.memory.profile_extraction import ProfileDraft, filled, person_of
from skein.memory.store import searchable_memories
from skein.memory.transcript import AgentChunk, ConsolidationTarget
from skein.memory.writes import MemoryWrites, remember
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import rfc3339
from skein.models.common.storage import (
    Absent,
    Check,
    Condition,
    Is,
    Put,
    Update,
    Write,
    all_of,
)
from skein.models.directory.user import User
from skein.models.items.agent_item import raised, revision_key
from skein.models.runs.completion import TokenUsage
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import NO_AUTHORS
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.background.engine import Failure, Overtaken, TooMuch
from skein.services.chats.consolidation_schedule import MAX_FAILURES, after_failure
from skein.services.common.optimistic import optimistic, revise
from skein.services.directory.name_index import reindexed

MAX_WRITES = 95
MAX_BYTES = 3_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCommitter:
    """Service that stores an agent's memories of a chat and moves its consolidation watermark."""

    table: Table
    clock: Clock
    ids: Ids
    metrics: Metrics

    def keep(self, batch: AgentChunk, extracted: Extraction | None, usage: TokenUsage) -> None:
        """Store a chunk's memories and profile values together with the new watermark.

        Args:
            batch: The chunk from which the memories were made.
            extracted: The entries to store; None if the model was not asked.
            usage: The tokens used, including those of attempts with larger chunks.

        Raises:
            Overtaken: The watermark moved, the agent left, or an erasure began; nothing is stored.
            TooMuch: The writes exceed one transaction; nothing is stored.
        """
        target, since, chunk, owner = batch.target, batch.since, batch.chunk, batch.owner
        reach = batch.reach(extracted.authors if extracted is not None else NO_AUTHORS)
        owner = owner.model_copy(update={"authors": reach.actor.authors})
        record_id = f"con_{self.ids.ulid()}"

        def attempt() -> KeptCounts:
            drafts = extracted.profile if extracted is not None else ()
            read = self._read(target.membership, owner, drafts, record_id)
            membership = read.membership
            if read.kept is not None:
                return read.kept
            if not membership.active or position_of(membership) != since:
                raise Overtaken(str(membership.key))
            kept = MemoryWrites()
            if extracted is not None and (extracted.entries or extracted.removed):
                live = searchable_memories(self.table, reach, now=self.clock.now())
                kept = remember(
                    owner,
                    extracted.entries_for(live),
                    live,
                    removed=extracted.removed_for(live),
                    reach=reach,
                    revision=read.revision,
                    now=self.clock.now(),
                    learned_at=chunk.pieces[-1].message.created_at,
                    ids=self.ids,
                )
            profile, values = self._profile(read.person, drafts, owner)
            counts = kept.kept.model_copy(update={"profile": values})
            record = self._record(
                batch, usage, id=record_id, kept=counts, passed_over=extracted is None
            )
            change = _moved(chunk.position) | {"consolidation_failures": 0}
            watermark = Update(membership.key, set=change, condition=_still(membership))
            commit_chunk(self.table, target.chat, watermark, record, [*kept.writes, *profile])
            return counts

        kept = optimistic(self.clock, attempt, finds_own_write=True)
        self.metrics.count("MemoriesMade", kept.core + kept.journal)
        if kept.profile:
            self.metrics.count("ProfileFieldsSet", kept.profile)

    def fail(self, batch: AgentChunk, failure: Failure) -> None:
        """Record a failed chunk and the time of its retry; the watermark stays unchanged.

        If the watermark has moved or the agent has left the chat, nothing is recorded.
        """
        target, since = batch.target, batch.since

        def attempt() -> int:
            membership, now = self._membership(target.membership), self.clock.now()
            if membership is None or not membership.active or position_of(membership) != since:
                return 0
            record = self._record(batch, failure.usage, failure=failure.why)
            return commit_failure(self.table, membership, _still(membership), record, now)

        count_stuck(self.metrics, optimistic(self.clock, attempt))

    def pass_over(
        self, membership: Membership, since: HistoryPosition, until: HistoryPosition
    ) -> None:
        """Move the watermark without asking the model.

        This is used for messages that say nothing new, and for deleted agents.
        """

        def attempt() -> None:
            fresh = self._membership(membership)
            if fresh is not None and fresh.active and position_of(fresh) == since:
                change = _moved(until) | {"consolidation_failures": 0}
                self.table.write(Update(fresh.key, set=change, condition=_still(fresh)))

        optimistic(self.clock, attempt)

    def _read(
        self, membership: Membership, owner: Owner, drafts: Sequence[ProfileDraft], record_id: str
    ) -> "_Reading":
        """Read, in one batch, all items on which a chunk's transaction depends.

        The person is read only if there are values for the profile.

        Raises:
            Overtaken: The membership does not exist.
        """
        key = revision_key(owner.tenant, owner.agent_id, owner.scope)
        record = ConsolidationRecord.key_of(membership.tenant, membership.chat_id, record_id)
        person_id = person_of(owner) if drafts else None
        person_keys = [User.key_of(owner.tenant, person_id)] if person_id is not None else []
        found = self.table.get_many([membership.key, key, record, *person_keys])
        if membership.key not in found:
            raise Overtaken(str(membership.key))
        return _Reading(
            Membership.must_read(found, membership.key),
            raised(key, Memory.COUNTER, found),
            next(iter(User.read_each(found, person_keys)), None),
            ConsolidationRecord.must_read(found, record).kept if record in found else None,
        )

    def _profile(
        self, person: User | None, drafts: Sequence[ProfileDraft], owner: Owner
    ) -> tuple[Sequence[Write], int]:
        """Return the writes that fill a person's profile, and the number of values.

        If the person is being erased, there are no writes.
        """
        if person is None or person.erasure_id is not None:
            return (), 0
        ids = [f"pch_{self.ids.ulid()}" for _ in drafts]
        given, count = filled(person, drafts, owner, change_ids=ids, now=self.clock.now())
        if not given:
            return (), 0
        revised, write = revise(person, given)
        return (write, *reindexed(person, revised)), count

    def _membership(self, membership: Membership) -> Membership | None:
        """Read the membership again; None if it no longer exists."""
        return Membership.read(self.table, membership.key)

    def _record(
        self, batch: AgentChunk, usage: TokenUsage, **fields: object
    ) -> ConsolidationRecord:
        values = {"id": f"con_{self.ids.ulid()}", "usage": usage, "at": self.clock.now()}
        return record_of(batch.target, batch.chunk, **values | fields)


class _Reading(NamedTuple):
    """What was read for a chunk's transaction.

    Attributes:
        membership: The agent's membership.
        revision: The write that raises the revision of the agent's memories. It fails if another
            writer has raised the revision.
        person: The person whose profile is filled.
        kept: The counts from an earlier attempt, if it stored the chunk although the worker did not
            learn its outcome.
    """

    membership: Membership
    revision: Update
    person: User | None
    kept: KeptCounts | None


def record_of(target: ConsolidationTarget, chunk: Chunk, **fields: object) -> ConsolidationRecord:
    """Return the record of a chunk.

    Args:
        target: The agent and the chat.
        fields: The other fields of the record.
    """
    values = {
        "tenant": target.chat.tenant,
        "chat_id": target.chat.id,
        "agent_id": target.agent.id,
        "from_seq": chunk.from_seq,
        "to_seq": chunk.to_seq,
        "messages": len(chunk.pieces),
    }
    return ConsolidationRecord.model_validate(values | fields)


def commit_chunk(
    table: Table,
    chat: Chat,
    watermark: Update,
    record: ConsolidationRecord,
    memories: Sequence[Write],
) -> None:
    """Store the results of a chunk together with the new watermark.

    An erasure raises the chat's epoch, and the transaction fails if the epoch has changed. No
    memory is therefore made from erased messages.

    Args:
        chat: The chat as it was read before the model was asked.
        watermark: The write that moves the watermark. It fails if another writer has moved it.
        record: The record of the chunk.
        memories: The writes of the memories and the profile.

    Raises:
        Overtaken: An erasure began; nothing is stored.
        TooMuch: The writes exceed one transaction; nothing is stored.
        ConditionFailed: Another writer was faster.
    """
    same_epoch = 1  # position of the check
    writes: list[Write] = [
        watermark,
        Check(chat.key, Is("epoch", chat.epoch)),
        Put(record.key, record.to_item()),
        *memories,
    ]
    if len(writes) > MAX_WRITES or _size(writes) > MAX_BYTES:
        raise TooMuch("the memories do not fit into one transaction")
    try:
        table.transact(writes)
    except ConditionFailed as failure:
        if same_epoch in failure.failed:
            raise Overtaken(str(chat.key)) from failure
        raise


def commit_failure(
    table: Table,
    membership: Membership,
    unmoved: Condition,
    record: ConsolidationRecord,
    now: datetime,
) -> int:
    """Record a failed chunk and the time of its retry.

    Args:
        membership: The agent's membership.
        unmoved: The condition that the watermark is unchanged.
        record: The record of the failed chunk.

    Returns:
        The number of consecutive failed attempts.

    Raises:
        ConditionFailed: Another writer was faster.
    """
    failures = membership.consolidation_failures + 1
    change = {
        "consolidation_failures": failures,
        "consolidation_retry_at": rfc3339(after_failure(now, failures)),
    }
    same = Is("consolidation_failures", membership.consolidation_failures)
    table.transact(
        [
            Update(membership.key, set=change, condition=all_of(unmoved, same)),
            Put(record.key, record.to_item()),
        ]
    )
    return failures


def count_stuck(metrics: Metrics, failures: int) -> None:
    """Count a consolidation that has failed too often and needs an operator."""
    if failures >= MAX_FAILURES:
        metrics.count("ConsolidationsStuck")


def position_of(membership: Membership) -> HistoryPosition:
    """Return an agent's consolidation watermark in a chat."""
    joined_since = membership.joined_seq > membership.consolidated_seq
    return HistoryPosition(
        membership.remembered_seq, 0 if joined_since else membership.consolidated_characters
    )


def _moved(position: HistoryPosition) -> dict[str, object]:
    return {"consolidated_seq": position.seq, "consolidated_characters": position.characters}


def _still(membership: Membership) -> Condition:
    """Return the condition that the agent is still a member and its watermark has not moved."""
    return all_of(
        Is("consolidated_seq", membership.consolidated_seq),
        Is("consolidated_characters", membership.consolidated_characters),
        Is("joined_seq", membership.joined_seq),
        Absent("left_seq"),
        Is("chat_id", membership.chat_id),
    )


def _size(writes: list[Write]) -> int:
    """Estimate the size of a transaction in bytes. Only `Put` writes count; they have the texts."""
    return sum(
        len(str(value).encode())
        for write in writes
        if isinstance(write, Put)
        for value in write.item.values()
    )
