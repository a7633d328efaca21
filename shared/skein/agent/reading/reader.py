"""The reader, which reads the data of a prompt in two rounds of calls.

Round one runs in parallel. It queries the messages, the keys of other chats, and the agent's own
items. Round two gets the chats of those keys, and other items by key, in one batch call. A second
batch follows only if the active thread uses skills that the tenant wrote. The number of calls does
not grow with the length of a chat or the number of chats.

Recall adds its calls to round two, and a round of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from skein.agent.reading.cache import ContextCache, KeptReads
from skein.agent.reading.history import (
    History,
    first_seq_to_read,
    fuller_summary,
    keys_of_runs_at_work,
    shown_to,
    summary_before,
    zone_of_entries,
)
from skein.agent.reading.listeners import found_listeners, keys_of_listeners
from skein.agent.reading.other_chats import (
    OtherChats,
    OwnChat,
    found_other_chats,
    own_chats,
)
from skein.agent.reading.reading import (
    Reading,
    found_configuration,
    found_items,
    keys_of_configuration,
    keys_of_person,
    person_at,
)
from skein.agent.reading.recalled import PromptRecall
from skein.agent.reading.trigger import found_trigger, keys_of_trigger, shown_trigger
from skein.agent.reading.workspace import WorkspaceKeys, open_threads, workspace_keys
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Chat, Membership, Message, member_relation
from skein.models.common.audience import Audience
from skein.models.common.base import MemberRef
from skein.models.common.ownership import scopes_at
from skein.models.common.storage import MAX_BATCH_GET_KEYS, META, Item, Key, Page, Query
from skein.models.directory.user import User
from skein.models.runs.run import Run
from skein.ports import Clock, Table
from skein.services.chat_state.audience import audience_of, destination_of, own_scope_of, scope_of
from skein.services.chat_state.snapshot import found_snapshot, keys_of_snapshot
from skein.services.runs.claim import PrefetchedItems
from skein.settings import Settings

INDEX_ROWS = 46  # two keys per row, so that these and the keys named in a reading fit in one batch
PARALLEL_READS = 6
NOTHING: PrefetchedItems = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _FirstRound:
    """The newest messages, the agent's own items, and the index rows of its chats.

    `joined` is the first message since the last person joined a private chat; None if everybody was
    always present.
    """

    newest: Sequence[Item]
    owned: Sequence[Item]
    related: Sequence[Page]
    joined: Sequence[Item] | None = None

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
    recall: PromptRecall

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
            chat: The active chat; None for none.
            member: The agent's membership in the active chat.
            prefetched: The items that were just read together with the run.
            recalls: Whether to recall old messages.

        Raises:
            NotFound: The agent is gone.
        """
        began = self.clock.now()
        scope = scope_of(chat)
        people = destination_of(chat).people
        rows = INDEX_ROWS // 2 if people else INDEX_ROWS
        agent = MemberRef(kind="agent", id=run.agent_id)
        reads = KeptReads(self.table, self.cache, now=self.clock.now())
        scopes = scopes_at(scope)
        members = [agent, *(MemberRef(kind="user", id=person) for person in people[:1])]
        with ThreadPoolExecutor(PARALLEL_READS) as pool:
            newest = pool.submit(copy_context().run, self._newest, reads, run, chat)
            owned = [
                pool.submit(copy_context().run, reads.owned, run.tenant, run.agent_id, each)
                for each in scopes
            ]
            related = [
                pool.submit(copy_context().run, self._related, run.tenant, member, rows)
                for member in members
            ]
            query = self.recall.first_query(chat) if recalls else None
            joined = pool.submit(copy_context().run, self.table.query, query) if query else None
        first = _FirstRound(
            newest.result(),
            [item for each in owned for item in each.result()],
            [each.result() for each in related],
            joined.result().items if joined is not None else None,
        )
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
        """Read the items that the run and the first round name, and make the reading.

        Args:
            chat: The active chat.
            member: The agent's membership in the active chat.
            first: The items of the first round.
            prefetched: The items that were just read together with the run.
            began: When the reading began; None recalls no old messages.
        """
        scope, destination = scope_of(chat), destination_of(chat)
        own_scope = own_scope_of(run, chat)
        messages = self._windowed(first.newest, chat)
        threads = open_threads(run, chat, member, own_scope, first.owned, destination)
        workspace = workspace_keys(run.tenant, run.agent_id, scope, chat, first.owned, threads)
        recalling = None
        with _read_pool() as pool:
            if began is not None:
                recalling = self.recall.start(
                    run, chat, member, messages, prefetched, first.joined, pool
                )
            postings = recalling.posting_keys if recalling is not None else ()
            keys = _keys_of_round(
                run, chat, member, first, prefetched, messages, workspace, reserved=len(postings)
            )
            found = {
                key: item
                for key, item in prefetched.items()
                if item is not None and key in keys.named
            }
            wanted = [key for key in [*keys.named, *keys.chats] if key not in prefetched]
            if recalling is None:
                found |= self.table.get_many(wanted)
            elif wanted:
                batch = pool.submit(copy_context().run, self.table.get_many, [*wanted, *postings])
                found |= batch.result()
            else:
                recalling = recalling.reading_postings(pool)
        more = workspace.more_keys(found)
        found |= self.table.get_many(more) if more else {}
        agent, config = found_configuration(run, chat, found, self.settings)
        last = shown_to(run, chat, member, found)
        if last is not None:
            messages = [message for message in messages if message.seq <= last]
        home, trigger = found_trigger(run, chat, messages, found)
        if trigger is not None and home is chat and trigger not in messages:
            messages.insert(0, trigger)
        now = self.clock.now()
        person_keys = keys_of_person(chat)
        person = next((User.from_item(found[k]) for k in person_keys if k in found), None)
        return Reading(
            agent=agent,
            chat=chat,
            member=member,
            destination=destination,
            audience=_audience_of_history(run, chat, messages),
            scope=own_scope,
            now=now,
            config=config,
            history=History(
                messages=tuple(messages),
                before=summary_before(chat),
                fuller=fuller_summary(chat),
            ),
            trigger=shown_trigger(run, chat, home, trigger),
            other_chats=_other_chats(run, chat, member, first, keys, found),
            items=found_items(first.owned, destination, now),
            workspace=workspace.found(found, destination),
            person=person,
            recalled=self.recall.finish(
                recalling,
                found,
                tokens=config.effective.recall_tokens,
                zone=zone_of_entries(person, agent.time_zone),
                began=began or now,
            ),
            listeners=found_listeners(chat, found, now) if config.effective.streaming else (),
            snapshot=found_snapshot(chat, member, found),
        )

    @staticmethod
    def _windowed(newest: Sequence[Item], chat: Chat | None) -> list[Message]:
        return [chat.as_now(Message.from_item(item)) for item in newest] if chat else []


class _SecondKeys(NamedTuple):
    """The keys of the second round.

    Attributes:
        named: The keys that the run, the active chat and the first round name.
        chats: The key of another chat, the key of the agent's membership, and so on in pairs.
        all_chats: Whether `chats` has all other chats of the first round.
    """

    named: list[Key]
    chats: list[Key]
    all_chats: bool


def _keys_of_round(
    run: Run,
    chat: Chat | None,
    member: Membership | None,
    first: _FirstRound,
    prefetched: PrefetchedItems,
    messages: Sequence[Message],
    workspace: WorkspaceKeys,
    *,
    reserved: int,
) -> _SecondKeys:
    """Return the keys of the second round, with as many other chats as fit in one batch.

    `reserved` places of the batch are left for the postings of recall.
    """
    named = [
        *keys_of_configuration(run, chat),
        *keys_of_person(chat),
        *keys_of_trigger(run, chat, messages),
        *keys_of_runs_at_work(run, chat, member),
        *_borrowed_keys(run, chat),
        *workspace.keys,
        *keys_of_snapshot(chat, member),
        *keys_of_listeners(run, chat, prefetched),
    ]
    here = chat.key.pk if chat else None
    others = [pk for pk in first.chat_partitions if pk != here]
    fitting = others[: (MAX_BATCH_GET_KEYS - len(named) - reserved) // 2]
    member_sk = Membership.key_of("", "", MemberRef(kind="agent", id=run.agent_id)).sk
    chats = [Key(pk, sk) for pk in fitting for sk in (META, member_sk)]
    return _SecondKeys(named, chats, all_chats=fitting == others)


def _borrowed_keys(run: Run, chat: Chat | None) -> list[Key]:
    return [BorrowedContext.key_of(run.tenant, chat.id, run.agent_id)] if chat else []


def _audience_of_history(run: Run, chat: Chat | None, messages: Sequence[Message]) -> Audience:
    """Return the people who were present for all shown messages; without a chat, the run's."""
    if chat is None:
        return run.audience
    return audience_of(chat, since_seq=messages[0].seq if messages else 1)


def _other_chats(
    run: Run,
    chat: Chat | None,
    member: Membership | None,
    first: _FirstRound,
    keys: _SecondKeys,
    found: Mapping[Key, Item],
) -> OtherChats:
    borrowed = next((found[key] for key in _borrowed_keys(run, chat) if key in found), None)
    return found_other_chats(
        [OwnChat(chat, member)] if chat is not None and member is not None else [],
        own_chats(found, keys.chats),
        first.owned,
        borrowed,
        destination_of(chat),
        person=person_at(chat),
        all_read=first.all_rows and keys.all_chats,
    )


@contextmanager
def _read_pool() -> Iterator[ThreadPoolExecutor]:
    """Yield threads for parallel reads; a recall that is still running is not waited for."""
    pool = ThreadPoolExecutor(PARALLEL_READS)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False)
