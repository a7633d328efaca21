"""Goals: aims of an agent, active until completed or abandoned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skein.errors import Conflict, NotFound
from skein.models.common.ownership import Owner, Reach
from skein.models.common.storage import Check, Delete, Is, Missing, Put, Write
from skein.models.planning.goal import MAX_GOALS, Goal, GoalStatus
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import (
    check_change,
    invalid_arguments,
    optimistic,
    transact_guarded,
)
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    Listing,
    check_limit,
    list_by_status,
    owned_items,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The service that keeps agents' goals, each in the partition of its scope."""

    table: Table
    clock: Clock
    ids: Ids

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
            reach: The goals that may be shown there; None for all goals in the owner's partition.
            goal_id: The goal's id; for a run's effect, an id that is the same on every attempt.
                None for a new id.
            priority: 1 (first) to 5.
            long_term: Whether the goal is long-term.
            guard: A check on the run that sets the goal.

        Returns:
            The goal; the stored one, if there was one with this id.

        Raises:
            Unprocessable: The text or the priority does not fit.
            Conflict: The agent has 100 active goals there that may be shown, or 200 in all.
            LostLease: The guard does not hold.
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
        shown = (reach or owner.reach).model_copy(update={"scopes": (owner.scope,)})
        return optimistic(self.clock, lambda: self._set_once(goal, shown, guard))

    def _set_once(self, goal: Goal, shown: Reach, guard: Check | None) -> Goal:
        own = Reach(tenant=goal.tenant, agent_id=goal.agent_id, scopes=(goal.scope,))
        stored = self._find(own, goal.id)
        if stored is not None:
            return stored
        self._check_limit(shown)
        ended = Goal.ended_key_of(goal.tenant, goal.agent_id, goal.scope, goal.id)
        transact_guarded(
            self.table,
            [Put(goal.key, goal.to_item(), Missing()), Check(ended, Missing())],
            guard,
        )
        return goal

    def _check_limit(self, reach: Reach) -> None:
        message = f"there are already {MAX_GOALS} active goals; end one first"
        check_limit(self.table, reach, Goal.PREFIX, Goal.from_item, most=MAX_GOALS, message=message)

    def complete(self, reach: Reach, goal_id: str, *, guard: Check | None = None) -> Goal:
        """Mark a goal as completed (idempotent).

        Raises:
            NotFound: There is no such goal within reach.
            Conflict: The goal was abandoned, or may not be changed from there.
            LostLease: The guard does not hold.
        """
        return self._end(reach, goal_id, "completed", guard)

    def abandon(self, reach: Reach, goal_id: str, *, guard: Check | None = None) -> Goal:
        """Mark a goal as abandoned (idempotent).

        Raises:
            NotFound: There is no such goal within reach.
            Conflict: The goal was completed, or may not be changed from there.
            LostLease: The guard does not hold.
        """
        return self._end(reach, goal_id, "abandoned", guard)

    def _end(self, reach: Reach, goal_id: str, status: GoalStatus, guard: Check | None) -> Goal:
        def attempt() -> Goal:
            goal = self.get(reach, goal_id)
            check_change(reach, goal)
            if goal.status == status:
                return goal
            if goal.status != "active":
                raise Conflict(f"this goal is already {goal.status}")
            return self._revise(goal, {"status": status}, guard)

        return optimistic(self.clock, attempt)

    def change(self, reach: Reach, goal_id: str, changes: dict[str, Any]) -> Goal:
        """Change some of a goal's `text`, `priority`, `long_term` and `status`.

        A goal that has ended may become active again.

        Raises:
            NotFound: There is no such goal within reach.
            Conflict: The change would exceed the limit of active goals.
        """

        def attempt() -> Goal:
            goal = self.get(reach, goal_id)
            if not changes:
                return goal
            if goal.status != "active" and changes.get("status") == "active":
                self._check_limit(reach.model_copy(update={"scopes": (goal.scope,)}))
            return self._revise(goal, changes, None)

        return optimistic(self.clock, attempt)

    def _revise(self, goal: Goal, changes: dict[str, Any], guard: Check | None) -> Goal:
        """Write a goal with `changes` over the one that was read (optimistic lock).

        A goal that ends or becomes active again moves to another key.
        """
        status = changes.get("status", goal.status)
        if status == "active":
            ended_at = None
        else:
            ended_at = goal.ended_at if status == goal.status else self.clock.now()
        revised = goal.model_copy(
            update={**changes, "version": goal.version + 1, "ended_at": ended_at}
        )
        as_read = Is("version", goal.version)
        writes: Sequence[Write] = (
            [Put(goal.key, revised.to_item(), as_read)]
            if revised.key == goal.key
            else [Delete(goal.key, as_read), Put(revised.key, revised.to_item(), Missing())]
        )
        transact_guarded(self.table, writes, guard)
        return revised

    def get(self, reach: Reach, goal_id: str) -> Goal:
        """Return one goal, active or ended.

        Raises:
            NotFound: There is no such goal within reach.
        """
        goal = self._find(reach, goal_id)
        if goal is None:
            raise NotFound("goal not found")
        return goal

    def _find(self, reach: Reach, goal_id: str) -> Goal | None:
        keys = [
            key_of(reach.tenant, reach.agent_id, scope, goal_id)
            for scope in reach.scopes
            for key_of in (Goal.key_of, Goal.ended_key_of)
        ]
        found = self.table.get_many(keys)
        goals = [Goal.from_item(found[key]) for key in keys if key in found]
        return next((goal for goal in goals if reach.shows(goal)), None)

    def active(self, reach: Reach) -> tuple[Goal, ...]:
        """Return the active goals within reach, by priority, then the oldest first."""
        goals = [Goal.from_item(item) for item in owned_items(self.table, reach, Goal.PREFIX)]
        shown = filter(reach.shows, goals)
        return tuple(sorted(shown, key=lambda goal: (goal.priority, goal.created_at, goal.id)))

    def list(
        self,
        reach: Reach,
        *,
        status: GoalStatus | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Goal]:
        """Return a page of the goals in one partition, by id, active ones first.

        Args:
            reach: The agent and the readers; only the first scope is listed.
            status: Only goals with this status; None for all.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        return list_by_status(self.table, reach, Goal, status, limit=limit, cursor=cursor)

    def delete(self, reach: Reach, goal_id: str) -> None:
        """Delete a goal permanently.

        Raises:
            NotFound: There is no such goal within reach.
        """

        def attempt() -> None:
            goal = self.get(reach, goal_id)
            self.table.write(Delete(goal.key, Is("version", goal.version)))

        optimistic(self.clock, attempt)
