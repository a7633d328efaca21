"""Fire due plans: start the run once, and advance the plan to its next time."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.models.chats.chat import Chat
from skein.models.chats.desk import DeskState
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import RunJob
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.planning.models.plan import Plan
from skein.planning.plans import MIN_CRON_MINUTES, deferred, ended, fired
from skein.planning.quiet_times import QuietTimes
from skein.ports import Metrics, Table
from skein.services.chat_state.activity import last_activity
from skein.services.items.store import replaced
from skein.services.runs.background_runs import agent_run
from skein.services.visibility.disclosure import may_write
from skein.settings import Settings

MAX_IDLE = timedelta(days=90)  # of its person; after this time, a cron plan ends

HELD_FOR = timedelta(minutes=5)  # between two checks of a chat that the team holds
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
        moves the plan to its next time. The run therefore starts once, even if ticks overlap or die
        half-way. If several times were missed, the plan fires once for all of them.

        The run belongs to the plan's chat, if the plan has one.

        The plan is canceled instead, with a reason, if its agent was deleted or has left the chat,
        if the chat was discarded, or if the person who set the plan has left a private chat. A cron
        plan is also canceled if that person has not been active for `MAX_IDLE`.

        If the chat is reached by SMS and its person has quiet hours now, the plan is deferred until
        the quiet hours end (`QuietTimes`). While a person of the team holds the chat, the plan is
        deferred or dropped, depending on the settings.

        Args:
            item: The plan's item, freshly read from the table.

        Returns:
            The run's job; None if there is nothing to start.

        Raises:
            ConditionFailed: The plan has changed since it was read.
        """
        plan = Plan.from_item(item)
        if plan.status != "active" or plan.next_at is None or plan.next_at > now:
            return None
        chat, gone = self._chat_of(plan)
        if gone is not None:
            self._cancel(plan, gone, now)
            return None
        if self._comes_later(plan, chat, now):
            return None
        watched = self._watched(plan, now)
        if watched is None:
            self._cancel(plan, Reason.PERSON_INACTIVE, now)
            self.metrics.count("PlansLapsed")
            return None
        trigger = PlanTrigger(
            id=plan.id,
            name=plan.name,
            instruction=plan.instruction,
            scheduled_at=plan.deferred_from or plan.next_at,
            chat_id=plan.source_chat_id,
            by_operator=plan.by_operator,
            authors=plan.authors,
            made_from=plan.made_from,
            template=plan.template,
        )
        started = agent_run(
            tenant=plan.tenant,
            agent_id=plan.agent_id,
            trigger=Trigger(type="plan", plan=trigger, traced_to=plan.person),
            cause=("plan", plan.id, rfc3339(plan.next_at)),
            now=now,
            audience=plan.audience,
            scope=plan.scope,
            chat=chat,
        )
        if chat is not None and started.run.for_chat_id and not may_write(started.run, chat):
            self._cancel(plan, Reason.PERSON_LEFT, now)
            return None
        least = timedelta(minutes=MIN_CRON_MINUTES)
        self.table.transact([*started.writes, *replaced(plan, fired(watched, now, least=least))])
        return started.job

    def _watched(self, plan: Plan, now: datetime) -> Plan | None:
        """Return the plan, with `active_at` updated; None if its person was inactive for too long.

        The time is looked up at most once a day. It is stored on the plan, so that it is still
        known after the person's messages have expired.
        """
        known = plan.active_at or plan.created_at
        if plan.cron is None or plan.person is None or now - known < LOOKED_UP_AFTER:
            return plan
        found = last_activity(self.table, plan.tenant, plan.person)
        active_at = max(known, found or known)
        if now - active_at > MAX_IDLE:
            return None
        return plan.model_copy(update={"active_at": active_at})

    def _chat_of(self, plan: Plan) -> tuple[Chat | None, Reason | None]:
        """Read the plan's chat, and check whether the plan can fire.

        Returns:
            The chat, or None if the plan has no chat; and the reason why the plan cannot fire, or
                None if it can.
        """
        agent_key = Agent.key_of(plan.tenant, plan.agent_id)
        keys: list[Key] = [agent_key]
        chat_id = plan.source_chat_id
        if chat_id is not None:
            agent = MemberRef(kind="agent", id=plan.agent_id)
            keys += [
                Chat.key_of(plan.tenant, chat_id),
                Membership.key_of(plan.tenant, chat_id, agent),
            ]
        found = self.table.get_many(keys)
        if agent_key not in found or Agent.must_read(found, agent_key).deleted_at is not None:
            return None, Reason.AGENT_DELETED
        if chat_id is None:
            return None, None
        _, chat_key, member_key = keys
        chat = Chat.read(found, chat_key)
        if chat is None or chat.discarded_at is not None:
            return None, Reason.CHAT_DISCARDED
        if member_key not in found or not Membership.must_read(found, member_key).active:
            return None, Reason.AGENT_LEFT
        return chat, None

    def _comes_later(self, plan: Plan, chat: Chat | None, now: datetime) -> bool:
        """Defer or drop a plan if the team holds its chat, or its person has quiet hours.

        Returns:
            Whether the plan does not fire now.
        """
        if chat is not None and chat.held and chat.desk is not None:
            self._wait_or_drop(plan, chat.desk, now)
            return True
        quiet_times = QuietTimes(table=self.table, settings=self.settings)
        quiet_until = quiet_times.end_for(plan, chat, now)
        if quiet_until is not None:
            self._defer(plan, quiet_until, Reason.QUIET_HOURS)
        return quiet_until is not None

    def _wait_or_drop(self, plan: Plan, desk: DeskState, now: datetime) -> None:
        """Defer a plan whose chat a person of the team holds, or skip this firing."""
        if desk.due_work == "wait":
            self._defer(plan, now + HELD_FOR, Reason.DESK)
        elif plan.cron is None:
            self._cancel(plan, Reason.DESK, now)
        else:
            missed = fired(plan, now, least=timedelta(minutes=MIN_CRON_MINUTES))
            kept = missed.model_copy(update={"reason": Reason.DESK})
            self.table.transact(replaced(plan, kept))
            self._log("plan dropped", plan, Reason.DESK)

    def _defer(self, plan: Plan, until: datetime, reason: Reason) -> None:
        """Make a plan due later: at the end of quiet hours, or at the next check of the desk."""
        self.table.transact(replaced(plan, deferred(plan, until, reason=reason)))
        self._log("plan deferred", plan, reason)
        self.metrics.count("PlansDeferred")

    def _cancel(self, plan: Plan, reason: Reason, now: datetime) -> None:
        """End a plan that cannot fire any more."""
        self.table.transact(replaced(plan, ended(plan, "canceled", now, reason=reason)))
        self._log("plan canceled", plan, reason)

    @staticmethod
    def _log(event: str, plan: Plan, reason: Reason) -> None:
        extra = {"agent_id": plan.agent_id, "chat_id": plan.source_chat_id, "reason": reason}
        logger.info(event, extra=extra)
