"""Reflection: a background task that asks agents which fading journal entries to keep.

A journal entry becomes due three days before it fades, so that a failed attempt can be repeated.
The transaction that writes the core memories also clears the due pointers of all entries about
which the agent has decided. After a failure, the due pointers remain, and a day later the finder
(the job that looks for due work) finds the entries again.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import ClassVar, NamedTuple

from skein.errors import ConditionFailed
from skein.interface.names import Names
from skein.interface.sources import SourceNames, named_in
from skein.memory.models.memory import REFLECTION_LEAD, Memory
from skein.memory.models.records import ReflectionRecord
from skein.memory.shown import core_in_budget, dated_line
from skein.memory.store import searchable_memories
from skein.memory.writes import double_of, superseded
from skein.models.common.storage import Is, Missing, Put, Update, Write, all_of
from skein.models.directory.agent import Agent
from skein.models.items.agent_item import touched
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import ReflectionJob
from skein.models.quotas.usage import Words
from skein.models.runs.completion import ModelAnswer, ModelMessage, TokenUsage
from skein.models.visibility.ownership import Actor, Reach, owned_partition, scopes_at
from skein.models.visibility.provenance import MANY, NO_AUTHORS, Authors
from skein.ports import Clock, Ids, Metrics, Table
from skein.prompts import render
from skein.services.background.engine import Failure, Outcome, Question, Task, UnusableAnswer
from skein.services.chat_state.snapshot import read_agent
from skein.services.common.model_json import json_object_in
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import items_under
from skein.services.common.quoting import quoted
from skein.services.common.token_cache import RememberedTokens
from skein.settings import Settings

MAX_PROMOTED = 10  # entries per job
MAX_ASKED = 30  # entries per question; a promotion has three writes, so they fit one transaction
MAX_CONSIDERED = 200  # entries per job
ENTRIES_PER_PAGE = 200
WAITING = timedelta(days=2)  # minimum time that entries are kept while the budget is used up
FADING_WITHIN = REFLECTION_LEAD + timedelta(days=1)  # entries that are due tomorrow are included
NOTHING_YET = "Nothing yet."
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"promote": {"type": "array", "items": {"type": "integer"}}},
    "required": ["promote"],
    "additionalProperties": False,
}


@dataclass(slots=True)
class ReflectionClaim:
    """A worker's claim on the memories of an agent in one scope. Several claims at once do no harm.

    Attributes:
        agent: The agent.
        job: The job of the task.
        left: How many entries may still be promoted in this job.
    """

    agent: Agent
    job: ReflectionJob
    left: int = MAX_PROMOTED


class ChosenEntries(NamedTuple):
    """The journal entries that an answer promotes, in the order of the question.

    Attributes:
        entries: The journal entries.
        authors: The people whose words are in the question, by digest.
    """

    entries: Sequence[Memory]
    authors: Authors


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionTask(Task[ReflectionJob, ReflectionClaim, Sequence[Memory], ChosenEntries]):
    """Background task that promotes at most 10 fading journal entries of a partition per job.

    All entries in one question have the same audience. Open entries in one question also have the
    same authors and the same chat. Otherwise, the task might have no right to end some of the
    entries that the answer promotes (`Readers.changes`). While the tenant is over its budget,
    entries that would soon fade are kept longer.
    """

    name: ClassVar[str] = "reflection"
    failures: ClassVar[str] = "ReflectionsFailed"
    seconds: ClassVar[int] = 90
    answer_tokens: ClassVar[int] = 1_000

    table: Table
    clock: Clock
    ids: Ids
    tokens: RememberedTokens
    metrics: Metrics
    settings: Settings

    def claim(self, job: ReflectionJob, until: datetime) -> ReflectionClaim | None:
        """Read the agent; None if it was deleted."""
        agent = read_agent(self.table, job.tenant, job.agent_id)
        return ReflectionClaim(agent, job) if agent is not None else None

    def read(self, claim: ReflectionClaim) -> Iterator[Iterator[Sequence[Memory]]]:
        """Read the undecided entries that fade soon, and yield them grouped into questions.

        Entries are in the same question only if the same rights are needed to change them. Entries
        that may repeat words shown by a sharing rule are not promoted: these words must stay in
        their chat, but a core memory could be shown in other chats. Within a question, the oldest
        entry comes first. If one question fails, the others are still asked.
        """
        now = self.clock.now()
        due = islice(
            (
                memory
                for memory in self._marked(claim.job)
                if memory.fades_at is not None
                and now < memory.fades_at <= now + FADING_WITHIN
                and not memory.authors.by_rule
            ),
            MAX_CONSIDERED,
        )
        for _, group in groupby(sorted(due, key=_rights_on), key=_rights_on):
            for fading in self._questions(sorted(group, key=lambda memory: memory.id)):
                if claim.left == 0:
                    return
                yield iter([fading])

    def question(self, claim: ReflectionClaim, batch: Sequence[Memory]) -> Question[ChosenEntries]:
        """Return the question that asks which entries the agent wants to keep."""
        core = self._core(claim.job, batch[0])
        shown = core_in_budget([one for one in core if _may_hold(batch, one)], self.tokens)
        authors = NO_AUTHORS.joined(*(memory.authors for memory in (*shown, *batch)))

        def parse(answer: ModelAnswer) -> ChosenEntries:
            return ChosenEntries(promoted_in(answer, batch), authors)

        return Question(
            model=claim.agent.model or self.settings.default_model,
            messages=question(claim.agent, shown, batch),
            schema=SCHEMA,
            agent_id=claim.agent.id,
            words=Words.of(
                (user_id, len(memory.text))
                for memory in batch
                for user_id in memory.made_from.writers.ids
            ),
            spread_by=claim.agent.id,
            parse=parse,
        )

    def write(
        self,
        claim: ReflectionClaim,
        batch: Sequence[Memory],
        answer: ChosenEntries,
        usage: TokenUsage,
    ) -> None:
        """Write a core memory for each chosen entry; mark the other entries as considered.

        If more entries are chosen than may be promoted, the rest keep their due pointer, so that
        the next day's job asks about them again. Each attempt reads the entries again (optimistic
        lock). An entry that was removed meanwhile is skipped. A chosen entry is not promoted if a
        core memory already has the same words, or if the task has no right to end the entry.
        """
        reach = self._reach(claim.job, batch[0], answer.authors)
        job, wanted_later = claim.job, {one.id for one in answer.entries[claim.left :]}
        decided = [one for one in batch if one.id not in wanted_later]
        chosen = [one.id for one in answer.entries[: claim.left]]
        new_ids = {memory_id: f"mem_{self.ids.ulid()}" for memory_id in chosen}
        record_id = f"ref_{self.ids.ulid()}"
        record = ReflectionRecord.key_of(job.tenant, job.agent_id, job.scope, record_id)

        def attempt() -> int:
            found = self.table.get_many([record, *(memory.key for memory in decided)])
            if record in found:
                return len(ReflectionRecord.must_read(found, record).promoted)
            known = self._core(job, batch[0])
            writes: list[Write] = []
            promoted: list[str] = []
            for memory in (Memory.must_read(found, m.key) for m in decided if m.key in found):
                new_id = new_ids.get(memory.id)
                kept = self._core_of(memory, new_id, answer.authors) if new_id else None
                if kept and double_of(kept, known) is None and reach.changes(memory):
                    known.append(kept)
                    promoted.append(kept.id)
                    writes.append(Put(kept.key, kept.to_item(), Missing()))
                    considered = memory.model_copy(update={"considered": True})
                    writes.extend(superseded(considered, kept, kept.created_at))
                else:
                    as_read = all_of(Is("id", memory.id), Is("version", memory.version))
                    change = {**NOT_DUE, "considered": True}
                    writes.append(Update(memory.key, set=change, condition=as_read))
            writes.append(self._record(job, decided, usage, id=record_id, promoted=tuple(promoted)))
            if promoted:
                writes.append(touched(job.tenant, job.agent_id, job.scope))
            self.table.transact(writes)
            return len(promoted)

        promoted = optimistic(self.clock, attempt, finds_own_write=True)
        self.metrics.count("MemoriesPromoted", promoted)
        claim.left -= promoted

    def fail(self, claim: ReflectionClaim, batch: Sequence[Memory], failure: Failure) -> None:
        """Record the failure. The entries keep their due pointers, so they are tried again."""
        self.table.write(self._record(claim.job, batch, failure.usage, failure=failure.why))

    def release(self, claim: ReflectionClaim, outcome: Outcome) -> None:
        """If the task must wait, postpone the fading of entries that would fade meanwhile."""
        if outcome.not_before is not None:
            self._wait(claim.job)

    def _wait(self, job: ReflectionJob) -> None:
        """Postpone the fading of entries that would fade before the next attempt.

        The entries keep their due pointers, so the next attempt finds them.
        """
        now = self.clock.now()
        later = now + WAITING
        near = (m for m in self._marked(job) if m.fades_at is not None and now < m.fades_at < later)
        for memory in near:
            kept = memory.model_copy(update={"fades_at": later, "version": memory.version + 1})
            item = kept.to_item()
            change = {name: item[name] for name in ("fades_at", "expires_at", "version")}
            as_read = all_of(Is("id", memory.id), Is("version", memory.version))
            with suppress(ConditionFailed):  # another worker decided about the entry meanwhile
                self.table.transact(
                    [
                        Update(memory.key, set=change, condition=as_read),
                        touched(job.tenant, job.agent_id, job.scope),
                    ]
                )

    def _marked(self, job: ReflectionJob) -> Iterator[Memory]:
        """Yield the journal entries that have a due pointer, oldest first.

        Faded entries are included. They stay in the table for a week or more, so many faded entries
        may come first.
        """
        partition = owned_partition(job.tenant, job.agent_id, job.scope)
        journal = Memory.live_prefix("journal")
        items = items_under(self.table, partition, journal, rows=ENTRIES_PER_PAGE)
        return Memory.each_of(item for item in items if "gsi2sk" in item)

    def _questions(self, entries: Iterable[Memory]) -> Iterator[list[Memory]]:
        """Split entries into questions of at most 30 entries and at most the tokens of a chunk.

        A single entry with more tokens is a question of its own.
        """
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

    def _core(self, job: ReflectionJob, entry: Memory) -> list[Memory]:
        """Read the agent's core memories that may be shown to the audience of `entry`."""
        reach = self._reach(job, entry)
        known = searchable_memories(self.table, reach, now=self.clock.now())
        return [memory for memory in known if memory.kind == "core"]

    @staticmethod
    def _reach(job: ReflectionJob, entry: Memory, authors: Authors = MANY) -> Reach:
        """Return the reach for a question about entries with the audience and chat of `entry`.

        Args:
            job: The job of the task.
            entry: One of the entries.
            authors: The people whose words are in the question, by digest.
        """
        return Reach(
            tenant=job.tenant,
            agent_id=job.agent_id,
            scopes=scopes_at(job.scope),
            readers=entry.audience,
            actor=Actor(chat_id=entry.home, authors=authors, outsiders=not authors.empty),
        )

    def _core_of(self, memory: Memory, memory_id: str, authors: Authors) -> Memory:
        """Return a core memory with the audience and the sources of `memory`.

        Args:
            memory: The journal entry.
            memory_id: The id of the core memory.
            authors: The people whose words are in the question, by digest.
        """
        return memory.model_copy(
            update={
                "id": memory_id,
                "kind": "core",
                "made_by": "reflection",
                "fades_at": None,
                "authors": authors,
                "made_from": memory.made_from.naming([memory.id]),
                "created_at": self.clock.now(),
                "learned_at": memory.learned_at or memory.created_at,
                "version": 1,
            }
        )

    def _record(
        self, job: ReflectionJob, entries: Sequence[Memory], usage: TokenUsage, **fields: object
    ) -> Put:
        values = {
            "tenant": job.tenant,
            "agent_id": job.agent_id,
            "scope": job.scope,
            "id": f"ref_{self.ids.ulid()}",
            "considered": tuple(memory.id for memory in entries),
            "usage": usage,
            "at": self.clock.now(),
        }
        record = ReflectionRecord.model_validate(values | fields)
        return Put(record.key, record.to_item(), Missing())


def question(
    agent: Agent, core: Sequence[Memory], fading: Sequence[Memory]
) -> tuple[ModelMessage, ...]:
    """Render the question about the journal entries in `fading`, numbered from 1."""
    names = Names(agent.as_member.ref, {}).joined(named_in([*core, *fading]))
    sources = SourceNames(names.__getitem__)
    known = "\n".join(f"- {dated_line(one, sources)}" for one in core)
    system = render("reflection", {"identity": agent.identity, "memories": known or NOTHING_YET})
    entries = "\n".join(f"{n}. {dated_line(one, sources)}" for n, one in enumerate(fading, 1))
    asked = render("reflection_input", {"entries": entries})
    return ModelMessage(role="system", content=system), ModelMessage(role="user", content=asked)


def promoted_in(answer: ModelAnswer, fading: Sequence[Memory]) -> Sequence[Memory]:
    """Return the entries that an answer promotes, each once and in the order of `fading`.

    Numbers without an entry are ignored.

    Raises:
        UnusableAnswer: The answer cannot be parsed.
    """
    found = json_object_in(answer.text, {"promote"})
    numbers = found.get("promote") if found is not None else None
    if not isinstance(numbers, list):
        raise UnusableAnswer("the answer could not be parsed")
    named = {number for number in numbers if type(number) is int}  # excludes booleans
    return [one for n, one in enumerate(fading, 1) if n in named]


def _may_hold(entries: Sequence[Memory], memory: Memory) -> bool:
    """Return whether a question about `entries` may show `memory`, a core memory; see `Actor`."""
    first = entries[0]
    return not first.audience.open or first.authors.joined(memory.authors) == first.authors


def _rights_on(memory: Memory) -> str:
    """Return a key that entries share if the task needs the same rights to change them."""
    if not memory.audience.open:
        return memory.audience.model_dump_json()
    return f"{memory.home} {memory.authors.model_dump_json()}"
