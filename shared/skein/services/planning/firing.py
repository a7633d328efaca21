"""Fire due plans: start the run once, and move the plan on."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.models.common.base import rfc3339
from skein.models.common.storage import Item
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import RunJob
from skein.models.planning.plan import Plan
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.ports import Metrics, Table
from skein.services.chat_state.activity import last_activity
from skein.services.planning.plans import ended, fired, moved
from skein.services.runs.background_runs import agent_run
from skein.settings import Settings

LOOKED_UP_AFTER = timedelta(days=1)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """The service that fires plans for the tick."""

    table: Table
    metrics: Metrics
    settings: Settings

    def fire(self, item: Item, now: datetime) -> RunJob | None:
        """Start the run of a due plan.

        The run's id is derived from the plan and its due time. One transaction creates the run and
        moves the plan to its next time. So ticks that overlap, or die half-way, start the run once.
        If several times were missed, the plan fires once for all of them.

        The plan of a deleted agent is canceled instead, and so is a cron plan whose person has not
        been active for `plan_idle_days`.

        Args:
            item: The plan's item, freshly read from the table.
            now: The present.

        Returns:
            The run's job; None if there is nothing to start.

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
            logger.info("plan ended: its person was inactive", extra={"agent_id": plan.agent_id})
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
        """Return the plan with its person's newest activity; None if that is too long ago.

        The activity is looked up at most once a day. It is stored on the plan, so that it outlives
        messages that expire.
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
