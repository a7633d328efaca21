"""Lets an agent keep for good what of its journal it would otherwise forget within days.

What it was asked about loses its mark in the very transaction that makes the core memories; where
nothing came of it, the mark brings it back a day later. An entry becomes due three days before it
fades, so that failures can be made good.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice

from skein.errors import Ambiguous, ConditionFailed, ModelRejected, Transient
from skein.models.agent import Agent
from skein.models.audience import Audience
from skein.models.completion import ModelMessage, ModelRequest, TokenUsage
from skein.models.due import NOT_DUE
from skein.models.jobs import ReflectionJob
from skein.models.memory import REFLECTION_LEAD, Memory, touched
from skein.models.ownership import Reach, owned_partition, scopes_at
from skein.models.reflection import ReflectionRecord
from skein.models.storage import Is, Missing, Put, Update, Write, all_of
from skein.ports import Clock, Ids, LanguageModel, Metrics, Table, TokenCounter
from skein.prompts import render
from skein.services.common.model_json import json_object_in
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import items_under
from skein.services.common.quoting import quoted
from skein.services.memory.store import core_in_budget, known_memories
from skein.services.memory.writes import double_of, superseded
from skein.services.quotas.usage import Budget, OverBudget, UsageCounters
from skein.settings import Settings

MAX_PROMOTED = 10  # in one run
MAX_ASKED = 30  # entries in one question; with three writes for each promotion, one transaction
MAX_CONSIDERED = 200  # in one run
AT_ONCE = 200  # entries in one reading
WAITING = timedelta(days=2)  # over the budget, nothing fades before the next day's attempt
SOON = REFLECTION_LEAD + timedelta(days=1)  # with what becomes due before tomorrow
MODEL_SECONDS = 60
ANSWER_TOKENS = 1_000
NOTHING_YET = "Nothing yet."
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"promote": {"type": "array", "items": {"type": "integer"}}},
    "required": ["promote"],
    "additionalProperties": False,
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """Asks agents what of their journal they want to keep, and keeps it."""

    table: Table
    clock: Clock
    ids: Ids
    model: LanguageModel
    tokens: TokenCounter
    usage: UsageCounters
    budget: Budget
    metrics: Metrics
    settings: Settings

    def reflect(self, job: ReflectionJob, *, deadline: datetime) -> None:
        """Ask an agent about what fades in one of its partitions; at most 10 entries are kept.

        Entries that different people may be shown are never part of one question. Doing it twice
        does no harm.

        Args:
            job: Which agent, and which of its partitions.
            deadline: When the invocation ends. There is always time for one question; what there
                is no time for comes the next day.
        """
        item = self.table.get(Agent.key_of(job.tenant, job.agent_id))
        agent = Agent.from_item(item) if item else None
        if agent is None or agent.deleted_at is not None:
            return
        left, last = MAX_PROMOTED, deadline - timedelta(seconds=MODEL_SECONDS + 10)
        for number, fading in enumerate(self._due(job)):
            if left == 0 or (number and self.clock.now() > last):
                return
            try:
                self.budget.check(job.tenant)
            except OverBudget:
                self._wait(job)
                return
            left -= self._reflect_on(agent, job, fading, most=left)

    def _wait(self, job: ReflectionJob) -> None:
        """Keep what would fade before the next attempt until after it; the marks bring that."""
        now = self.clock.now()
        later = now + WAITING
        near = (m for m in self._marked(job) if m.fades_at is not None and now < m.fades_at < later)
        for memory in near:
            kept = memory.model_copy(update={"fades_at": later, "version": memory.version + 1})
            item = kept.to_item()
            change = {name: item[name] for name in ("fades_at", "expires_at", "version")}
            as_read = all_of(Is("id", memory.id), Is("version", memory.version))
            with suppress(ConditionFailed):  # it was decided about meanwhile
                self.table.transact(
                    [
                        Update(memory.key, set=change, condition=as_read),
                        touched(job.tenant, job.agent_id, job.scope),
                    ]
                )

    def _due(self, job: ReflectionJob) -> Iterable[list[Memory]]:
        """What fades soon and was not asked about, in groups for the same people, oldest first."""
        now = self.clock.now()
        due = islice(
            (
                memory
                for memory in self._marked(job)
                if memory.fades_at is not None and now < memory.fades_at <= now + SOON
            ),
            MAX_CONSIDERED,
        )
        for _, group in groupby(sorted(due, key=_for_whom), key=_for_whom):
            yield from self._questions(sorted(group, key=lambda memory: memory.id))

    def _marked(self, job: ReflectionJob) -> Iterator[Memory]:
        """The journal entries that were not asked about, the oldest first, faded ones included.

        Those stay on record for a week and more, so any number of them may come first.
        """
        partition = owned_partition(job.tenant, job.agent_id, job.scope)
        journal = Memory.live_prefix("journal")
        items = items_under(self.table, partition, journal, rows=AT_ONCE)
        return (Memory.from_item(item) for item in items if "gsi2sk" in item)

    def _questions(self, entries: Iterable[Memory]) -> Iterator[list[Memory]]:
        """The entries in questions of at most 30, and of as many tokens as a chunk of messages."""
        asked: list[Memory] = []
        left = limit = self.settings.consolidation_chunk_tokens
        for entry in entries:
            size = self.tokens.count(f"{quoted(entry.text)}\n")
            if asked and (size > left or len(asked) == MAX_ASKED):
                yield asked
                asked, left = [], limit
            asked.append(entry)
            left -= size
        if asked:
            yield asked

    def _reflect_on(
        self, agent: Agent, job: ReflectionJob, fading: Sequence[Memory], *, most: int
    ) -> int:
        """Ask about some entries; returns how many of them are kept."""
        core = self._core(job, fading[0].audience)
        shown = core_in_budget(core, self.tokens, self.settings.core_memory_tokens)
        request = ModelRequest(
            model=agent.model or self.settings.default_model,
            messages=question(agent, shown, fading),
            max_output_tokens=ANSWER_TOKENS,
            timeout_seconds=MODEL_SECONDS,
            answer_schema=SCHEMA,
        )
        try:
            answer = self.model.complete(request)
        except (Transient, ModelRejected) as error:
            self._failed(job, fading, type(error).__name__, TokenUsage())
            return 0
        self.usage.add(job.tenant, answer.usage, spread_by=agent.id, background=True)
        chosen = promoted_in(answer.text, fading)
        if chosen is None:
            self._failed(job, fading, "the answer cannot be read", answer.usage)
            return 0
        # What is wanted beyond that keeps its mark, and is asked about again the next day.
        wanted_later = {one.id for one in chosen[most:]}
        decided = [one for one in fading if one.id not in wanted_later]
        return self._keep(job, decided, [one.id for one in chosen[:most]], answer.usage)

    def _core(self, job: ReflectionJob, place: Audience) -> list[Memory]:
        """What the agent remembers for good, as far as those whom the entries are for may know."""
        reach = Reach(
            tenant=job.tenant, agent_id=job.agent_id, scopes=scopes_at(job.scope), place=place
        )
        known = known_memories(self.table, reach, now=self.clock.now())
        return [memory for memory in known if memory.kind == "core"]

    def _keep(
        self,
        job: ReflectionJob,
        fading: Sequence[Memory],
        chosen: Sequence[str],
        usage: TokenUsage,
    ) -> int:
        """Make core memories of the chosen entries, and let the others fade.

        Rests on a fresh reading: what was removed or is known for good meanwhile stays as it is.
        """
        new_ids = {memory_id: f"mem_{self.ids.ulid()}" for memory_id in chosen}
        record_id = f"ref_{self.ids.ulid()}"

        def attempt() -> int:
            record = ReflectionRecord.key_of(job.tenant, job.agent_id, job.scope, record_id)
            found = self.table.get_many([record, *(memory.key for memory in fading)])
            if record in found:  # it was not known whether this had been written
                return len(ReflectionRecord.from_item(found[record]).promoted)
            known = self._core(job, fading[0].audience)
            writes: list[Write] = []
            promoted: list[str] = []
            for memory in (Memory.from_item(found[m.key]) for m in fading if m.key in found):
                if memory.id in new_ids and double_of("core", memory.text, known) is None:
                    kept = self._core_of(memory, new_ids[memory.id])
                    known.append(kept)
                    promoted.append(kept.id)
                    writes.append(Put(kept.key, kept.to_item(), Missing()))
                    decided = memory.model_copy(update={"considered": True})
                    writes.extend(superseded(decided, kept))
                else:
                    as_read = all_of(Is("id", memory.id), Is("version", memory.version))
                    change = {**NOT_DUE, "considered": True}
                    writes.append(Update(memory.key, set=change, condition=as_read))
            writes.append(self._record(job, fading, usage, record_id, promoted=tuple(promoted)))
            if promoted:
                writes.append(touched(job.tenant, job.agent_id, job.scope))
            try:
                self.table.transact(writes)
            except Ambiguous:
                raise ConditionFailed(frozenset()) from None  # look again: it may be there
            return len(promoted)

        promoted = optimistic(self.clock, attempt)
        self.metrics.count("MemoriesPromoted", promoted)
        return promoted

    def _core_of(self, memory: Memory, memory_id: str) -> Memory:
        """The same for good: for the same people, and from the same messages."""
        return memory.model_copy(
            update={
                "id": memory_id,
                "kind": "core",
                "made_by": "reflection",
                "fades_at": None,
                "promoted_from": memory.id,
                "created_at": self.clock.now(),
                "version": 1,
            }
        )

    def _failed(
        self, job: ReflectionJob, fading: Sequence[Memory], why: str, usage: TokenUsage
    ) -> None:
        logger.warning("a reflection failed", extra={"agent_id": job.agent_id, "why": why})
        self.metrics.count("ReflectionsFailed")
        record_id = f"ref_{self.ids.ulid()}"
        self.table.write(self._record(job, fading, usage, record_id, failure=why))

    def _record(
        self,
        job: ReflectionJob,
        fading: Sequence[Memory],
        usage: TokenUsage,
        record_id: str,
        *,
        promoted: tuple[str, ...] = (),
        failure: str | None = None,
    ) -> Put:
        record = ReflectionRecord(
            tenant=job.tenant,
            agent_id=job.agent_id,
            scope=job.scope,
            id=record_id,
            considered=tuple(memory.id for memory in fading),
            promoted=promoted,
            usage=usage,
            failure=failure,
            at=self.clock.now(),
        )
        return Put(record.key, record.to_item(), Missing())


def question(
    agent: Agent, core: Sequence[Memory], fading: Sequence[Memory]
) -> tuple[ModelMessage, ...]:
    """What an agent is asked about the journal entries in `fading`, which it knows by number."""
    system = render(
        "reflection",
        {
            "identity": agent.identity,
            "memories": "\n".join(f"- {quoted(one.text)}" for one in core) or NOTHING_YET,
        },
    )
    entries = "\n".join(
        f"{n}. [{one.created_at:%Y-%m-%d}] {quoted(one.text)}" for n, one in enumerate(fading, 1)
    )
    asked = render("reflection_input", {"entries": entries})
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def promoted_in(answer: str, fading: Sequence[Memory]) -> list[Memory] | None:
    """The entries that an answer names, in their order, each once; numbers of nothing are left out.

    Returns:
        The entries, possibly none; None when the answer cannot be read.
    """
    found = json_object_in(answer, {"promote"})
    numbers = found.get("promote") if found is not None else None
    if not isinstance(numbers, list):
        return None
    named = {number for number in numbers if type(number) is int}  # a truth value is no number
    return [one for n, one in enumerate(fading, 1) if n in named]


def _for_whom(memory: Memory) -> str:
    return memory.audience.model_dump_json()
