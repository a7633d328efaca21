"""What happens when a plan comes due: its run starts, once, and the plan moves on."""

from datetime import datetime

from skein.models.agent import Agent
from skein.models.base import rfc3339
from skein.models.intent import Plan
from skein.models.jobs import RunJob
from skein.models.storage import Item
from skein.models.trigger import PlanTrigger, Trigger
from skein.ports import Table
from skein.services.agent_runs import agent_run
from skein.services.plan_changes import ended, fired, moved
from skein.settings import Settings


class Firing:
    """Fires plans for the tick."""

    def __init__(self, *, table: Table, settings: Settings) -> None:
        self._table = table
        self._settings = settings

    def fire(self, item: Item, now: datetime) -> RunJob | None:
        """Start the run of a plan that is due.

        The run's id follows from the plan and the time it was due, and one transaction creates the
        run and moves the plan on; so ticks that overlap, or die half-way, start it once. Times that
        were missed fire once together. A deleted agent's plan ends instead.

        Args:
            item: The plan as it was just read from the table.
            now: The present.

        Returns:
            The run's job; None when there is nothing to start.

        Raises:
            ConditionFailed: The plan has changed since it was read.
        """
        plan = Plan.from_item(item)
        if plan.status != "active" or plan.next_at is None or plan.next_at > now:
            return None
        if not self._agent_is_there(plan):
            self._table.transact(moved(plan, ended(plan, "canceled", now)))
            return None
        trigger = PlanTrigger(
            id=plan.id,
            name=plan.name,
            instruction=plan.instruction,
            scheduled_at=plan.next_at,
            chat_id=plan.source_chat_id,
        )
        started = agent_run(
            tenant=plan.tenant,
            agent_id=plan.agent_id,
            trigger=Trigger(type="plan", plan=trigger, traced_to=plan.person),
            cause=("plan", plan.id, rfc3339(plan.next_at)),
            now=now,
            settings=self._settings,
            audience=plan.audience,
            scope=plan.scope,
        )
        self._table.transact([*started.writes, *moved(plan, fired(plan, now))])
        return started.job

    def _agent_is_there(self, plan: Plan) -> bool:
        item = self._table.get(Agent.key_of(plan.tenant, plan.agent_id))
        return item is not None and Agent.from_item(item).deleted_at is None
