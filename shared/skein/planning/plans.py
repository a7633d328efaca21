"""Plans: future triggers of an agent, once or on a cron; `firing` starts their runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import ValidationError

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.reason import Reason
from skein.models.common.storage import Check, Missing, Put
from skein.models.visibility.ownership import Owner, Reach
from skein.planning.models.plan import MAX_PLANS, Plan, PlanStatus
from skein.services.common.optimistic import invalid_arguments, optimistic, transact_guarded
from skein.services.common.schedule import (
    after_a_while,
    fires_too_often,
    moment_of,
    next_time,
    zone_of,
)
from skein.services.config.message_templates import check_template
from skein.services.items.store import OwnedStore, Snapshot, check_change

if TYPE_CHECKING:
    from skein.planning.api import PlanChange  # only the API imports it

MIN_CRON_MINUTES = 15  # between two firings of a plan

TICK_SLACK = timedelta(minutes=2)
A_MOMENT = timedelta(seconds=1)
AWAKE = timedelta(hours=1)  # after a message, its author counts as awake for this long
GENERATIONS = 4  # generations of one name that one batch reads


def first_time(kind: str, text: str, time_zone: str, now: datetime) -> datetime:
    """Return when a new plan fires first.

    Args:
        kind: `run_after`, `scheduled_at` or `cron`.
        text: The value of that field as given.
        time_zone: The name of an IANA time zone.

    Raises:
        Unprocessable: A value is invalid, or the time has passed or never comes.
    """
    zone = zone_of(time_zone)
    if kind == "run_after":
        return after_a_while(text, now)
    if kind == "scheduled_at":
        return moment_of(text, zone, now)
    at = next_time(text, zone, now)
    if at is None:
        raise Unprocessable("cron matches no time in the next 50 years")
    return at


def ended(plan: Plan, status: PlanStatus, now: datetime, *, reason: Reason | None = None) -> Plan:
    """Return the plan as ended with `status`, and with the reason if Skein canceled it."""
    return plan.ended(status, now).model_copy(update={"next_at": None, "reason": reason})


def fired(plan: Plan, now: datetime, *, least: timedelta) -> Plan:
    """Return the plan after it has fired: with its next time, or as ended.

    Args:
        plan: The plan as it was when due.
        least: The minimum time between two firings, for any cron expression. Even if the tick was
            late by up to `TICK_SLACK`, the plan does not miss its next time.
    """
    if plan.cron is None:
        return ended(plan, "done", now)
    fired_at = max(plan.next_at or now, now - TICK_SLACK)
    earliest = max(now, fired_at + least - A_MOMENT)
    next_at = next_time(plan.cron, zone_of(plan.time_zone), earliest)
    if next_at is None:
        return ended(plan, "done", now)
    return plan.model_copy(update={"next_at": next_at, "deferred_from": None, "reason": None})


def deferred(plan: Plan, until: datetime, *, reason: Reason) -> Plan:
    """Return the plan with its next firing deferred to `until`."""
    since = plan.deferred_from or plan.next_at
    return plan.model_copy(update={"next_at": until, "deferred_from": since, "reason": reason})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans(OwnedStore[Plan]):
    """The service that keeps agents' plans, each in the partition of its scope."""

    @property
    def kind(self) -> type[Plan]:
        return Plan

    @property
    def limit(self) -> int:
        """The maximum number of active plans that may be shown to the same readers."""
        return MAX_PLANS

    def set(
        self,
        owner: Owner,
        name: str,
        instruction: str,
        *,
        reach: Reach | None = None,
        run_after: str | None = None,
        scheduled_at: str | None = None,
        cron: str | None = None,
        time_zone: str = "UTC",
        set_by: str | None = None,
        asked: bool = False,
        template: str | None = None,
        effect: str | None = None,
        guard: Check | None = None,
    ) -> Plan:
        """Create a plan, or replace the plan of the same name.

        An existing plan of this name that may not be shown to the readers is kept under another id.

        Args:
            owner: The agent, and the chat and audience in which the plan is made.
            name: The plan's name, unique within its partition, 1 to 100 characters.
            instruction: What the agent must do when the plan fires, 1 to 4,000 characters.
            reach: The plans that may be shown to the readers; None for all plans in the owner's
                partition.
            run_after: `<n> second|minute|hour|day|week(s)` from now.
            scheduled_at: RFC 3339, or a local time of `time_zone`; in the future.
            cron: Five fields in `time_zone`; the plan first fires at its next time, not at once.
            time_zone: The name of an IANA time zone.
            set_by: The person whose run sets the plan.
            asked: Whether a message of that person triggered the run. Then the time counts as the
                person's own choice, so quiet hours do not apply. The exception is a `run_after` of
                more than an hour, because it names no hour of the day.
            template: The message template for the answer, if free text must not be sent.
            effect: The id of a run's effect; repeating the same effect changes nothing.
            guard: A check on the run that sets the plan.

        Returns:
            The plan; for a repeated effect, the plan that the first call returned.

        Raises:
            Unprocessable: Not exactly one of the three times is given, a value is invalid, the cron
                expression fires too often, or there is no such template.
            Conflict: The scope has 100 active plans that may be shown to the readers, or 200 in
                all. Or the plan of this name may not be changed by the caller.
            LostLease: The guard fails: another worker has claimed the run.
        """
        given = {"run_after": run_after, "scheduled_at": scheduled_at, "cron": cron}
        times = {kind: text for kind, text in given.items() if text is not None}
        plan = self._new(
            owner,
            name,
            instruction,
            times,
            time_zone=time_zone,
            set_by=set_by,
            asked=asked,
            template=template,
        )
        shown = (reach or owner.reach).at(owner.scope)
        return optimistic(self.clock, lambda: self._set_once(plan, shown, effect, guard))

    def check(
        self,
        owner: Owner,
        name: str,
        instruction: str,
        *,
        time_zone: str,
        template: str | None = None,
        **times: str,
    ) -> None:
        """Check the values of a plan without storing it; see `set`.

        Args:
            times: One of `run_after`, `scheduled_at` and `cron`.

        Raises:
            Unprocessable: A value is invalid.
        """
        self._new(owner, name, instruction, times, time_zone=time_zone, template=template)

    def _new(
        self,
        owner: Owner,
        name: str,
        instruction: str,
        times: Mapping[str, str],
        *,
        time_zone: str,
        set_by: str | None = None,
        asked: bool = False,
        template: str | None = None,
    ) -> Plan:
        """Build a plan from its values; see `set`.

        Raises:
            Unprocessable: A value is invalid, or not exactly one of the three times is given.
        """
        if len(times) != 1:
            raise Unprocessable("give exactly one of run_after, scheduled_at and cron")
        [(kind, text)] = times.items()
        now = self.clock.now()
        if template is not None:
            check_template(self.table, owner.tenant, template)
        next_at = first_time(kind, text, time_zone, now)
        least = MIN_CRON_MINUTES
        if kind == "cron" and fires_too_often(text, timedelta(minutes=least), now):
            raise Unprocessable(f"cron may fire at most every {least} minutes")
        try:
            return Plan(
                **dict(owner),
                id=Plan.id_of(owner.agent_id, owner.scope, name.strip()),
                name=name,
                instruction=instruction,
                **{kind: next_at if kind == "scheduled_at" else " ".join(text.split())},
                time_zone=time_zone,
                next_at=next_at,
                active_at=now if kind == "cron" else None,
                template=template,
                set_by=set_by,
                own_time=asked and (kind != "run_after" or next_at - now <= AWAKE),
                created_at=now,
            )
        except ValidationError as error:
            raise invalid_arguments(error) from None

    def _set_once(self, plan: Plan, reach: Reach, effect: str | None, guard: Check | None) -> Plan:
        found, named = self._named(reach, plan.name, effect)
        if found.done is not None:
            return found.done
        generation, hides = _generation(reach, named)
        before = named[generation]
        plan_id = Plan.id_of(plan.agent_id, plan.scope, plan.name, generation)
        plan = plan.model_copy(update={"id": plan_id, "generation": generation})
        if before is None or hides or not before.live:
            self.check_limit(reach, plan)
        if before is not None:
            created_at = plan.created_at if hides else before.created_at
            version = before.version + 1
            plan = plan.model_copy(update={"version": version, "created_at": created_at})
        writes = [*found.writes(before, plan), *found.record(plan, plan.scope, self.clock.now())]
        if hides and before is not None:
            unused = len(named) - 1
            moved_id = Plan.id_of(plan.agent_id, plan.scope, plan.name, unused)
            hidden = before.model_copy(
                update={"id": moved_id, "generation": unused, "version": before.version + 1}
            )
            writes.append(Put(hidden.key, hidden.to_item(), Missing()))
            if before.live:
                writes.append(found.raised(plan.scope))
        transact_guarded(self.table, writes, guard)
        return plan

    def cancel(
        self, reach: Reach, name: str, *, effect: str | None = None, guard: Check | None = None
    ) -> Plan:
        """Cancel a plan by its name; a plan that has ended stays as it is.

        Args:
            reach: The partitions to look in, and the readers.
            effect: The id of a run's effect; repeating the same effect changes nothing.
            guard: A check on the run that cancels the plan.

        Raises:
            NotFound: The plan does not exist, or the caller may not access it.
            Conflict: The plan may not be changed by the caller.
            LostLease: The guard fails: another worker has claimed the run.
        """

        def attempt() -> Plan:
            named = [self._named(reach.at(scope), name.strip(), effect) for scope in reach.scopes]
            done = next((found.done for found, _ in named if found.done is not None), None)
            if done is not None:
                return done
            plans = [
                (found, plan)
                for found, generations in named
                for plan in generations
                if plan is not None and reach.shows(plan)
            ]
            if not plans:
                raise NotFound("plan not found")
            found, plan = min(
                plans, key=lambda each: (not each[1].live, not reach.changes(each[1]))
            )
            return self.replace(found, plan, self._canceled(plan), guard=guard)

        return optimistic(self.clock, attempt)

    def delete(self, reach: Reach, item_id: str) -> Plan:
        """Cancel a plan by its id without deleting it; a plan that has ended stays as it is.

        Raises:
            NotFound: The plan does not exist, or the caller may not access it.
            Conflict: The plan may not be changed by the caller.
        """
        return self.edit(reach, item_id, self._canceled)

    def change(self, reach: Reach, plan_id: str, change: "PlanChange") -> Plan:
        """Cancel or restore a plan on behalf of an operator (idempotent).

        Raises:
            NotFound: The plan does not exist, or the caller may not access it.
            Conflict: The time of the plan has passed, or there are too many active plans.
        """
        made = self._canceled if change.status == "canceled" else self._restored
        return self.edit(reach, plan_id, made)

    def _restored(self, plan: Plan) -> Plan:
        if plan.live:
            return plan
        now = self.clock.now()
        at = plan.scheduled_at
        if plan.cron is not None:
            at = next_time(plan.cron, zone_of(plan.time_zone), now)
        elif plan.run_after is not None:
            at = after_a_while(plan.run_after, now)
        if at is None or at <= now:
            raise Conflict("the time of this plan has passed; set a new one")
        return plan.restored().model_copy(update={"next_at": at, "reason": None})

    def _canceled(self, plan: Plan) -> Plan:
        return ended(plan, "canceled", self.clock.now()) if plan.live else plan

    def _named(
        self, reach: Reach, name: str, effect: str | None
    ) -> tuple[Snapshot[Plan], list[Plan | None]]:
        """Read the plans of one name by generation, up to the first unused generation.

        Args:
            reach: The readers, and the scope of the plans.
        """
        [scope] = reach.scopes
        named: list[Plan | None] = []
        while not named or named[-1] is not None:
            numbers = range(len(named), len(named) + GENERATIONS)
            ids = [Plan.id_of(reach.agent_id, scope, name, number) for number in numbers]
            found = self.read(reach, ids, effect=effect)
            named += [found.stored(scope, plan_id) for plan_id in ids]
            if None in named:
                named = named[: named.index(None) + 1]
        return found, named


def _generation(reach: Reach, named: Sequence[Plan | None]) -> tuple[int, bool]:
    """Return the generation for a new plan, and whether a hidden plan must give it up.

    The new plan replaces an active plan within reach that may be changed, or else an ended plan
    within reach. Without such a plan, the new plan gets the first generation. A hidden plan with
    this generation then moves to the first unused generation, so that the id of the new plan does
    not reveal whether a hidden plan exists.

    Args:
        named: The stored plans of this name, indexed by generation. The last entry is None: the
            first unused generation.

    Raises:
        Conflict: The active plan may be shown but not changed within `reach`.
    """
    shown = {n: plan for n, plan in enumerate(named) if plan is not None and reach.shows(plan)}
    changeable = [n for n, plan in shown.items() if reach.changes(plan)]
    active = next((n for n in changeable if shown[n].live), None)
    if active is not None:
        return active, False
    for plan in shown.values():
        if plan.live:
            check_change(reach, plan)
    if changeable:
        return changeable[0], False
    if named[0] is None or 0 in shown:
        return len(named) - 1, False
    return 0, True
