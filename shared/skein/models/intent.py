"""What an agent is after, and what will wake it later: goals and plans."""

import hashlib
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from skein.models.audience import OPEN, Audience, may_change, may_show
from skein.models.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.due import due_mark
from skein.models.storage import Item, Key

GoalStatus = Literal["active", "completed", "abandoned"]
PlanStatus = Literal["active", "done", "canceled"]

GoalText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
GoalPriority = Annotated[int, Field(ge=1, le=5)]
PlanName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
PlanInstruction = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
]

MAX_GOALS = 100  # active ones that may be shown in one place
MAX_PLANS = 100
MOST_KEPT = 200  # active goals, and as many plans, of one partition, with those that are hidden
EFFECT_KEPT = timedelta(days=30)  # longer than any run may be tried


def owned_partition(tenant: str, agent_id: str, scope: str | None) -> str:
    """The partition of what an agent owns: openly, or for one private audience.

    `scope` is None for open things, `user:<id>` for a direct chat's person and `chat:<id>` for
    another private chat.
    """
    agent = f"{key_part(tenant)}#AGENT#{key_part(agent_id)}"
    return agent if scope is None else f"{agent}#AUD#{key_part(scope)}"


def scopes_at(scope: str | None) -> tuple[str | None, ...]:
    """Which of an agent's partitions are looked into at a place: the open one, then its own."""
    return (None,) if scope is None else (None, scope)


def private_scope(*, user_id: str | None = None, chat_id: str | None = None) -> str | None:
    """The scope of a direct chat's person, or of another private chat; None for open things.

    Raises:
        ValueError: Both are given.
    """
    if user_id is not None and chat_id is not None:
        raise ValueError("a scope is a person's or a chat's")
    if user_id is not None:
        return f"user:{user_id}"
    return None if chat_id is None else f"chat:{chat_id}"


def effect_id(*parts: str | int) -> str:
    """An id that is the same whenever the same effect is carried out again, e.g. by a retry."""
    text = "\x1f".join(map(str, parts))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:26]


class Owner(Value):
    """On whose behalf an agent comes to own something: the place where it is made.

    Its fields are those of `Owned`.
    """

    tenant: Tenant
    agent_id: Identifier
    scope: str | None = None
    audience: Audience = OPEN
    source_chat_id: Identifier | None = None
    source_run_id: Identifier | None = None

    @property
    def reach(self) -> "Reach":
        """What is already in the same partition, whoever may be shown it."""
        return Reach(tenant=self.tenant, agent_id=self.agent_id, scopes=(self.scope,))


class Reach(Value):
    """What of an agent's things somebody can get at.

    Attributes:
        scopes: The partitions to look into; see `owned_partition`.
        place: Where it is shown, by which `may_show` decides; None for operators, who see all.
        content: The audience of everything that a change is made from; None if it is everybody at
            `place`. Operators may change all.
    """

    tenant: Tenant
    agent_id: Identifier
    scopes: tuple[str | None, ...] = (None,)
    place: Audience | None = None
    content: Audience | None = None

    def shows(self, thing: "Owned") -> bool:
        """Whether `thing` may be shown there."""
        return self.place is None or may_show(thing.audience, self.place)

    def changes(self, thing: "Owned") -> bool:
        """Whether `thing` may be changed or ended from there."""
        content = self.content or self.place
        return content is None or may_change(content, thing.audience)


class Owned(Stored):
    """Something an agent owns, with where it comes from.

    Attributes:
        scope: Which of the agent's partitions holds it; see `owned_partition`.
        audience: Who was there when it was made, and so may be shown it.
        source_chat_id: The chat in which it was made; None by API or without a chat.
    """

    tenant: Tenant
    agent_id: Identifier
    scope: str | None = None
    audience: Audience
    source_chat_id: Identifier | None = None
    source_run_id: Identifier | None = None
    created_at: Instant


class Goal(Owned):
    """What an agent is after.

    Attributes:
        priority: 1 comes first.
        version: Raised by every change, which holds only for the version that it read.
    """

    id: Identifier
    text: GoalText
    priority: GoalPriority = 2
    long_term: bool = False
    status: GoalStatus = "active"
    version: int = 1
    ended_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, goal_id: str) -> Key:
        """The key of an active goal."""
        return Key(owned_partition(tenant, agent_id, scope), f"GOAL#{key_part(goal_id)}")

    @staticmethod
    def ended_key_of(tenant: str, agent_id: str, scope: str | None, goal_id: str) -> Key:
        """The key of a goal that has ended: out of the way of the prompt's query."""
        return Key(owned_partition(tenant, agent_id, scope), f"ENDED#GOAL#{key_part(goal_id)}")

    @property
    def key(self) -> Key:
        """This goal's key; it moves when the goal ends."""
        make = self.key_of if self.status == "active" else self.ended_key_of
        return make(self.tenant, self.agent_id, self.scope, self.id)

    def to_item(self) -> Item:
        """The goal as table attributes."""
        return self.attributes()


class Plan(Owned):
    """What will wake an agent: once, after a while or at a time, or again and again.

    Exactly one of `run_after`, `scheduled_at` and `cron` is given.

    Attributes:
        id: Follows from the name and the generation.
        name: Unique among the plans that may be shown in one place; setting it again replaces it.
        generation: Counts the plans of one name in a partition: one that may not be shown where its
            name is used again stays, and the new plan is another item.
        run_after: As it was said, e.g. `2 hours`; counted from when the plan was set.
        cron: Five fields, in `time_zone`.
        next_at: When it fires next; None once it is over.
        active_at: When its person was active, as far as is known.
        set_by: The person whose run set it; None where an operator or no person did.
        version: Raised by every change and firing, each of which holds only for the one it read.
    """

    id: Identifier
    name: PlanName
    generation: Annotated[int, Field(exclude_if=lambda generation: not generation)] = 0
    instruction: PlanInstruction
    run_after: str | None = None
    scheduled_at: Instant | None = None
    cron: str | None = None
    time_zone: str = "UTC"
    next_at: Instant | None = None
    active_at: Instant | None = None
    set_by: Identifier | None = None
    status: PlanStatus = "active"
    version: int = 1
    ended_at: Instant | None = None

    @property
    def person(self) -> str | None:
        """The person that the plan traces back to; for older plans, the only one it is for."""
        if self.set_by is None and len(self.audience.people) == 1:
            return self.audience.people[0]
        return self.set_by

    @staticmethod
    def id_of(agent_id: str, scope: str | None, name: str, generation: int = 0) -> str:
        """The id of the plan of this name and generation."""
        further = (generation,) if generation else ()
        return f"plan_{effect_id('plan', agent_id, scope or '', name, *further)}"

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, plan_id: str) -> Key:
        """The key of an active plan."""
        return Key(owned_partition(tenant, agent_id, scope), f"PLAN#{key_part(plan_id)}")

    @staticmethod
    def ended_key_of(tenant: str, agent_id: str, scope: str | None, plan_id: str) -> Key:
        """The key of a plan that is over: out of the way of the prompt's query."""
        return Key(owned_partition(tenant, agent_id, scope), f"ENDED#PLAN#{key_part(plan_id)}")

    @property
    def key(self) -> Key:
        """This plan's key; it moves when the plan is over."""
        make = self.key_of if self.status == "active" else self.ended_key_of
        return make(self.tenant, self.agent_id, self.scope, self.id)

    def due(self, at: datetime) -> dict[str, Any]:
        """The mark that makes the tick fire this plan at `at`."""
        return due_mark("plan", self.key, at)

    def to_item(self) -> Item:
        """The plan as table attributes, due at its next time."""
        return self.attributes() | (self.due(self.next_at) if self.next_at else {})


def effect_key(tenant: str, agent_id: str, scope: str | None, effect: str) -> Key:
    """The key of the mark that an effect has been carried out, with what came of it."""
    return effect_key_in(owned_partition(tenant, agent_id, scope), effect)


def effect_kept_until(now: datetime) -> int:
    """When the mark of an effect that is carried out now goes, in seconds since 1970."""
    return int((now + EFFECT_KEPT).timestamp())


def effect_key_in(partition: str, effect: str) -> Key:
    """The key of such a mark in any partition."""
    return Key(partition, f"EFFECT#{key_part(effect)}")
