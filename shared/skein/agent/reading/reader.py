"""The reader, which reads the data of a prompt in two rounds of calls.

Round one runs in parallel. It queries the messages, the keys of other chats, and the agent's own
items. Round two gets the chats of those keys, and other items by key, in one batch call. A second
batch follows only if the active thread uses skills that the tenant wrote. The number of calls does
not grow with the length of a chat or the number of chats (DESIGN section 5, invariant 14).
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from skein.agent.reading.cache import ContextCache, KeptReads
from skein.agent.reading.other_chats import (
    SHOWN_CHATS,
    LiveRun,
    OwnChat,
    as_made,
    live_runs,
    newest_chats,
    own_chats,
)
from skein.agent.reading.trigger import found_trigger, keys_of_trigger
from skein.agent.reading.workspace import (
    NO_THREADS,
    OpenThreads,
    ShownDocument,
    open_threads,
    workspace_of,
)
from skein.errors import NotFound
from skein.models.chats.borrowed import Borrowed
from skein.models.chats.chat import Chat, Membership, Message, member_relation
from skein.models.common.audience import Audience, may_show
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.ownership import scopes_at
from skein.models.common.storage import MAX_BATCH_GET_KEYS, META, Item, Key, Page, Query
from skein.models.config.overrides import StackOverrides, StackSettings, TenantOverrides
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.memory.memory import LIVE, Memory
from skein.models.planning.goal import Goal
from skein.models.planning.plan import Plan
from skein.models.quotas.limit import Allowance
from skein.models.runs.run import LIVE_RUN, PromptMark, Run
from skein.models.summaries.summary import PinnedSummary
from skein.ports import Clock, Table
from skein.services.chat_state.audience import audience_of, destination_of, own_scope_of, scope_of
from skein.services.chat_state.history_window import pin_of, shown_from
from skein.services.chat_state.sessions import first_of_session, reset_in
from skein.services.chat_state.snapshot import ChatSnapshot, found_snapshot, keys_of_snapshot
from skein.services.config.resolution import (
    EffectiveSettings,
    found_settings,
    keys_of_settings,
    resolved,
)
from skein.services.quotas.token_budget import found_allowances, payer_keys
from skein.services.runs.claim import Known
from skein.services.workspace.skill_selection import NOTHING_CHOSEN, Selection
from skein.settings import Settings

INDEX_ROWS = 46  # two keys per row, so that these and the keys named in a reading fit in one batch
MAX_ASKED = 20  # messages to answer, if they are of an earlier session
PARALLEL_READS = 6
NOTHING: Known = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reading:
    """The data that was read for one activation.

    "May be shown" means to the readers of the active chat (`may_show`).

    Attributes:
        agent: The agent.
        chat: The active chat; None if the run has entered no chat.
        member: The agent's membership in the active chat.
        messages: The history window, and the trigger's message if it is older than the window.
        memories: The agent's memories that may be shown, including unfaded journal entries.
        documents: The pinned documents that may be shown: the agent's, then the chat's.
        skills: The skills of the active thread, or `core` alone without one.
        threads: The open threads that may be shown.
        thread_documents: The documents of the active thread; deleted ones by name alone.
        person: The user record of a direct chat's person, if it may be shown.
        before: The summary of the messages before the history window.
        fuller: The newest summary, if it covers more messages than `before`. It replaces messages
            of the window for which there is no room.
        borrowed: The borrowed context of this activation.
        home: The chat in which the run was triggered, if the trigger may be shown.
        trigger_message: The message that triggered the run, if the trigger may be shown.
        destination: The readers of the active chat.
        audience: The people who were present for all of `messages`. Content that is made now has
            this audience.
        scope: The scope of the agent's items that are made now.
        chats: The most recently active chats that may be shown, including the active chat, newest
            first. If all of them fit, they are in the order of creation instead.
        elsewhere: All other chats that were read. Their agent summaries may be shown even where
            the chats may not.
        all_chats: Whether `chats` is complete. The list then stays the same when new messages
            arrive.
        goals: The agent's goals that may be shown.
        plans: The agent's plans that may be shown.
        live_runs: The live runs that may be shown.
        now: The time of the reading.
        effective: The effective settings of the agent in this chat.
        tenant: The tenant's setting overrides.
        stack: The setting overrides of the whole stack.
        allowances: The token buckets that the run is charged to, by owner.
        snapshot: The snapshot of a direct chat, so that an answer need not read it again.
        told: Whether the run's trigger may be shown. A run that waited in another chat hides its
            trigger from readers who were not present for it.
        mark: The mark on a prompt that is made from an incomplete reading.
        seen_to: The SEEN watermark after an incomplete reading; None if SEEN moves to the highest
            message.
    """

    agent: Agent
    chat: Chat | None
    member: Membership | None
    messages: tuple[Message, ...]
    before: PinnedSummary | None
    borrowed: Borrowed | None
    home: Chat | None
    trigger_message: Message | None
    destination: Audience
    audience: Audience
    scope: str | None
    chats: tuple[OwnChat, ...]
    elsewhere: tuple[OwnChat, ...]
    goals: tuple[Goal, ...]
    plans: tuple[Plan, ...]
    live_runs: tuple[LiveRun, ...]
    now: datetime
    effective: EffectiveSettings
    tenant: TenantOverrides
    stack: StackOverrides
    allowances: Mapping[str, Allowance] = field(default_factory=dict)
    all_chats: bool = False
    told: bool = True
    person: User | None = None
    fuller: PinnedSummary | None = None
    mark: PromptMark | None = None
    seen_to: int | None = None
    memories: tuple[Memory, ...] = ()
    documents: tuple[ShownDocument, ...] = ()
    skills: Selection = NOTHING_CHOSEN
    threads: OpenThreads = NO_THREADS
    thread_documents: tuple[ShownDocument, ...] = ()
    snapshot: ChatSnapshot | None = None

    @property
    def shown_seq(self) -> int:
        """The SEEN watermark after this reading is shown."""
        if self.seen_to is not None:
            return self.seen_to
        return max((message.seq for message in self.messages), default=0)


@dataclass(frozen=True, slots=True)
class _FirstRound:
    """The newest messages, the agent's own items, and the index rows of its chats."""

    newest: Sequence[Item]
    owned: Sequence[Item]
    related: Sequence[Page]

    @property
    def chat_partitions(self) -> tuple[str, ...]:
        """The partitions of the chats in the rows, each once, most recently active first."""
        rows = [row for page in self.related for row in page.items]
        newest = sorted(rows, key=lambda row: row["gsi1sk"], reverse=True)
        return tuple(dict.fromkeys(row["pk"] for row in newest))

    @property
    def all_rows(self) -> bool:
        """Whether the pages hold all index rows."""
        return all(page.next_start is None for page in self.related)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reader of the data that a run's prompt is built from."""

    table: Table
    cache: ContextCache
    clock: Clock
    settings: Settings

    def read(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        known: Known = NOTHING,
    ) -> Reading:
        """Read the data for an activation of a run.

        Args:
            run: The run.
            chat: The active chat; None for none.
            member: The agent's membership in the active chat.
            known: The items that were just read together with the run.

        Raises:
            NotFound: The agent is gone.
        """
        scope = scope_of(chat)
        people = destination_of(chat).people
        rows = INDEX_ROWS // 2 if people else INDEX_ROWS
        agent = MemberRef(kind="agent", id=run.agent_id)
        reads = KeptReads(self.table, self.cache, now=self.clock.now())
        scopes = scopes_at(scope)
        members = [agent, *(MemberRef(kind="user", id=person) for person in people[:1])]
        with ThreadPoolExecutor(PARALLEL_READS) as pool:
            newest = pool.submit(self._newest, reads, run, chat)
            owned = [pool.submit(reads.owned, run.tenant, run.agent_id, each) for each in scopes]
            related = [pool.submit(self._related, run.tenant, member, rows) for member in members]
        first = _FirstRound(
            newest.result(),
            [item for each in owned for item in each.result()],
            [each.result() for each in related],
        )
        reading = self._second_round(run, chat, member, first, known)
        reads.keep(reading.effective)
        return reading

    def _related(self, tenant: str, member: MemberRef, rows: int) -> Page:
        return self.table.query(
            Query(member_relation(tenant, member), index="gsi1", limit=rows, newest_first=True)
        )

    def _newest(self, reads: KeptReads, run: Run, chat: Chat | None) -> Sequence[Item]:
        return reads.messages(chat, self._start(run, chat)) if chat is not None else ()

    def _start(self, run: Run, chat: Chat) -> int:
        """Return the seq of the first message to read.

        The messages to answer can be of an earlier session. At most 20 of them are read then, and
        none before a reset.
        """
        start = shown_from(chat, summary_before(chat), self.settings)
        asked = run.trigger.from_seq if chat.id == run.chat_id else None
        if asked is None or asked >= first_of_session(chat):
            return start
        return min(start, max(asked, reset_in(chat), chat.last_seq - MAX_ASKED + 1))

    def _second_round(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        first: _FirstRound,
        known: Known,
    ) -> Reading:
        member_sk = Membership.key_of("", "", MemberRef(kind="agent", id=run.agent_id)).sk
        here = chat.key.pk if chat else None
        messages = self._windowed(first.newest, chat)
        wanted = keys_of_trigger(run, chat, messages)
        agent_key = Agent.key_of(run.tenant, run.agent_id)
        borrowed_keys = [Borrowed.key_of(run.tenant, chat.id, run.agent_id)] if chat else []
        person_keys = keys_of_person(chat)
        stack_key = StackSettings.key_for(run.id)
        named = [agent_key, stack_key, *keys_of_settings(run.tenant, chat), *person_keys]
        named += payer_keys(run)
        scope, destination = scope_of(chat), destination_of(chat)
        own_scope = own_scope_of(run, chat)
        threads = open_threads(run, chat, member, own_scope, first.owned, destination)
        workspace = workspace_of(run.tenant, run.agent_id, scope, chat, first.owned, threads)
        named += [*wanted, *borrowed_keys, *workspace.keys, *keys_of_snapshot(chat, member)]
        others = [pk for pk in first.chat_partitions if pk != here]
        fitting = others[: (MAX_BATCH_GET_KEYS - len(named)) // 2]
        keys = [Key(pk, sk) for pk in fitting for sk in (META, member_sk)]
        found = {key: item for key, item in known.items() if item is not None and key in named}
        found |= self.table.get_many([key for key in [*named, *keys] if key not in known])
        more = workspace.more_keys(found)
        found |= self.table.get_many(more) if more else {}
        if agent_key not in found or found[agent_key].get("deleted_at"):
            raise NotFound("agent not found")
        home, trigger = found_trigger(run, chat, messages, found)
        if trigger is not None and home is chat and trigger not in messages:
            messages.insert(0, trigger)
        told = home is chat or may_show(run.audience, destination)
        if home is not None and home is not chat:
            home = home.titled_for(destination)
        first_seq = messages[0].seq if messages else 1
        elsewhere = own_chats(found, keys)
        shown = [other for other in elsewhere if may_show(destination_of(other.chat), destination)]
        borrowed = next((Borrowed.from_item(found[k]) for k in borrowed_keys if k in found), None)
        person = next((User.from_item(found[k]) for k in person_keys if k in found), None)
        active = [OwnChat(chat, member)] if chat is not None and member is not None else []
        all_rows = first.all_rows and fitting == others
        all_chats = all_rows and len(active) + len(shown) <= SHOWN_CHATS
        chats = as_made([*active, *shown]) if all_chats else newest_chats(active, shown)
        goals = [Goal.from_item(item) for item in first.owned if Goal.PREFIX.holds(item)]
        plans = [Plan.from_item(item) for item in first.owned if Plan.PREFIX.holds(item)]
        now = self.clock.now()
        memories = [Memory.from_item(item) for item in first.owned if LIVE.holds(item)]
        unfaded = (memory for memory in memories if not memory.faded(now))
        lone = [
            item["run_id"]
            for item in first.owned
            if LIVE_RUN.holds(item)
            and may_show(Audience.model_validate(item["audience"]), destination)
        ]
        agent = Agent.from_item(found[agent_key])
        line, tenant = found_settings(run.tenant, chat, found)
        return Reading(
            agent=agent,
            chat=chat,
            member=member,
            messages=tuple(messages),
            before=summary_before(chat),
            fuller=fuller_summary(chat),
            borrowed=borrowed if borrowed and may_show(borrowed.audience, destination) else None,
            home=home if told else None,
            trigger_message=trigger if told else None,
            destination=destination,
            audience=audience_of(chat, since_seq=first_seq) if chat else run.audience,
            scope=own_scope,
            chats=chats,
            elsewhere=tuple(elsewhere),
            goals=tuple(goal for goal in goals if may_show(goal.audience, destination)),
            plans=tuple(plan for plan in plans if may_show(plan.audience, destination)),
            live_runs=live_runs(chats, lone, homes={own.chat.id for own in (*active, *shown)}),
            now=now,
            effective=resolved(agent, line, tenant, self.settings, chat=chat),
            tenant=tenant,
            stack=StackSettings.found_in(found.get(stack_key)),
            allowances=found_allowances(run, found),
            all_chats=all_chats,
            told=told,
            person=person,
            memories=tuple(m for m in unfaded if may_show(m.audience, destination)),
            documents=workspace.found_documents(found, destination),
            skills=workspace.found_skills(found),
            threads=threads,
            thread_documents=threads.documents(found, destination),
            snapshot=found_snapshot(chat, member, found),
        )

    @staticmethod
    def _windowed(newest: Sequence[Item], chat: Chat | None) -> list[Message]:
        return [chat.as_now(Message.from_item(item)) for item in newest] if chat else []


def person_at(chat: Chat | None) -> NamedMember | None:
    """Return the only person in a direct chat; None if there is no such person."""
    if chat is None or chat.kind != "direct":
        return None
    people = [member for member in chat.roster if member.kind == "user"]
    return people[0] if len(people) == 1 else None


def profile_audience(user_id: str) -> Audience:
    """Return the audience of a person's profile: that person alone."""
    return Audience(open=False, people=(user_id,))


def keys_of_person(chat: Chat | None) -> list[Key]:
    """Return the key of a direct chat's person, if that person is its only reader."""
    person = person_at(chat)
    if chat is None or person is None:
        return []
    if not may_show(profile_audience(person.id), destination_of(chat)):
        return []
    return [User.key_of(chat.tenant, person.id)]


def summary_before(chat: Chat | None) -> PinnedSummary | None:
    """Return the summary of the messages before the window, if it may be shown."""
    if chat is None or chat.pinned is None:
        return None
    return chat.pinned if may_show(chat.pinned.audience, destination_of(chat)) else None


def fuller_summary(chat: Chat | None) -> PinnedSummary | None:
    """Return the newest summary, if showable and fuller than the pinned one."""
    record = chat.record if chat is not None else None
    if chat is None or record is None or record.seq <= summed_up(summary_before(chat)):
        return None
    if not may_show(record.audience, destination_of(chat)):
        return None
    return pin_of(record, record.seq + 1)


def summed_up(summary: PinnedSummary | None) -> int:
    """Return the seq of the last message that a summary covers; 0 for no summary."""
    return summary.seq if summary is not None else 0
