"""GOALS and PLANS: the active goals and plans of an agent that may be shown.

All active goals and plans are read, and as many as fit are shown. Goals are listed by priority,
with operators' goals first, and plans by their next time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import Section, SectionInput, listing
from skein.models.visibility.provenance import Authors
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.services.common.quoting import minute_of, quoted, quoted_id


@dataclass(frozen=True, slots=True)
class Goals(SectionItems):
    """The agent's active goals, the most important first."""

    goals: tuple[Goal, ...] = ()
    owned = (Goal.PREFIX,)
    optional = True

    @classmethod
    def found(cls, read: SectionReads) -> "Goals":
        """Keep the goals that may be shown: first operators' goals, then others; by priority."""
        goals = sorted(read.shown(Goal), key=lambda one: (one.priority, one.created_at, one.id))
        return cls(tuple(sorted(goals, key=lambda one: not one.by_operator)))

    def authors(self) -> Iterable[Authors]:
        return (goal.authors for goal in self.goals)


@dataclass(frozen=True, slots=True)
class Plans(SectionItems):
    """The agent's active plans, the next one first."""

    plans: tuple[Plan, ...] = ()
    owned = (Plan.PREFIX,)
    optional = True

    @classmethod
    def found(cls, read: SectionReads) -> "Plans":
        """Keep the plans that may be shown and have a next time, sorted by that time."""
        plans = read.shown(Plan)
        coming = [(plan.next_at, plan.id, plan) for plan in plans if plan.next_at is not None]
        return cls(tuple(plan for _, _, plan in sorted(coming, key=lambda entry: entry[:2])))

    def authors(self) -> Iterable[Authors]:
        return (plan.authors for plan in self.plans)


def goals(given: SectionInput) -> Section | None:
    """Render the section of the agent's goals, if the agent has goals."""
    with_ids = given.takes("goal_id")
    lines = [
        f"  - {given.sources.line_of(goal, goal.text)} ({'long-term, ' if goal.long_term else ''}"
        f"priority: {goal.priority}{f', id: {quoted_id(goal.id)}' if with_ids else ''})"
        for goal in given.reading.of(Goals).goals
    ]
    limit, counter = given.list_limit, given.counter
    return listing("GOALS", lines, limit, counter) if lines else None


def plans(given: SectionInput) -> Section | None:
    """Render the section of the agent's plans, if the agent has plans."""
    now = given.reading.now
    lines = [
        f"  - {quoted(plan.name)} ({_kind_of(plan, at)}, in {_span(at - now)})"
        for plan in given.reading.of(Plans).plans
        if (at := plan.next_at) is not None
    ]
    limit, counter = given.list_limit, given.counter
    return listing("PLANS", lines, limit, counter) if lines else None


def _kind_of(plan: Plan, at: datetime) -> str:
    if plan.cron is None:
        return f"once at {minute_of(at)}"
    cron = " ".join(plan.cron.split())
    return f"cron: {cron} in {plan.time_zone}, next at {minute_of(at)}"


def _span(span: timedelta) -> str:
    """Format a duration in its two largest units, of days, hours and minutes."""
    minutes = max(int(span.total_seconds()) // 60, 0)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days}d {hours:02d}h"
    return f"{hours}h {rest:02d}m" if hours else f"{rest}m"
