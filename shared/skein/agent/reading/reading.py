"""The reading of an activation: everything that its prompt is built from, in parts.

`reader` makes a full reading, and `fallback` one of the messages to answer alone, from the same
parts. "May be shown" means to the readers of the active chat (`may_show`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from skein.agent.reading.history import History
from skein.agent.reading.other_chats import OtherChats
from skein.agent.reading.trigger import ShownTrigger
from skein.agent.reading.workspace import Workspace
from skein.errors import NotFound
from skein.models.chats.chat import Chat, Membership
from skein.models.common.address import Channel
from skein.models.common.audience import Audience, may_show
from skein.models.common.base import NamedMember
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key
from skein.models.config.overrides import StackSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.memory.memory import Memory
from skein.models.planning.goal import Goal
from skein.models.planning.plan import Plan
from skein.models.quotas.limit import Allowance
from skein.models.runs.run import PromptMark, Run
from skein.services.chat_state.audience import destination_of
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.time_zones import zone_of_person
from skein.services.config.resolution import (
    effective_settings,
    found_settings,
    keys_of_settings,
)
from skein.services.delivery.enqueue import why_not_sent
from skein.services.quotas.token_budget import found_allowances, payer_keys
from skein.services.recall.layout import RecalledEntry
from skein.settings import Settings

READ_SECONDS = 1.5  # after it, a context is degraded


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings and the token buckets that apply to a run.

    Attributes:
        effective: The effective settings of the agent in the active chat.
        allowances: The token buckets that the run is charged to, by owner.
    """

    effective: Settings
    allowances: Mapping[str, Allowance] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentItems:
    """The agent's memories, goals and plans that may be shown.

    Attributes:
        memories: The agent's memories, without faded journal entries.
        goals: The agent's goals.
        plans: The agent's plans.
    """

    memories: tuple[Memory, ...] = ()
    goals: tuple[Goal, ...] = ()
    plans: tuple[Plan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The data that was read for one activation.

    Attributes:
        chat: The active chat; None if the run has entered no chat.
        member: The agent's membership in the active chat.
        destination: The readers of the active chat.
        audience: The people who were present for all messages of `history`. Content that is made
            now has this audience.
        scope: The scope of the agent's items that are made now.
        config: The settings and the token buckets that apply.
        history: The messages of the active chat, and its summaries.
        trigger: The reason for the run, as far as it may be shown.
        other_chats: The agent's other chats and its live runs.
        items: The agent's memories, goals and plans.
        workspace: Documents, threads and skills.
        person: The user record of a direct chat's person, if it may be shown.
        recalled: Old messages that match what is to be answered, best first; all may be shown.
        listeners: The ids of the people of the run's own chat who are connected, if its answers are
            streamed.
        snapshot: The snapshot of a direct chat, so that an answer need not read it again.
        prompt_mark: The mark on a prompt that is made from an incomplete reading.
    """

    agent: Agent
    chat: Chat | None
    member: Membership | None
    destination: Audience
    audience: Audience
    scope: str | None
    now: datetime
    config: Configuration
    history: History = field(default_factory=History)
    trigger: ShownTrigger = field(default_factory=ShownTrigger)
    other_chats: OtherChats = field(default_factory=OtherChats)
    items: AgentItems = field(default_factory=AgentItems)
    workspace: Workspace = field(default_factory=Workspace)
    person: User | None = None
    recalled: tuple[RecalledEntry, ...] = ()
    listeners: tuple[str, ...] = ()
    snapshot: ChatSnapshot | None = None
    prompt_mark: PromptMark | None = None

    @property
    def elsewhere(self) -> tuple[Chat, ...]:
        """The listed chats besides the active one; none without an active chat."""
        if self.chat is None:
            return ()
        listed = (own.chat for own in self.other_chats.listed)
        return tuple(chat for chat in listed if chat.id != self.chat.id)

    @property
    def opted_out(self) -> bool:
        """Whether the active chat is on SMS and its person has opted out."""
        return self.snapshot is not None and self.snapshot.opted_out

    @property
    def channel(self) -> Channel | None:
        """The channel by which messages to the active chat are sent; None for the app.

        Without a snapshot, the chat's first channel counts.
        """
        if self.snapshot is None:
            return self.chat.line.channel if self.chat and self.chat.line else None
        routes = (one.route for one in self.snapshot.members if why_not_sent(one) is None)
        return next((route.channel for route in routes if route is not None), None)

    @property
    def zone(self) -> str:
        """The time zone of a direct chat's person, if it may be shown; else the agent's."""
        own = zone_of_person(self.person) if self.person is not None else None
        return own or self.agent.time_zone


def keys_of_configuration(run: Run, chat: Chat | None) -> list[Key]:
    """Return the keys of the agent, and of the settings and token buckets that apply."""
    return [
        Agent.key_of(run.tenant, run.agent_id),
        StackSettings.key_for(run.id),
        *keys_of_settings(run.tenant, chat),
        *payer_keys(run),
    ]


def found_configuration(
    run: Run, chat: Chat | None, found: Mapping[Key, Item], settings: Settings
) -> tuple[Agent, Configuration]:
    """Return the agent, and the settings and token buckets that apply, as found.

    Args:
        chat: The active chat.
        found: The items of `keys_of_configuration` that exist.

    Raises:
        NotFound: The agent is gone.
    """
    item = found.get(Agent.key_of(run.tenant, run.agent_id))
    if item is None or item.get("deleted_at"):
        raise NotFound("agent not found", reason=Reason.AGENT_DELETED)
    agent = Agent.from_item(item)
    line, tenant = found_settings(run.tenant, chat, found)
    stack = StackSettings.from_optional(found.get(StackSettings.key_for(run.id)))
    return agent, Configuration(
        effective=effective_settings(agent, line, tenant, settings, chat=chat, stack=stack),
        allowances=found_allowances(run, found),
    )


def found_items(owned: Sequence[Item], readers: Audience, now: datetime) -> AgentItems:
    """Return the agent's memories, goals and plans that may be shown.

    Args:
        owned: The agent's items that were read.
        readers: The readers of the active chat.
    """
    memories = [Memory.from_item(item) for item in owned if Memory.PREFIX.holds(item)]
    goals = [Goal.from_item(item) for item in owned if Goal.PREFIX.holds(item)]
    plans = [Plan.from_item(item) for item in owned if Plan.PREFIX.holds(item)]
    unfaded = [memory for memory in memories if not memory.faded(now)]
    return AgentItems(
        memories=tuple(memory for memory in unfaded if may_show(memory.audience, readers)),
        goals=tuple(goal for goal in goals if may_show(goal.audience, readers)),
        plans=tuple(plan for plan in plans if may_show(plan.audience, readers)),
    )


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
