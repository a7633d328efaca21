"""What an agent is after, and what will wake it later: goals and plans."""

import hashlib
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from skein.models.audience import Audience
from skein.models.base import Identifier, Instant, Stored, Tenant, key_part
from skein.models.due import due_mark
from skein.models.storage import Item, Key

GoalStatus = Literal["active", "completed", "abandoned"]
PlanStatus = Literal["active", "done", "canceled"]

GoalText = Annotated[str, Field(min_length=1, max_length=1_000)]
PlanName = Annotated[str, Field(min_length=1, max_length=100)]
PlanInstruction = Annotated[str, Field(min_length=1, max_length=4_000)]

MAX_GOALS = 100
MAX_PLANS = 100


def owned_partition(tenant: str, agent_id: str, scope: str | None) -> str:
    """The partition of what an agent owns: openly, or for one private audience.

    `scope` is None for open things, `user:<id>` for a direct chat's person and `chat:<id>` for
    another private chat.
    """
    agent = f"{key_part(tenant)}#AGENT#{key_part(agent_id)}"
    return agent if scope is None else f"{agent}#AUD#{key_part(scope)}"


def effect_id(*parts: str | int) -> str:
    """An id that is the same whenever the same effect is carried out again, e.g. by a retry."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:26]


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
    """What an agent is after."""

    id: Identifier
    text: GoalText
    priority: Annotated[int, Field(ge=1, le=5)] = 2
    long_term: bool = False
    status: GoalStatus = "active"
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
        name: Unique among the agent's plans for one audience; setting it again replaces it.
        run_after: As it was said, e.g. `2 hours`; counted from when the plan was set.
        cron: Five fields, in `time_zone`.
        next_at: When it fires next; None once it is over.
        version: Raised by every change; part of the id of the runs that it starts.
    """

    id: Identifier
    name: PlanName
    instruction: PlanInstruction
    run_after: str | None = None
    scheduled_at: Instant | None = None
    cron: str | None = None
    time_zone: str = "UTC"
    next_at: Instant | None = None
    status: PlanStatus = "active"
    version: int = 1
    ended_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, name: str) -> Key:
        """The key of an active plan."""
        return Key(owned_partition(tenant, agent_id, scope), f"PLAN#{key_part(name)}")

    @staticmethod
    def ended_key_of(tenant: str, agent_id: str, scope: str | None, plan_id: str) -> Key:
        """The key of a plan that is over: out of the way of the prompt's query."""
        return Key(owned_partition(tenant, agent_id, scope), f"ENDED#PLAN#{key_part(plan_id)}")

    @property
    def key(self) -> Key:
        """This plan's key; it moves when the plan is over."""
        if self.status == "active":
            return self.key_of(self.tenant, self.agent_id, self.scope, self.name)
        return self.ended_key_of(self.tenant, self.agent_id, self.scope, self.id)

    def due(self, at: datetime) -> dict[str, Any]:
        """The mark that makes the tick fire this plan at `at`."""
        return due_mark("plan", self.key, at)

    def to_item(self) -> Item:
        """The plan as table attributes, due at its next time."""
        return self.attributes() | (self.due(self.next_at) if self.next_at else {})
