"""Find runs outside the person's chats that may have been shown the person's words."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from skein.errors import NotFound
from skein.models.chats.chat import Chat, chat_partition
from skein.models.chats.membership import member_relation, past_relation, related_chat
from skein.models.common.base import MemberRef
from skein.models.common.storage import Item, Key, Query
from skein.models.directory.agent import agent_partition
from skein.models.runs.run import Run, runs_relation
from skein.models.runs.step import Step
from skein.ports import Table
from skein.privacy.erasure_agent_data import KeptEraser, agents_of
from skein.privacy.erasure_rules import may_hold_their_words
from skein.privacy.erasure_runs import RunEraser
from skein.privacy.erasure_sweep import ROWS, Sweep
from skein.privacy.models.erasure import ErasedChat
from skein.services.chat_state.snapshot import read_chat, read_snapshot
from skein.services.common.pagination import items_under, pages


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSearch:
    """The stage `runs` of an erasure: runs outside the person's chats."""

    table: Table
    runs: RunEraser
    kept: KeptEraser

    def elsewhere(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase the runs in other chats that may have been shown the person's words."""
        done: set[tuple[str, str | None]] = {(agent_id, None) for agent_id in agents_of(sweep)}
        for position, runs in self.stretches(sweep):
            if after is not None and position <= after:
                continue
            for run in runs:
                self._rewrite_kept(sweep, run, done)
                self.runs.erase(sweep, run)
            yield position

    def _rewrite_kept(self, sweep: Sweep, run: Run, done: set[tuple[str, str | None]]) -> None:
        """Apply the rules to the agent's items in the scope of a run's chat.

        These items may contain the person's words, because the run may have been shown them. The
        operator's decision on full names is not applied: the preview did not list these items.

        Args:
            sweep: The sweep of the person.
            run: A run that may have been shown the person's words.
            done: The agents and scopes that are already processed; the call adds to them.
        """
        chat_id, held = run.own_chat_id, run.held
        unheld = held is not None and not may_hold_their_words(sweep, held.authors)
        if chat_id is None or chat_id in sweep.chats or unheld:
            return
        with suppress(NotFound):
            owner = run.agent_id, read_chat(self.table, sweep.tenant, chat_id).scope
            if owner not in done:
                done.add(owner)
                self.kept.erase_scope(sweep.without_decision(), *owner)

    def stretches(self, sweep: Sweep) -> Iterator[tuple[str, Iterable[Run]]]:
        """Yield the runs to check in groups, each with a position; the order is always the same."""
        shared = [erased for erased in sweep.chats.values() if not erased.private]
        for agent_id in sorted({agent for erased in shared for agent in erased.agents}):
            day = min(erased.since for erased in shared if agent_id in erased.agents)
            since = day
            while day.date() <= sweep.now.date():
                runs = self._of_day(sweep, agent_id, day.date(), since)
                yield f"1 {agent_id} {day:%Y-%m-%d}", runs
                day += timedelta(days=1)
        hidden = [erased for erased in sweep.chats.values() if erased.private]
        for agent_id in sorted({agent for erased in hidden for agent in erased.agents}):
            yield f"2 {agent_id}", self._without_chat(sweep, agent_id)
        for erased in sorted(hidden, key=lambda erased: erased.chat_id):
            for person in erased.others:
                runs = self._of_person(sweep, erased, person)
                yield f"3 {erased.chat_id} {person}", runs
        for erased in sorted(sweep.chats.values(), key=lambda erased: erased.chat_id):
            for chat_id, shown_at in sorted(erased.shown_in.items()):
                yield f"4 {erased.chat_id} {chat_id}", self._runs_shown(sweep, chat_id, shown_at)

    def _of_day(self, sweep: Sweep, agent_id: str, day: date, since: datetime) -> Iterator[Run]:
        """Yield the runs of an agent that were created on a day, at or after `since`.

        All chats count, because an agent may repeat content of an open chat in any chat.
        """
        for rows in self._pages(runs_relation(sweep.tenant, agent_id, day)):
            keys = [Key(row["pk"], row["sk"]) for row in rows]
            found = self.table.get_many(keys) if keys else {}
            runs = Run.read_each(found, keys)
            yield from (run for run in runs if run.created_at >= since)

    def _runs_shown(self, sweep: Sweep, chat_id: str, shown_at: datetime) -> Iterator[Run]:
        """Yield a chat's runs that ended after `shown_at`, and so may have seen erased content."""
        for run in self._runs_under(chat_partition(sweep.tenant, chat_id)):
            if (run.ended_at or sweep.now) >= shown_at:
                yield run
        for agent_id in self._agents_ever_in(sweep, chat_id):
            for run in self.of_background(sweep, agent_id):
                if run.for_chat_id == chat_id and (run.ended_at or sweep.now) >= shown_at:
                    yield run

    def _without_chat(self, sweep: Sweep, agent_id: str) -> Iterator[Run]:
        """Yield an agent's runs for plans and services that may contain the person's words.

        A run counts if it was for one of the person's chats, if its plan was made in one of them,
        or if the person is in its audience.
        """
        for run in self.of_background(sweep, agent_id):
            plan = run.trigger.plan
            from_there = run.for_chat_id in sweep.chats
            from_there |= plan is not None and plan.chat_id in sweep.chats
            if from_there or run.audience.counts(sweep.subject.ids):
                yield run

    def _agents_ever_in(self, sweep: Sweep, chat_id: str) -> list[str]:
        """Return the ids of a chat's agents, including those that have left."""
        try:
            snapshot = read_snapshot(self.table, sweep.tenant, chat_id, closed=True)
        except NotFound:
            return []
        return sorted({each.member.id for each in snapshot.members if each.member.kind == "agent"})

    def of_background(self, sweep: Sweep, agent_id: str) -> Iterator[Run]:
        """Return the runs that plans and services started for an agent."""
        return self._runs_under(agent_partition(sweep.tenant, agent_id))

    def _runs_under(self, partition: str) -> Iterator[Run]:
        items = items_under(self.table, partition, Run.PREFIX)
        return Run.each_of(item for item in items if not Step.is_stored_as(item))

    def _of_person(self, sweep: Sweep, erased: ErasedChat, person: str) -> Iterator[Run]:
        """Yield runs in another person's private chats that can contain the erased person's words.

        The two people share a private chat. Each run belongs to an agent of the shared chat, and
        was created after the time from which messages in that chat may mention the erased person.
        Borrowed context of these agents is deleted.
        """
        chats = self._private_chats(sweep, person)
        for agent_id in erased.agents:
            for run in self.of_background(sweep, agent_id):
                if run.for_chat_id in chats and run.created_at >= erased.since:
                    yield run
        for chat_id in chats:
            for agent_id in erased.agents:
                self.runs.unborrow(sweep, chat_id, agent_id)
            for run in self._runs_under(chat_partition(sweep.tenant, chat_id)):
                if run.agent_id in erased.agents and run.created_at >= erased.since:
                    yield run

    def _private_chats(self, sweep: Sweep, person: str) -> list[str]:
        ref = MemberRef(kind="user", id=person)
        relations = (member_relation(sweep.tenant, ref), past_relation(sweep.tenant, person))
        rows = [row for relation in relations for page in self._pages(relation) for row in page]
        ids = sorted({related_chat(row) for row in rows} - sweep.chats.keys())
        chats: list[str] = []
        for start in range(0, len(ids), ROWS):
            keys = [Chat.key_of(sweep.tenant, chat_id) for chat_id in ids[start : start + ROWS]]
            found = self.table.get_many(keys)
            there = Chat.read_each(found, keys)
            chats.extend(chat.id for chat in there if chat.visibility == "private")
        return chats

    def _pages(self, relation: str) -> Iterator[tuple[Item, ...]]:
        return pages(
            lambda start: self.table.query(Query(relation, index="gsi1", limit=ROWS, start=start))
        )
