"""Plans: future triggers of agents."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, StringConstraints

from skein.models.common.base import Identifier, Instant
from skein.models.common.effects import effect_id
from skein.models.common.reason import StoredReason
from skein.models.common.storage import Item, SortKeyPrefix
from skein.models.config.templates import TemplateOfText
from skein.models.items.agent_item import AgentItem
from skein.models.outbox.due import due_pointer

PlanStatus = Literal["active", "done", "canceled"]
PlanOutcome = Literal["active", "canceled"]  # that an operator chooses
PlanName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
PlanInstruction = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
]

MAX_PLANS = 100  # active plans that may be shown to the same readers


class PlanFields(BaseModel):
    """The fields of a plan that its request, its stored item and its resource share."""

    name: Annotated[PlanName, Field(description="A new plan of this name replaces the old one.")]
    instruction: Annotated[
        PlanInstruction, Field(description="What the agent does when the plan is due.")
    ]
    template: TemplateOfText = None


class Plan(PlanFields, AgentItem):
    """A future trigger of an agent: after a delay, at a time, or by cron.

    Exactly one of `run_after`, `scheduled_at` and `cron` is given.

    Attributes:
        id: Derived from the name and the generation.
        name: Unique among the plans that may be shown to the same readers.
        generation: Distinguishes plans of the same name in a partition. If a new plan has the name
            of a plan that its readers may not see, the hidden plan gets the next unused generation.
        run_after: The delay as it was given, e.g. `2 hours`; counted from when the plan was set.
        cron: Five fields, in `time_zone`.
        next_at: When the plan fires next; None once it has ended.
        active_at: When the plan's person was last active, if known.
        deferred_from: When the plan was originally due, if quiet hours deferred it to `next_at`.
        set_by: The person whose run set the plan; None if an operator set the plan, or if no
            person's message led to that run.
        own_time: Whether `set_by` chose the time; see `Plans.set`.
        source_chat_id: The plan's chat, to which its runs belong: the chat in which the plan was
            set, or the chat that an operator named. None for runs without a chat.
        reason: Why the plan was deferred or canceled, if no person or operator canceled it.
    """

    PREFIX: ClassVar = SortKeyPrefix("PLAN#")
    COUNTER: ClassVar = "plans"
    TEXTS: ClassVar = ("name", "instruction")

    generation: int = 0
    run_after: str | None = None
    scheduled_at: Instant | None = None
    cron: str | None = None
    time_zone: str = "UTC"
    next_at: Instant | None = None
    active_at: Instant | None = None
    deferred_from: Instant | None = None
    set_by: Identifier | None = None
    own_time: bool = False
    reason: Annotated[StoredReason | None, Field(exclude_if=lambda reason: reason is None)] = None
    status: PlanStatus = "active"

    @property
    def person(self) -> str | None:
        """The person whose message led to the plan; None for an operator's plan.

        If no person's message led to the run that set the plan, as with a webhook service, this is
        the only person of the audience.
        """
        if self.set_by is None and not self.by_operator:
            return self.audience.only_person
        return self.set_by

    def at_time_of(self, user_id: str) -> bool:
        """Return whether a person chose the plan's time."""
        return self.own_time and self.set_by == user_id

    @staticmethod
    def id_of(agent_id: str, scope: str | None, name: str, generation: int = 0) -> str:
        """Return the id that is derived from a plan's name and generation."""
        return f"plan_{effect_id('plan', agent_id, scope or '', name, generation)}"

    def to_item(self) -> Item:
        """Return the plan as table attributes; the tick fires it at its next time."""
        due = due_pointer("plan", self.key, self.next_at) if self.next_at is not None else {}
        return super().to_item() | due
