"""The reading of an activation: everything from which its prompt is built.

`agent/reading/reader.py` creates a full reading, and `agent/reading/fallback.py` creates a reading
with only the messages to answer. `agent/sections/` defines which items of a reading each section of
the prompt shows. An item "may be shown" if all readers of the active chat may see it (`may_show`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, Protocol, Self, TypeVar, cast
from zoneinfo import ZoneInfo

from skein.channels.port import Channel
from skein.channels.registry import channel_named, first_channel_of
from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import VISITOR, MemberRef, NamedMember, TenantKey
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key, Query
from skein.models.config.overrides import StackSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.items.agent_item import AgentItem
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.limit import Allowance
from skein.models.runs.run import PromptMark, Run
from skein.models.visibility.audience import Audience, may_show
from skein.models.visibility.ownership import Readers
from skein.models.visibility.provenance import NO_INSIDERS, Authors, Insiders
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.config.resolution import (
    effective_settings,
    found_settings,
    keys_of_settings,
)
from skein.services.delivery.enqueue import why_not_sent
from skein.services.directory.time_zones import zone_of_person
from skein.services.quotas.token_budget import found_allowances, payer_keys, pools_of
from skein.services.visibility.audience import destination_of, for_visitors, own_scope_of, scope_of
from skein.services.visibility.sharing_reads import SharingReading
from skein.settings import Settings

READ_SECONDS = 1.5  # after this time, the context is degraded
UTC = ZoneInfo("UTC")
AgentItemT = TypeVar("AgentItemT", bound=AgentItem)
ItemsT = TypeVar("ItemsT", bound="SectionItems")


@dataclass(frozen=True, slots=True)
class OwnChat:
    """One of the agent's chats, with the agent's membership."""

    chat: Chat
    member: Membership

    @property
    def last_active_at(self) -> datetime:
        """The time of the last message; for a chat without messages, the time of its creation."""
        return self.chat.last_message_at or self.chat.created_at

    def has(self, person: NamedMember) -> bool:
        return self.chat.has(person.ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionReads:
    """The data that was read for a prompt so far.

    Attributes:
        run: The run, with its trigger.
        chat: The active chat, if any.
        member: The agent's membership in the active chat.
        now: The time of the reading.
        messages: The newest messages of the active chat, which the history can show.
        owned: The agent's items in the scopes of the chat. Only items whose sort keys begin as
            `SectionItems.owned` of a section declares are read.
        found: The items that were read by key.
        agent: The agent; None if the agent has not been read yet.
        others: The agent's other chats that were read.
        all_others: Whether `others` has all other chats of the agent.
        insiders: The insiders of the run, which are known once everything is read.
    """

    run: Run
    chat: Chat | None
    member: Membership | None
    now: datetime
    messages: Sequence[Message] = ()
    owned: Sequence[Item] = ()
    found: Mapping[Key, Item] = field(default_factory=dict)
    agent: Agent | None = None
    others: Sequence[OwnChat] = ()
    all_others: bool = False
    insiders: Insiders = NO_INSIDERS
    _parsed: dict[type[AgentItem], tuple[AgentItem, ...]] = field(default_factory=dict, repr=False)

    @property
    def readers(self) -> Audience:
        return destination_of(self.chat)

    @property
    def scope(self) -> str | None:
        return scope_of(self.chat)

    @property
    def own_scope(self) -> str | None:
        """The scope in which the run creates items now."""
        return own_scope_of(self.run, self.chat)

    @property
    def active(self) -> tuple[OwnChat, ...]:
        """The active chat, if the agent is a member of it; at most one."""
        if self.chat is None or self.member is None:
            return ()
        return (OwnChat(self.chat, self.member),)

    @property
    def tenant_tools(self) -> Sequence[str]:
        """The names of the tenant's own tools that the agent has; empty until the agent is read."""
        return self.agent.tenant_tools if self.agent is not None else ()

    @property
    def with_media(self) -> Sequence[Message]:
        """The messages that have pictures or files."""
        return [message for message in self.messages if message.media]

    @property
    def reach(self) -> Readers:
        """The readers of the active chat and the run's insiders; `Readers.shows` checks items."""
        here = self.chat.id if self.chat is not None else None
        return Readers(readers=self.readers, insiders=self.insiders, chat_id=here)

    def admits(self, message: Message) -> bool:
        """Return whether the prompt may contain the words of a message in the active chat.

        It may always contain what the agent asked or reported to the readers on behalf of others,
        such as the question of an errand and its answer; see `Insiders.of_readers`.
        """
        own = message.sender.ref == MemberRef(kind="agent", id=self.run.agent_id)
        asked = message.choice is not None or message.report_of is not None
        if own and asked and self.insiders.of_readers:
            return True
        return self.insiders.admit(message.words)

    def may_have(self, kind: "type[SectionItems]") -> bool:
        """Return whether items of this kind may exist; see `optional` and `head`."""
        if kind.head is not None:
            return kind.head.of(self.run.tenant) in self.found
        if not kind.optional:
            return True
        if kind.owned and any(item["sk"].startswith(kind.owned) for item in self.owned):
            return True
        return any(getattr(self.chat, name, None) for name in kind.in_chat) or any(
            getattr(self, name) for name in kind.in_reads
        )

    def possible(self, kinds: "Iterable[type[SectionItems]]") -> "Iterator[type[SectionItems]]":
        """Return those of the kinds that may have items in the table; see `may_have`."""
        return (kind for kind in kinds if self.may_have(kind))

    def shown(self, kind: type[AgentItemT]) -> tuple[AgentItemT, ...]:
        """Return the agent's items of this kind that may be shown to the readers."""
        known = self._parsed.get(kind)
        if known is None:
            items = filter(kind.PREFIX.holds, self.owned)
            known = self._parsed[kind] = tuple(kind.each_of(items))
        reach = self.reach
        return tuple(item for item in cast("tuple[AgentItemT, ...]", known) if reach.shows(item))


class SectionItems(ABC):
    """The items of one or several sections: which items to read, and which of them to keep.

    A subclass that is created without arguments has no items. Prompts that are built without the
    usual reads use such instances.

    Attributes:
        owned: The beginnings of the sort keys of the agent's items that `found` uses. The reader
            reads these items into `SectionReads.owned`.
        in_chat: Attributes of the active chat. If one of them is set, there may be items of this
            kind.
        in_reads: Attributes of `SectionReads`. If one of them is set, there may be items of this
            kind.
        optional: Whether the reader skips this kind if no `owned` item was read and none of the
            attributes in `in_chat` and `in_reads` is set.
        cites: Whether the model cites the items by marks; see `citations`.
        head: An item that a tenant has only if the tenant has items of this kind. It is read
            together with the run. If it is missing, the reader skips this kind.
    """

    __slots__ = ()
    owned: ClassVar[tuple[str, ...]] = ()
    in_chat: ClassVar[tuple[str, ...]] = ()
    in_reads: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[bool] = False
    cites: ClassVar[bool] = False
    head: ClassVar[TenantKey | None] = None

    @classmethod
    def guess(cls, job: RunJob) -> Iterable[Key]:
        """Return keys that are probably needed, to be read together with the run.

        At that time, only the run's job is known. A right guess saves a call to the table. A wrong
        guess costs some read capacity.
        """
        return ()

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of items to read.

        The reader calls this method before its batch of reads, and again after it. If the second
        call returns keys that are new, a second batch reads them.
        """
        return ()

    @classmethod
    def queries(cls, read: SectionReads) -> Iterable[Query]:
        """Return queries to run after the batches. Each query costs a call to the table."""
        return ()

    @classmethod
    def found(cls, read: SectionReads) -> Self:
        """Return the items to keep: those that may be shown, in the order of the prompt."""
        return cls()

    @abstractmethod
    def authors(self) -> Iterable[Authors]:
        """Return the authors whose words the items contain (`models/visibility/provenance.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginInput:
    """What is known before the reader's batch of reads.

    Attributes:
        prefetched: The items that were read with the run.
        pool: The thread pool in which the calls run.
        began: When the reading began; None if the reading is repeated for a recorded prompt.
        sharing: The sharing rules that apply to the readers.
    """

    prefetched: Mapping[Key, Item | None]
    pool: ThreadPoolExecutor
    began: datetime | None
    sharing: SharingReading | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadInput:
    """What is known after the reader's batch of reads.

    Attributes:
        read: Everything that was read, with the insiders.
        effective: The settings of the agent in the active chat.
        zone: The time zone of the history.
        shown: The messages that the prompt already shows, by chat and number.
        repeats: Whether another section of the prompt already has the words of a message.
    """

    read: SectionReads
    effective: Settings
    zone: ZoneInfo
    shown: frozenset[tuple[str, int]]
    repeats: Callable[[Message], bool]


Load = Callable[[LoadInput], SectionItems]
"""Waits for the calls that a loader has started, and returns the items. It keeps within the time
limit of the reading, and never fails."""


class SectionLoader(Protocol):
    """A service that loads the items of a section if neither keys nor queries can find them."""

    def begin(self, read: SectionReads, known: BeginInput) -> Load | None:
        """Start the calls; return the function that gets their results, or None if not needed."""
        ...


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings and the token buckets that apply to a run.

    Attributes:
        effective: The effective settings of the agent in the active chat.
        allowances: The token buckets that pay for the run, by owner.
    """

    effective: Settings
    allowances: Mapping[str, Allowance] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The data that was read for one activation.

    Attributes:
        chat: The active chat; None if the run has entered no chat.
        member: The agent's membership in the active chat.
        destination: The readers of the active chat.
        audience: The people who were present for all messages of the history. Content that is
            created now gets this audience.
        scope: The scope of items that the agent creates now.
        config: The settings and the token buckets that apply.
        items: The items of the sections; see `of`.
        person: The user record of a direct chat's person, if it may be shown.
        insiders: The insiders of the run, and whether the prompt must leave out words of outsiders.
        listeners: If the answer is streamed, the ids of the people in the run's own chat who are
            connected.
        snapshot: For a direct chat, the chat and its memberships as read, so that posting the
            answer does not have to read them again.
        prompt_mark: If the reading is incomplete, the mark with which the run notes this for
            operators.
        sharing: The sharing rules that apply to the readers; None if no rule can apply.
    """

    agent: Agent
    chat: Chat | None
    member: Membership | None
    destination: Audience
    audience: Audience
    scope: str | None
    now: datetime
    config: Configuration
    items: tuple[SectionItems, ...] = ()
    person: User | None = None
    insiders: Insiders = NO_INSIDERS
    listeners: tuple[str, ...] = ()
    snapshot: ChatSnapshot | None = None
    prompt_mark: PromptMark | None = None
    sharing: SharingReading | None = None

    def shows(self, chat_id: str) -> bool:
        """Return whether a chat is the active chat."""
        return self.chat is not None and self.chat.id == chat_id

    def of(self, kind: type[ItemsT]) -> ItemsT:
        """Return the items of this kind, which may be empty."""
        return next((each for each in self.items if type(each) is kind), kind())

    def has(self, kind: type[SectionItems]) -> bool:
        return self.of(kind) != kind()

    def having(self, items: SectionItems) -> "Reading":
        """Return a copy of the reading in which `items` replace the items of the same kind."""
        others = (each for each in self.items if type(each) is not type(items))
        return replace(self, items=(*others, items))

    @property
    def cites(self) -> bool:
        """Whether the model may cite passages by marks, which are not shown to people."""
        return any(each.cites for each in self.items)

    @property
    def opted_out(self) -> bool:
        """Whether the active chat is on SMS and its person has opted out."""
        return self.snapshot is not None and self.snapshot.opted_out

    @property
    def unproven(self) -> int | None:
        """The days of silence that made the chat's phone number unproven; None if it is proven."""
        members = self.snapshot.members if self.snapshot is not None else ()
        routes = (one.route for one in members if one.active)
        return next((route.unproven for route in routes if route and route.unproven), None)

    @property
    def channel(self) -> Channel:
        """The channel through which messages to the active chat are sent.

        If `snapshot` is None, it is the first channel for the kind of address of the chat's line.
        """
        if self.snapshot is None:
            line = self.chat.line if self.chat is not None else None
            return first_channel_of(line.kind if line is not None else None)
        routes = (one.route for one in self.snapshot.members if why_not_sent(one) is None)
        return channel_named(next((route.channel for route in routes if route is not None), None))

    @property
    def zone(self) -> str:
        """The time zone of a direct chat's person, or else the agent's; see `person`."""
        own = zone_of_person(self.person) if self.person is not None else None
        return own or self.agent.time_zone

    @property
    def knows_zone(self) -> bool:
        """Whether the time zone is the person's, or was chosen by an operator."""
        person = self.person
        return self.agent.time_zone != "UTC" or (
            person is not None and zone_of_person(person) is not None
        )

    @property
    def entries_zone(self) -> ZoneInfo:
        return zone_of_entries(self.person, self.agent.time_zone)


def zone_of_entries(person: User | None, agent_zone: str) -> ZoneInfo:
    """Return the time zone of a history's entries.

    In a direct chat, it is the time zone that the section NOW uses. In other chats, it is UTC.

    Args:
        person: The user record of a direct chat's person, if it may be shown.
        agent_zone: The agent's time zone.
    """
    if person is None:
        return UTC
    return ZoneInfo(zone_of_person(person) or agent_zone)


def keys_of_configuration(run: Run, chat: Chat | None) -> list[Key]:
    """Return the keys of the agent, and of the settings and token buckets that apply to the run."""
    keys = [
        Agent.key_of(run.tenant, run.agent_id),
        StackSettings.key_for(run.id),
        *keys_of_settings(run.tenant, chat),
        *payer_keys(run),
        *keys_of_pool(chat),
    ]
    return list(dict.fromkeys(keys))


def keys_of_pool(chat: Chat | None) -> list[Key[Allowance]]:
    """Return the key of the pool of a chat's visitor; no key in a chat of members."""
    if chat is None:
        return []
    visitors = [member.id for member in chat.roster if member.id.startswith(VISITOR)]
    return [Allowance.key_of(chat.tenant, owner) for each in visitors for owner in pools_of(each)]


def found_agent(
    run: Run, chat: Chat | None, found: Mapping[Key, Item], *, partly: bool = False
) -> Agent | None:
    """Return the agent as it works in a chat; None if it was not found.

    Args:
        found: The items of `keys_of_configuration` that exist.
        partly: Whether some were not read yet. Then None is also returned without the pool.
    """
    agent, keys = Agent.read(found, Agent.key_of(run.tenant, run.agent_id)), keys_of_pool(chat)
    if agent is None or not keys:
        return agent
    pool = next(iter(Allowance.read_each(found, keys)), None)
    if pool is None and partly:
        return None
    return for_visitors(agent, pool.tools if pool is not None else None)


def found_configuration(
    run: Run, chat: Chat | None, found: Mapping[Key, Item], settings: Settings
) -> tuple[Agent, Configuration]:
    """Return the agent as it works in the chat, and the settings and buckets of the run.

    Args:
        chat: The active chat.
        found: The items of `keys_of_configuration` that exist.
        settings: The settings of the deployment.

    Raises:
        NotFound: The agent no longer exists.
    """
    agent = found_agent(run, chat, found)
    if agent is None or agent.deleted_at is not None:
        raise NotFound("agent not found", reason=Reason.AGENT_DELETED)
    line, tenant = found_settings(run.tenant, chat, found)
    stack = StackSettings.from_optional(found.get(StackSettings.key_for(run.id)))
    return agent, Configuration(
        effective=effective_settings(agent, line, tenant, settings, chat=chat, stack=stack),
        allowances=found_allowances(run, found),
    )


def person_at(chat: Chat | None) -> NamedMember | None:
    """Return the person in a direct chat, if the chat has exactly one person; otherwise None."""
    if chat is None or chat.kind != "direct":
        return None
    people = [member for member in chat.roster if member.kind == "user"]
    return people[0] if len(people) == 1 else None


def profile_audience(user_id: str) -> Audience:
    """Return the audience of a person's profile, which is only that person."""
    return Audience(open=False, people=(user_id,))


def keys_of_person(chat: Chat | None) -> list[Key]:
    """Return the key of a direct chat's person; no key if the chat has other readers."""
    person = person_at(chat)
    if chat is None or person is None:
        return []
    if not may_show(profile_audience(person.id), destination_of(chat)):
        return []
    return [User.key_of(chat.tenant, person.id)]


def current_seq(run: Run, chat: Chat | None) -> int | None:
    """Return the `seq` of the message to answer.

    If a reply ended the run's wait in this chat, it is the reply. Otherwise, it is the trigger's
    message.

    Returns:
        The `seq`; None if the run answers no message in this chat, for example after a wait has
        timed out.
    """
    if chat is None:
        return None
    if run.resumed is not None and run.resumed.chat_id == chat.id:
        return run.resumed.seq
    return run.trigger.seq if chat.id == run.chat_id else None
