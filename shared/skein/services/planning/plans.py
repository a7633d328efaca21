"""Plans: future triggers of an agent, once or on a cron; `firing` starts their runs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import ValidationError

from skein.errors import NotFound, Unprocessable
from skein.models.common.ownership import Owner, Reach, effect_kept_until, effect_key
from skein.models.common.reason import Reason
from skein.models.common.storage import (
    Check,
    Condition,
    Delete,
    Is,
    Key,
    Missing,
    Put,
    Update,
    Write,
)
from skein.models.directory.agent import Agent
from skein.models.outbox.due import NOT_DUE
from skein.models.planning.plan import MAX_PLANS, Plan, PlanStatus
from skein.ports import Clock, Table
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
from skein.services.common.schedule import (
    after_a_while,
    fires_too_often,
    moment_of,
    next_time,
    zone_of,
)
from skein.services.planning.plan_chats import owner_of_plan, zone_of_plan

MIN_CRON_MINUTES = 15  # between two firings of a plan

TICK_SLACK = timedelta(minutes=2)
A_MOMENT = timedelta(seconds=1)
AWAKE = timedelta(hours=1)  # after a message, its author counts as awake for this time
MOVED = ("next_at", "active_at", "deferred_from", "reason", "version", "gsi2pk", "gsi2sk")
GENERATIONS = 4  # generations of one name that one batch reads


def first_time(kind: str, text: str, time_zone: str, now: datetime) -> datetime:
    """Return when a new plan fires first.

    Args:
        kind: `run_after`, `scheduled_at` or `cron`.
        text: The value of that field as given.
        time_zone: The name of an IANA time zone.

    Raises:
        Unprocessable: A value does not fit, or the time has passed or never comes.
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
    return plan.model_copy(
        update={
            "status": status,
            "next_at": None,
            "ended_at": now,
            "reason": reason,
            "version": plan.version + 1,
        }
    )


def fired(plan: Plan, now: datetime, *, least: timedelta) -> Plan:
    """Return the plan after it has fired: with its next time, or ended.

    Args:
        plan: The plan as it was when due.
        least: The minimum time between two firings, for any cron expression. A tick may
            be late by `TICK_SLACK` without the plan missing its next time.
    """
    if plan.cron is None:
        return ended(plan, "done", now)
    fired_at = max(plan.next_at or now, now - TICK_SLACK)
    earliest = max(now, fired_at + least - A_MOMENT)
    next_at = next_time(plan.cron, zone_of(plan.time_zone), earliest)
    if next_at is None:
        return ended(plan, "done", now)
    return plan.model_copy(
        update={
            "next_at": next_at,
            "deferred_from": None,
            "reason": None,
            "version": plan.version + 1,
        }
    )


def deferred(plan: Plan, until: datetime, *, reason: Reason) -> Plan:
    """Return the plan with its next firing deferred to `until`."""
    return plan.model_copy(
        update={
            "next_at": until,
            "deferred_from": plan.deferred_from or plan.next_at,
            "reason": reason,
            "version": plan.version + 1,
        }
    )


def as_read(plan: Plan | None) -> Condition:
    """Return the condition that a plan is unchanged since it was read (optimistic lock).

    None stands for no plan: then the condition is that there still is none.
    """
    return Missing() if plan is None else Is("version", plan.version)


def moved(plan: Plan, revised: Plan) -> list[Write]:
    """Return the writes that replace `plan` by `revised`, a later state of it."""
    if revised.key != plan.key:
        return [
            Delete(plan.key, as_read(plan)),
            Put(revised.key, revised.to_item(), Missing()),
        ]
    item = revised.to_item()
    change = {name: item.get(name) for name in MOVED}
    return [Update(plan.key, set=NOT_DUE | change, condition=as_read(plan))]


class _PlanItems(NamedTuple):
    """The items of a plan in one partition.

    Attributes:
        active: The plan while it is active.
        over: The plan once it has ended.
        done: The plan as an earlier try of the same effect returned it.
    """

    id: str
    generation: int = 0
    active: Plan | None = None
    over: Plan | None = None
    done: Plan | None = None

    @property
    def plan(self) -> Plan | None:
        """The plan, active or ended."""
        return self.active or self.over


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """The service that keeps agents' plans, each in the partition of its scope."""

    table: Table
    clock: Clock

    def owner(
        self, agent: Agent, *, chat_id: str | None = None, user_id: str | None = None
    ) -> Owner:
        """Return the owner of a plan that an operator sets; see `owner_of_plan`.

        Raises:
            NotFound: The agent is not a member of such a chat, or the person does not exist.
            Conflict: The chat is discarded.
            Unprocessable: Both ids are given, or the person has no direct chat with the agent.
        """
        return owner_of_plan(self.table, agent, chat_id=chat_id, user_id=user_id)

    def time_zone(self, owner: Owner, agent: Agent) -> str:
        """Return the time zone of an operator's plan that names none; see `zone_of_plan`."""
        return zone_of_plan(self.table, owner, agent)

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
        effect: str | None = None,
        guard: Check | None = None,
    ) -> Plan:
        """Create a plan, or replace the one of the same name.

        A plan of this name that may not be shown there stays as a second item, under another id.

        Args:
            owner: The agent, and the chat and audience in which the plan is made.
            name: The plan's name, unique within its partition, 1 to 100 characters.
            instruction: What the agent is to do when the plan fires, 1 to 4,000 characters.
            reach: The plans that may be shown there; None for all plans in the owner's partition.
            run_after: `<n> second|minute|hour|day|week(s)` from now.
            scheduled_at: RFC 3339, or a local time of `time_zone`; in the future.
            cron: Five fields in `time_zone`; the plan first fires at its next time, not at once.
            time_zone: The name of an IANA time zone.
            set_by: The person whose run sets the plan.
            asked: Whether a message of that person triggered the run. Then the time counts as the
                person's own choice, so quiet hours do not apply. The exception is a `run_after` of
                more than an hour, because it names no hour of the day.
            effect: The id of a run's effect; repeating the same effect changes nothing.
            guard: A check on the run that sets the plan.

        Returns:
            The plan; for a repeated effect, the plan as the first time returned it.

        Raises:
            Unprocessable: Not exactly one of the three times is given, a value does not fit, or
                the cron expression fires too often.
            Conflict: The agent has 100 active plans there that may be shown, or 200 in all; or the
                plan of this name may not be changed from there.
            LostLease: The guard does not hold.
        """
        given = {"run_after": run_after, "scheduled_at": scheduled_at, "cron": cron}
        times = {kind: text for kind, text in given.items() if text is not None}
        if len(times) != 1:
            raise Unprocessable("give exactly one of run_after, scheduled_at and cron")
        [(kind, text)] = times.items()
        now = self.clock.now()
        next_at = first_time(kind, text, time_zone, now)
        least = MIN_CRON_MINUTES
        if kind == "cron" and fires_too_often(text, timedelta(minutes=least), now):
            raise Unprocessable(f"cron may fire at most every {least} minutes")
        try:
            plan = Plan(
                **dict(owner),
                id=Plan.id_of(owner.agent_id, owner.scope, name.strip()),
                name=name,
                instruction=instruction,
                **{kind: next_at if kind == "scheduled_at" else " ".join(text.split())},
                time_zone=time_zone,
                next_at=next_at,
                active_at=now if kind == "cron" else None,
                set_by=set_by,
                own_time=asked and (kind != "run_after" or next_at - now <= AWAKE),
                created_at=now,
            )
        except ValidationError as error:
            raise invalid_arguments(error) from None
        shown = (reach or owner.reach).model_copy(update={"scopes": (owner.scope,)})
        return optimistic(self.clock, lambda: self._set_once(plan, shown, effect, guard))

    def _set_once(self, plan: Plan, reach: Reach, effect: str | None, guard: Check | None) -> Plan:
        found = self._named(reach, plan.scope, plan.name, effect)
        done = next((each.done for each in found if each.done is not None), None)
        if done is not None:
            return done
        standing, hidden = _replaced(reach, found)
        plan = plan.model_copy(update={"id": standing.id, "generation": standing.generation})
        earlier = standing.plan
        if standing.active is None or hidden is not None:
            message = f"there are already {MAX_PLANS} active plans; cancel one first"
            check_limit(
                self.table, reach, Plan.PREFIX, Plan.from_item, most=MAX_PLANS, message=message
            )
        if earlier is not None:
            created_at = plan.created_at if hidden is not None else earlier.created_at
            plan = plan.model_copy(
                update={"version": earlier.version + 1, "created_at": created_at}
            )
        ended_key = Plan.ended_key_of(plan.tenant, plan.agent_id, plan.scope, plan.id)
        writes = [
            Put(plan.key, plan.to_item(), as_read(standing.active)),
            Delete(ended_key, as_read(standing.over)),
            *([Put(hidden.key, hidden.to_item(), Missing())] if hidden is not None else ()),
            *self._effect(plan, effect),
        ]
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
            NotFound: There is no such plan within reach.
            Conflict: The plan may not be changed from there.
            LostLease: The guard does not hold.
        """

        def attempt() -> Plan:
            found = [
                each
                for scope in reach.scopes
                for each in self._named(reach, scope, name.strip(), effect)
            ]
            return self._cancel_once(reach, found, effect, guard)

        return optimistic(self.clock, attempt)

    def cancel_by_id(self, reach: Reach, plan_id: str) -> Plan:
        """Cancel a plan by its id; a plan that has ended stays as it is.

        Raises:
            NotFound: There is no such plan within reach.
            Conflict: The plan may not be changed from there.
        """

        def attempt() -> Plan:
            return self._cancel_once(reach, self._of_id(reach, plan_id), None, None)

        return optimistic(self.clock, attempt)

    def _cancel_once(
        self, reach: Reach, found: list[_PlanItems], effect: str | None, guard: Check | None
    ) -> Plan:
        done = next((each.done for each in found if each.done is not None), None)
        if done is not None:
            return done
        plan = _shown(reach, found)
        check_change(reach, plan)
        if plan.status != "active":
            return plan
        canceled = ended(plan, "canceled", self.clock.now())
        writes = [*moved(plan, canceled), *self._effect(canceled, effect)]
        transact_guarded(self.table, writes, guard)
        return canceled

    def _of_id(self, reach: Reach, plan_id: str) -> list[_PlanItems]:
        """Read the plans with one id, in each partition within reach."""
        wanted = [(scope, _PlanItems(plan_id)) for scope in reach.scopes]
        return self._read(reach, wanted, None)

    def _named(
        self, reach: Reach, scope: str | None, name: str, effect: str | None
    ) -> list[_PlanItems]:
        """Read the plans of one name in a partition, up to the first unused generation."""
        found: list[_PlanItems] = []
        while not found or found[-1].plan is not None:
            numbers = range(len(found), len(found) + GENERATIONS)
            ids = [(n, Plan.id_of(reach.agent_id, scope, name, n)) for n in numbers]
            wanted = [(scope, _PlanItems(plan_id, n)) for n, plan_id in ids]
            found += self._read(reach, wanted, effect)
        return found

    def _read(
        self, reach: Reach, wanted: list[tuple[str | None, _PlanItems]], effect: str | None
    ) -> list[_PlanItems]:
        """Read the items of some plans, each in its partition, in one batch."""
        keys: list[tuple[Key, ...]] = []
        for scope, each in wanted:
            owned = (reach.tenant, reach.agent_id, scope)
            done = [effect_key(*owned, effect)] if effect is not None else []
            keys.append((Plan.key_of(*owned, each.id), Plan.ended_key_of(*owned, each.id), *done))
        found = self.table.get_many(list(dict.fromkeys(key for of_one in keys for key in of_one)))
        plans = {key: Plan.from_item(item) for key, item in found.items()}
        return [
            _PlanItems(each.id, each.generation, *(plans.get(key) for key in of_one))
            for (_, each), of_one in zip(wanted, keys, strict=True)
        ]

    def _effect(self, plan: Plan, effect: str | None) -> list[Write]:
        """Return the write that records an effect with its result; nothing without an effect."""
        if effect is None:
            return []
        key = effect_key(plan.tenant, plan.agent_id, plan.scope, effect)
        kept_until = effect_kept_until(self.clock.now())
        return [Put(key, plan.attributes() | {"expires_at": kept_until}, Missing())]

    def get(self, reach: Reach, plan_id: str) -> Plan:
        """Return one plan, active or ended.

        Raises:
            NotFound: There is no such plan within reach.
        """
        return _shown(reach, self._of_id(reach, plan_id))

    def active(self, reach: Reach) -> tuple[Plan, ...]:
        """Return the active plans within reach, ordered by when they fire next."""
        plans = [Plan.from_item(item) for item in owned_items(self.table, reach, Plan.PREFIX)]
        shown = filter(reach.shows, plans)
        return tuple(sorted(shown, key=lambda plan: (plan.next_at or plan.created_at, plan.id)))

    def list(
        self,
        reach: Reach,
        *,
        status: PlanStatus | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Plan]:
        """Return a page of the plans in one partition, by id, active ones first.

        Args:
            reach: The agent and the readers; only the first scope is listed.
            status: Only plans with this status; None for all.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        return list_by_status(self.table, reach, Plan, status, limit=limit, cursor=cursor)


def _shown(reach: Reach, found: list[_PlanItems]) -> Plan:
    """Return the first active plan within reach, else the first that has ended.

    A plan that may be changed from there comes before one that may not.

    Raises:
        NotFound: There is no plan within reach.
    """
    plans = [each.active for each in found] + [each.over for each in found]
    shown = [plan for plan in plans if plan is not None and reach.shows(plan)]
    if not shown:
        raise NotFound("plan not found")
    return min(shown, key=lambda plan: (plan.status != "active", not reach.changes(plan)))


def _replaced(reach: Reach, found: list[_PlanItems]) -> tuple[_PlanItems, Plan | None]:
    """Return the generation at which to set a plan of this name, and the plan that gives way.

    An active plan within reach that may be changed comes first, then an ended one, then the first
    generation. A plan beyond reach that has the first generation moves to the first unused one. So
    the new plan's id, and with the id the order in which plans of one minute fire, does not show
    whether there is such a plan.

    Raises:
        Conflict: The active plan within reach may not be changed from there.
    """
    shown = [each for each in found if each.plan is not None and reach.shows(each.plan)]
    active = [(each, each.active) for each in shown if each.active is not None]
    for each, plan in active:
        if reach.changes(plan):
            return each, None
    for _, plan in active:
        check_change(reach, plan)
    over = next((each for each in shown if each.over and reach.changes(each.over)), None)
    if over is not None:
        return over, None
    first, unused = found[0], next(each for each in found if each.plan is None)
    if first.plan is None or first in shown:
        return unused, None
    moves = {"id": unused.id, "generation": unused.generation, "version": first.plan.version + 1}
    return first, first.plan.model_copy(update=moves)
