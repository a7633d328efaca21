"""Goals: aims of an agent, active until completed or abandoned."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from skein.errors import Conflict
from skein.models.common.storage import Check
from skein.models.visibility.ownership import Owner, Reach
from skein.planning.models.goal import MAX_GOALS, Goal, GoalOutcome
from skein.ports import Ids
from skein.services.common.optimistic import invalid_arguments
from skein.services.items.store import OwnedStore

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.planning.api import GoalChange, NewGoal


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals(OwnedStore[Goal]):
    """The service that keeps agents' goals, each in the partition of its scope."""

    ids: Ids

    @property
    def kind(self) -> type[Goal]:
        return Goal

    @property
    def limit(self) -> int:
        """The maximum number of active goals that may be shown to the same readers."""
        return MAX_GOALS

    def set(
        self,
        owner: Owner,
        text: str,
        *,
        reach: Reach | None = None,
        goal_id: str | None = None,
        priority: int = 2,
        long_term: bool = False,
        guard: Check | None = None,
    ) -> Goal:
        """Create a goal (idempotent for the same id).

        Args:
            owner: The agent, and the chat and audience in which the goal is made.
            text: The aim, 1 to 1,000 characters.
            reach: The goals that count towards the limit; None for all in the owner's partition.
            goal_id: The goal's id; for a run's effect, an id that is the same on every attempt.
                None for a new id.
            priority: 1 (first) to 5.
            long_term: Whether the goal is long-term.
            guard: A check on the run that sets the goal.

        Returns:
            The new goal or, if a goal with this id was stored before, the stored goal.

        Raises:
            Unprocessable: The text or the priority is invalid.
            Conflict: The scope has 100 active goals that may be shown to the readers, or 200 in
                all.
            LostLease: The guard fails: another worker has claimed the run.
        """
        try:
            goal = Goal(
                **dict(owner),
                id=goal_id or f"goal_{self.ids.ulid()}",
                text=text,
                priority=priority,
                long_term=long_term,
                created_at=self.clock.now(),
            )
        except ValidationError as error:
            raise invalid_arguments(error) from None
        return self.insert(goal, reach, guard=guard)

    def end(
        self, reach: Reach, goal_id: str, status: GoalOutcome, *, guard: Check | None = None
    ) -> Goal:
        """Mark a goal as completed or abandoned (idempotent).

        Raises:
            NotFound: The goal does not exist, or the caller may not access it.
            Conflict: The goal has another status, or may not be changed by the caller.
            LostLease: The guard fails: another worker has claimed the run.
        """

        def end(goal: Goal) -> Goal:
            if goal.status == status:
                return goal
            if not goal.live:
                raise Conflict(f"this goal is already {goal.status}")
            return goal.ended(status, self.clock.now())

        return self.edit(reach, goal_id, end, guard=guard)

    def create(self, owner: Owner, new: "NewGoal") -> Goal:
        """Create a goal on behalf of an operator; see `set`."""
        return self.set(owner, **new.model_dump())

    def change(self, reach: Reach, goal_id: str, change: "GoalChange") -> Goal:
        """Change some of a goal's fields on behalf of an operator, or end or restore it.

        A goal that has ended may become active again.

        Raises:
            NotFound: The goal does not exist, or the caller may not access it.
            Conflict: The change would exceed the limit of active goals.
        """
        given = change.given

        def changed_goal(goal: Goal) -> Goal:
            status = given.get("status", goal.status)
            changed = Goal.model_validate(dict(goal) | given)
            if status == goal.status:
                return changed
            if status == Goal.LIVE_STATUS:
                return changed.restored()
            return changed.ended(status, self.clock.now())

        return self.edit(reach, goal_id, changed_goal)
