"""What happens when a plan comes due: its run starts, once, and the plan moves on."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.models.agent import Agent
from skein.models.base import rfc3339
from skein.models.jobs import RunJob
from skein.models.plan import Plan
from skein.models.storage import Item
from skein.models.trigger import PlanTrigger, Trigger
from skein.ports import Metrics, Table
from skein.services.chat_state.activity import last_activity
from skein.services.planning.plans import ended, fired, moved
from skein.services.runs.background_runs import agent_run
from skein.settings import Settings

LOOKED_UP_AFTER = timedelta(days=1)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """Fires plans for the tick."""

    table: Table
    metrics: Metrics
    settings: Settings

    def fire(self, item: Item, now: datetime) -> RunJob | None:
        """Start the run of a plan that is due.

        The run's id follows from the plan and the time it was due, and one transaction creates the
        run and moves the plan on; so ticks that overlap, or die half-way, start it once. Times that
        were missed fire once together. A deleted agent's plan ends instead, and so does a cron plan
        whose person has not been active for long.

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
            self.table.transact(moved(plan, ended(plan, "canceled", now)))
            return None
        watched = self._watched(plan, now)
        if watched is None:
            self.table.transact(moved(plan, ended(plan, "canceled", now)))
            logger.info("a plan ended: its person is away", extra={"agent_id": plan.agent_id})
            self.metrics.count("PlansLapsed")
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
            settings=self.settings,
            audience=plan.audience,
            scope=plan.scope,
        )
        least = timedelta(minutes=self.settings.plan_cron_minutes)
        self.table.transact([*started.writes, *moved(plan, fired(watched, now, least=least))])
        return started.job

    def _watched(self, plan: Plan, now: datetime) -> Plan | None:
        """The plan with what is known of its person's activity; None once that is too long ago.

        It is looked up once a day at most, and kept on the plan, so that it outlives messages that
        expire.
        """
        known = plan.active_at or plan.created_at
        if plan.cron is None or plan.person is None or now - known < LOOKED_UP_AFTER:
            return plan
        found = last_activity(self.table, plan.tenant, plan.person)
        active_at = max(known, found or known)
        if now - active_at > timedelta(days=self.settings.plan_idle_days):
            return None
        return plan.model_copy(update={"active_at": active_at})

    def _agent_is_there(self, plan: Plan) -> bool:
        item = self.table.get(Agent.key_of(plan.tenant, plan.agent_id))
        return item is not None and Agent.from_item(item).deleted_at is None
