"""What will wake an agent later."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from skein.models.base import Identifier, Instant, key_part
from skein.models.due import due_mark
from skein.models.ownership import Owned, effect_id, owned_partition
from skein.models.storage import Item, Key, SortKeyPrefix

PlanStatus = Literal["active", "done", "canceled"]
PlanName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
PlanInstruction = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
]

MAX_PLANS = 100  # active ones that may be shown in one place


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

    PREFIX: ClassVar = SortKeyPrefix("PLAN#")

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
        """Return the id of the plan of this name and generation."""
        further = (generation,) if generation else ()
        return f"plan_{effect_id('plan', agent_id, scope or '', name, *further)}"

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, plan_id: str) -> Key:
        """Return the key of an active plan."""
        return Key(owned_partition(tenant, agent_id, scope), f"{Plan.PREFIX}{key_part(plan_id)}")

    @staticmethod
    def ended_key_of(tenant: str, agent_id: str, scope: str | None, plan_id: str) -> Key:
        """Return the key of a plan that is over: out of the way of the prompt's query."""
        sk = f"{Plan.PREFIX.ended}{key_part(plan_id)}"
        return Key(owned_partition(tenant, agent_id, scope), sk)

    @property
    def key(self) -> Key:
        """The key of this plan; it moves when the plan is over."""
        make = self.key_of if self.status == "active" else self.ended_key_of
        return make(self.tenant, self.agent_id, self.scope, self.id)

    def due(self, at: datetime) -> dict[str, Any]:
        """The mark that makes the tick fire this plan at `at`."""
        return due_mark("plan", self.key, at)

    def to_item(self) -> Item:
        """Return the plan as table attributes, due at its next time."""
        return self.attributes() | (self.due(self.next_at) if self.next_at else {})
