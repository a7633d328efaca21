"""The reader: it reads the items of all sections in two rounds of calls.

Round one runs in parallel. It queries the messages, the keys of other chats, and the agent's own
items. Round two is one batch call. It gets the other chats, and the items that sections name by
key.

More calls follow only in two cases. If the items of round two name further keys, a second batch
gets them, for example skills of the active thread. If the agent has a tool that writes, one query
and one batch read the calls that it has already made for the messages to answer.

The number of calls does not grow with the length of a chat or the number of chats. Loaders of
sections may add calls. For example, recall adds calls to round two, and then a round of its own.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from skein.agent.reading.cache import ContextCache, KeptReads
from skein.agent.reading.guarded_reads import GuardedReads
from skein.agent.sections.borrowed import BorrowedItems
from skein.agent.sections.order import GUESSING, HEADS, ITEMS, LOADERS, NAMING, QUERYING
from skein.interface.history import History, asked_refs, first_seq_to_read
from skein.interface.names import shown_origin
from skein.interface.reading import (
    BeginInput,
    Load,
    LoadInput,
    OwnChat,
    Reading,
    SectionItems,
    SectionLoader,
    SectionReads,
    found_agent,
    found_configuration,
    keys_of_configuration,
    keys_of_person,
    zone_of_entries,
)
from skein.live.models.connection import PersonConnections
from skein.live.reading import found_listeners, keys_of_listeners
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership, member_relation
from skein.models.common.base import MemberRef
from skein.models.common.storage import MAX_BATCH_GET_KEYS, META, Item, Key, Page, Query
from skein.models.config.overrides import StackSettings, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.limit import Allowance, owner_of_shard
from skein.models.runs.run import Run
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import scopes_at
from skein.own_tools.items import OwnToolItems
from skein.ports import Clock, ParallelMap, Services
from skein.services.chat_state.snapshot import found_snapshot, keys_of_snapshot
from skein.services.quotas.token_budget import bucket_keys
from skein.services.runs import policy
from skein.services.runs.claim import PrefetchedItems
from skein.services.visibility.audience import audience_of, destination_of, scope_of
from skein.services.visibility.insiders import (
    holds_insiders_alone,
    holds_words_of_readers,
    insiders_of,
    keys_of_insiders,
)
from skein.services.visibility.sharing_reads import SharingReading, read_sharing
from skein.settings import Settings

INDEX_ROWS = 46  # two keys per row, which fit into one batch together with the named keys
PARALLEL_READS = 6
NOTHING: PrefetchedItems = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _FirstRound:
    """The newest messages, the agent's own items, and the index rows of its chats."""

    newest: Sequence[Item]
    owned: Sequence[Item]
    related: Sequence[Page]

    @property
    def chat_partitions(self) -> tuple[str, ...]:
        """The partitions of the chats in the index rows, each once, most recently active first."""
        rows = [row for page in self.related for row in page.items]
        newest = sorted(rows, key=lambda row: row["gsi1sk"], reverse=True)
        return tuple(dict.fromkeys(row["pk"] for row in newest))

    @property
    def all_rows(self) -> bool:
        """Whether all index rows of the agent's chats were read; False if a page is missing."""
        return all(page.next_start is None for page in self.related)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Service that reads the data from which a run's prompt is built."""

    table: GuardedReads
    cache: ContextCache
    clock: Clock
    settings: Settings
    services: Services
    parallel_map: ParallelMap

    def read(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        prefetched: PrefetchedItems = NOTHING,
        *,
        recalls: bool = True,
    ) -> Reading:
        """Read the data for an activation of a run.

        Args:
            chat: The active chat, if any.
            member: The agent's membership in the active chat.
            prefetched: The items that were just read together with the run.
            recalls: Whether to recall old messages.

        Raises:
            NotFound: The agent no longer exists.
        """
        began = self.clock.now()
        scope = scope_of(chat)
        readers = destination_of(chat)
        people = readers.people
        rows = INDEX_ROWS // 2 if people else INDEX_ROWS
        agent = MemberRef(kind="agent", id=run.agent_id)
        reads = KeptReads(self.table, self.cache, now=self.clock.now())
        scopes = scopes_at(scope)
        members = [agent, *(MemberRef(kind="user", id=person) for person in people[:1])]
        if readers.visitors:
            members = []  # other chats are not for visitors
        calls: list[Callable[[], Any]] = [
            partial(self._newest, reads, run, chat),
            *(partial(reads.owned, run.tenant, run.agent_id, each) for each in scopes),
            *(partial(self._related, run.tenant, each, rows) for each in members),
        ]
        newest, *others = self.parallel_map(operator.call, calls)
        owned, related = others[: len(scopes)], others[len(scopes) :]
        first = _FirstRound(newest, [item for each in owned for item in each], related)
        reading = self._second_round(
            run, chat, member, first, prefetched, began if recalls else None
        )
        reads.keep(reading.config.effective)
        return reading

    def _related(self, tenant: str, member: MemberRef, rows: int) -> Page:
        return self.table.query(
            Query(member_relation(tenant, member), index="gsi1", limit=rows, newest_first=True)
        )

    def _newest(self, reads: KeptReads, run: Run, chat: Chat | None) -> Sequence[Item]:
        return reads.messages(chat, first_seq_to_read(run, chat, self.settings)) if chat else ()

    def _second_round(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        first: _FirstRound,
        prefetched: PrefetchedItems,
        began: datetime | None,
    ) -> Reading:
        """Read the items that the run and the first round refer to, and build the reading.

        Args:
            chat: The active chat.
            member: The agent's membership in the active chat.
            first: The items of the first round.
            prefetched: The items that were just read together with the run.
            began: When the reading began. With None, no old messages are recalled.
        """
        newest = [chat.as_now(message) for message in Message.each_of(first.newest)] if chat else []
        known = {key: item for key, item in prefetched.items() if item is not None}
        read = SectionReads(
            run=run,
            chat=chat,
            member=member,
            now=self.clock.now(),
            messages=newest,
            owned=first.owned,
            found=known,
            agent=found_agent(run, chat, known, partly=True),
        )
        sharing = self._sharing(run, chat, prefetched)
        with _read_pool() as pool:
            begin = BeginInput(prefetched=prefetched, pool=pool, began=began, sharing=sharing)
            begun = [each.begin(read, begin) for each in self._loaders(run.tenant, prefetched)]
            loads = [load for load in begun if load]
            keys = _keys_of_round(read, first, prefetched)
            found = {key: item for key, item in known.items() if key in keys.named}
            wanted = [key for key in [*keys.named, *keys.chats] if key not in prefetched]
            if wanted:
                batch = pool.submit(copy_context().run, self.table.get_many, wanted)
                found |= batch.result()
        others, all_others = _own_chats(read, found, keys.chats), first.all_rows and keys.all_chats
        agent = read.agent or found_agent(run, chat, found, partly=True)
        read = replace(read, found=found, agent=agent, others=others, all_others=all_others)
        read = self._queried(self._with_more(read, {*keys.named, *keys.chats}))
        return self._made(replace(read, now=self.clock.now()), loads, sharing)

    def _loaders(self, tenant: str, prefetched: PrefetchedItems) -> list[SectionLoader]:
        """Return the loaders; leave out kinds of items whose `head` the tenant doesn't have."""
        absent = {key for key, item in prefetched.items() if item is None}
        return [
            self.services.get(loader)
            for kind, loader in LOADERS.items()
            if kind.head is None or kind.head.of(tenant) not in absent
        ]

    def _sharing(
        self, run: Run, chat: Chat | None, prefetched: PrefetchedItems
    ) -> SharingReading | None:
        """Read the sharing rules that apply to the chat; return None if there are none.

        If the run's prompt was rebuilt too often, rules that share something with the chat's
        readers are left out.
        """
        if chat is None or not _may_have_rules(run, prefetched):
            return None
        sharing = read_sharing(self.table, chat, prefetched, self.clock.now(), self.settings)
        if sharing is not None and run.rebuilds > policy.MAX_TOLD_REBUILDS:
            return replace(sharing, for_readers=replace(sharing.for_readers, rules=()))
        return sharing

    def _queried(self, read: SectionReads) -> SectionReads:
        """Run the sections' queries, then read the items to which the results refer."""
        queries = [query for kind in read.possible(QUERYING) for query in kind.queries(read)]
        items = [item for query in queries for item in self.table.query(query).items]
        if not items:
            return read
        known = {*_keys_of_sections(read)}
        queried = {Key(item["pk"], item["sk"]): item for item in items}
        return self._with_more(replace(read, found={**read.found, **queried}), known)

    def _with_more(self, read: SectionReads, known: Collection[Key]) -> SectionReads:
        """Read the items that sections name by key, except keys in `known`."""
        more = [key for key in _keys_of_sections(read) if key not in known]
        return replace(read, found={**read.found, **self.table.get_many(more)}) if more else read

    def _made(
        self,
        read: SectionReads,
        loads: Sequence[Load],
        sharing: SharingReading | None,
    ) -> Reading:
        """Build the reading from the items that were read and from the results of the loaders."""
        run, chat, found = read.run, read.chat, read.found
        agent, config = found_configuration(run, chat, found, self.settings)
        read = _with_insiders(read, agent)
        items = _found_items(read)
        person = next(iter(User.read_each(found, keys_of_person(chat))), None)
        given = LoadInput(
            read=read,
            effective=config.effective,
            zone=zone_of_entries(person, agent.time_zone),
            shown=_shown_refs(read, items),
            repeats=_repeats_in(read, items),
        )
        loaded = [load(given) for load in loads]
        streams = config.effective.streaming and chat is not None and chat.line is None
        reading = Reading(
            agent=agent,
            chat=chat,
            member=read.member,
            destination=read.readers,
            audience=run.audience,
            scope=read.own_scope,
            now=read.now,
            config=config,
            items=tuple(each for each in (*items, *loaded) if each != type(each)()),
            person=person,
            insiders=read.insiders,
            listeners=found_listeners(chat, found, read.now) if streams else (),
            snapshot=found_snapshot(chat, read.member, found),
            sharing=sharing,
        )
        return replace(reading, audience=_audience_of_history(run, chat, reading.of(History)))


def _may_have_rules(run: Run, prefetched: PrefetchedItems) -> bool:
    """Return whether the tenant possibly has sharing rules.

    For the first activation, the tenant's settings are read together with the run. They show
    whether there are rules. If nothing was read with the run, the result is True.
    """
    key = TenantSettings.key_of(run.tenant)
    if key not in prefetched:
        return run.activation > 1 or not prefetched
    tenant_settings = TenantSettings.read(prefetched, key)
    return tenant_settings is not None and tenant_settings.sharing


def _with_insiders(read: SectionReads, agent: Agent) -> SectionReads:
    """Add the people that the run works for, and remove titles of other chats that must be hidden.

    Args:
        read: What was read.
        agent: The agent as just read.
    """
    run, chat, found = read.run, read.chat, read.found
    homes = Chat.read_each(found, keys_of_insiders(run, chat))
    others = (own.chat for own in read.others)
    writes = bool(agent.tenant_tools) and OwnToolItems.found(read).write
    alone = holds_insiders_alone(run, agent, read.readers, writes=writes)
    of_readers = holds_words_of_readers(run, agent)
    insiders = insiders_of(run, [chat, *homes, *others], alone=alone, of_readers=of_readers)
    titled = [replace(own, chat=own.chat.titled_by(insiders, read.readers)) for own in read.others]
    return replace(read, insiders=insiders, others=titled)


class _SecondKeys(NamedTuple):
    """The keys of the second round.

    Attributes:
        named: The keys of the items that are named by the run, by the active chat, or by an item of
            the first round.
        chats: For each other chat, the key of the chat and the key of the agent's membership.
        all_chats: Whether `chats` has all other chats of the first round.
    """

    named: list[Key]
    chats: list[Key]
    all_chats: bool


def _keys_of_round(
    read: SectionReads, first: _FirstRound, prefetched: PrefetchedItems
) -> _SecondKeys:
    """Return the keys of the second round, with as many other chats as fit in one batch."""
    run, chat, member = read.run, read.chat, read.member
    named = dict.fromkeys(
        [
            *keys_of_configuration(run, chat),
            *keys_of_person(chat),
            *keys_of_insiders(run, chat),
            *_keys_of_sections(read),
            *keys_of_snapshot(chat, member),
            *(keys_of_listeners(run, chat, prefetched) if chat and chat.line is None else ()),
        ]
    )
    here = chat.key.pk if chat else None
    others = [pk for pk in first.chat_partitions if pk != here]
    fitting = others[: (MAX_BATCH_GET_KEYS - len(named)) // 2]
    member_sk = Membership.key_of("", "", MemberRef(kind="agent", id=run.agent_id)).sk
    chats = [Key(pk, sk) for pk in fitting for sk in (META, member_sk)]
    return _SecondKeys(list(named), chats, all_chats=fitting == others)


def _keys_of_sections(read: SectionReads) -> Iterable[Key]:
    """Return the keys that the sections name, each once."""
    heads = [head.of(read.run.tenant) for head in HEADS]
    own = (key for kind in read.possible(NAMING) for key in kind.keys(read))
    return dict.fromkeys([*heads, *own])


def _found_items(read: SectionReads) -> tuple[SectionItems, ...]:
    """Return the items of all sections, except kinds that this agent and chat cannot have."""
    return tuple(kind.found(read) for kind in read.possible(ITEMS))


def _own_chats(read: SectionReads, found: Mapping[Key, Item], keys: Sequence[Key]) -> list[OwnChat]:
    """Return the chats in which the agent is an active member, except discarded chats.

    A chat to which a reader is invited is left out until the reader accepts.

    Args:
        read: What was read before.
        found: The items that were read.
        keys: For each chat, the key of the chat and the key of the agent's membership.
    """
    chats = []
    for chat_key, member_key in zip(keys[::2], keys[1::2], strict=True):
        if chat_key not in found or member_key not in found:
            continue
        chat = Chat.must_read(found, chat_key)
        member = Membership.must_read(found, member_key)
        hidden = chat.discarded_at is not None or chat.awaits(read.readers, read.now)
        if member.active and not hidden:
            chats.append(OwnChat(chat, member))
    return chats


def _audience_of_history(run: Run, chat: Chat | None, history: History) -> Audience:
    """Return the people who were present for all shown messages.

    Without an active chat, the run's audience is returned.
    """
    if chat is None:
        return run.audience
    return audience_of(chat, since_seq=history.messages[0].seq if history.messages else 1)


def prefetch_keys(job: RunJob) -> list[Key]:
    """Return the keys of items that most readings need, as far as the job's ids determine them.

    These are items of the agent, the tenant and the person. Each key is a guess: a right guess
    saves a call, and a wrong guess only costs read capacity. Later, the reading itself reads all
    other items that it needs.

    Raises:
        ValueError: The job's run id is invalid.
    """
    tenant, agent_id = job.tenant, job.agent_id
    keys = [
        Agent.key_of(tenant, agent_id),
        TenantSettings.key_of(tenant),
        StackSettings.key_for(job.run_id),
        Allowance.key_of(tenant, owner_of_shard(0)),
        *(head.of(tenant) for head in HEADS),
        *(key for kind in GUESSING for key in kind.guess(job)),
    ]
    home = Run.home_of(job.run_id)
    if job.user_id is not None:
        keys.append(User.key_of(tenant, job.user_id))
        keys += bucket_keys(tenant, job.user_id)
        if home.startswith("chat_"):
            person = MemberRef(kind="user", id=job.user_id)
            keys.append(Membership.key_of(tenant, home, person))
            keys.append(PersonConnections.key_of(tenant, job.user_id))
    return keys


@contextmanager
def _read_pool() -> Iterator[ThreadPoolExecutor]:
    """Yield a thread pool for parallel reads; on exit, do not wait for a recall that still runs."""
    pool = ThreadPoolExecutor(PARALLEL_READS)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False)


def _shown_refs(read: SectionReads, items: Sequence[SectionItems]) -> frozenset[tuple[str, int]]:
    """Return the messages that a prompt shows: history, trigger and borrowed context."""
    refs = set(asked_refs(read.run))
    for each in items:
        if isinstance(each, History) and read.chat is not None:
            refs |= {(read.chat.id, message.seq) for message in each.messages}
        if isinstance(each, BorrowedItems) and each.context is not None:
            source = each.context.source_chat_id
            refs |= {(source, message.seq) for message in each.context.messages}
    return frozenset(refs)


def _repeats_in(read: SectionReads, items: Sequence[SectionItems]) -> Callable[[Message], bool]:
    """Return a function that returns whether the shown history already quotes a message.

    If an agent sent a message to the active chat from another chat, the history shows that message
    together with the words that caused it.
    """
    origins, agent = set[tuple[str, str]](), MemberRef(kind="agent", id=read.run.agent_id)
    for each in items:
        if isinstance(each, History):
            messages = each.messages
            shown = (shown_origin(one, agent, read.readers) for one in messages)
            origins |= {(origin.chat_id, origin.text) for origin in shown if origin is not None}

    def repeats(message: Message) -> bool:
        return any(message.chat_id == chat and message.text.startswith(t) for chat, t in origins)

    return repeats
