"""Plans: what will wake an agent, once or again and again; `firing` beside this one does it."""

from typing import NamedTuple

from pydantic import ValidationError

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.intent import (
    MAX_PLANS,
    Owner,
    Plan,
    PlanStatus,
    Reach,
    effect_kept_until,
    effect_key,
)
from skein.models.storage import Check, Delete, Item, Key, Missing, Put, Write
from skein.ports import Clock, Table
from skein.services.cursors import DEFAULT_PAGE, Listing
from skein.services.guarded import transact_guarded, unfit
from skein.services.owned_lists import list_owned, owned_items
from skein.services.plan_changes import as_read, ended, first_time, moved
from skein.services.retrying import optimistic

ACTIVE = "PLAN#"
ENDED = "ENDED#PLAN#"


class _Found(NamedTuple):
    """A plan as one partition holds it: while active, once over, and as an effect left it."""

    active: Plan | None
    over: Plan | None
    done: Plan | None = None


class Plans:
    """Keeps the agents' plans, each in the partition of those it may be shown to."""

    def __init__(self, *, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def set(
        self,
        owner: Owner,
        name: str,
        instruction: str,
        *,
        run_after: str | None = None,
        scheduled_at: str | None = None,
        cron: str | None = None,
        time_zone: str = "UTC",
        set_by: str | None = None,
        effect: str | None = None,
        guard: Check | None = None,
    ) -> Plan:
        """Make a plan, or replace the one of the same name.

        Args:
            owner: Whose, and where it is made.
            name: Unique within its partition, 1 to 100 characters.
            instruction: What the agent is to do then, 1 to 4,000 characters.
            run_after: `<n> second|minute|hour|day|week(s)` from now.
            scheduled_at: RFC 3339, or a local time of `time_zone`; in the future.
            cron: Five fields in `time_zone`; it first fires at its next time, not at once.
            time_zone: IANA name.
            set_by: The person whose run sets it.
            effect: The id of a run's effect; the same one again changes nothing.
            guard: A check on the run that sets it.

        Returns:
            The plan, as the effect left it if it was carried out before.

        Raises:
            Unprocessable: Not exactly one of the three times is given, or a value does not fit.
            Conflict: The agent has 100 active plans there.
            LostLease: The guard does not hold.
        """
        given = {"run_after": run_after, "scheduled_at": scheduled_at, "cron": cron}
        times = {kind: text for kind, text in given.items() if text is not None}
        if len(times) != 1:
            raise Unprocessable("give exactly one of run_after, scheduled_at and cron")
        [(kind, text)] = times.items()
        now = self._clock.now()
        next_at = first_time(kind, text, time_zone, now)
        try:
            plan = Plan(
                **dict(owner),
                id=Plan.id_of(owner.agent_id, owner.scope, name.strip()),
                name=name,
                instruction=instruction,
                **{kind: next_at if kind == "scheduled_at" else " ".join(text.split())},
                time_zone=time_zone,
                next_at=next_at,
                set_by=set_by,
                created_at=now,
            )
        except ValidationError as error:
            raise unfit(error) from None
        return optimistic(self._clock, lambda: self._set_once(plan, effect, guard))

    def _set_once(self, plan: Plan, effect: str | None, guard: Check | None) -> Plan:
        reach = Reach(tenant=plan.tenant, agent_id=plan.agent_id, scopes=(plan.scope,))
        [found] = self._find(reach, [plan.id], effect)
        if found.done is not None:
            return found.done
        earlier = found.active or found.over
        if found.active is None:
            self._check_room(plan)
        if earlier is not None:
            plan = plan.model_copy(
                update={"version": earlier.version + 1, "created_at": earlier.created_at}
            )
        ended_key = Plan.ended_key_of(plan.tenant, plan.agent_id, plan.scope, plan.id)
        writes = [
            Put(plan.key, plan.to_item(), as_read(found.active)),
            Delete(ended_key, as_read(found.over)),
            *self._effect(plan, effect),
        ]
        transact_guarded(self._table, writes, guard)
        return plan

    def _check_room(self, plan: Plan) -> None:
        page = self._table.query(plan.key.pk, first=ACTIVE, last=f"{ACTIVE}~", limit=MAX_PLANS)
        if len(page.items) >= MAX_PLANS:
            raise Conflict(f"there are {MAX_PLANS} active plans already; cancel one first")

    def cancel(
        self, reach: Reach, name: str, *, effect: str | None = None, guard: Check | None = None
    ) -> Plan:
        """Let a plan go, by its name; one that is over already stays as it is.

        Args:
            reach: Where to look.
            name: The plan's.
            effect: The id of a run's effect; the same one again changes nothing.
            guard: A check on the run that cancels it.

        Raises:
            NotFound: There is no such plan within reach.
            LostLease: The guard does not hold.
        """
        ids = [Plan.id_of(reach.agent_id, scope, name.strip()) for scope in reach.scopes]
        return optimistic(self._clock, lambda: self._cancel_once(reach, ids, effect, guard))

    def cancel_by_id(self, reach: Reach, plan_id: str) -> Plan:
        """Let a plan go, by its id; one that is over already stays as it is.

        Raises:
            NotFound: There is no such plan within reach.
        """
        ids = [plan_id] * len(reach.scopes)
        return optimistic(self._clock, lambda: self._cancel_once(reach, ids, None, None))

    def _cancel_once(
        self, reach: Reach, ids: list[str], effect: str | None, guard: Check | None
    ) -> Plan:
        found = self._find(reach, ids, effect)
        done = next((each.done for each in found if each.done is not None), None)
        if done is not None:
            return done
        plan = _shown(reach, found)
        if plan.status != "active":
            return plan
        canceled = ended(plan, "canceled", self._clock.now())
        writes = [*moved(plan, canceled), *self._effect(canceled, effect)]
        transact_guarded(self._table, writes, guard)
        return canceled

    def _find(self, reach: Reach, ids: list[str], effect: str | None) -> list[_Found]:
        """What there is of some plans, one id for each scope of `reach`, in one batch."""
        keys: list[tuple[Key, ...]] = []
        for scope, plan_id in zip(reach.scopes, ids, strict=True):
            place = (reach.tenant, reach.agent_id, scope)
            done = [effect_key(*place, effect)] if effect is not None else []
            keys.append((Plan.key_of(*place, plan_id), Plan.ended_key_of(*place, plan_id), *done))
        found = self._table.get_many([key for of_one in keys for key in of_one])
        plans = {key: Plan.from_item(item) for key, item in found.items()}
        return [_Found(*(plans.get(key) for key in of_one)) for of_one in keys]

    def _effect(self, plan: Plan, effect: str | None) -> list[Write]:
        """The mark by which the same effect is recognised, and what it is to return."""
        if effect is None:
            return []
        key = effect_key(plan.tenant, plan.agent_id, plan.scope, effect)
        kept_until = effect_kept_until(self._clock.now())
        return [Put(key, plan.attributes() | {"expires_at": kept_until}, Missing())]

    def get(self, reach: Reach, plan_id: str) -> Plan:
        """One plan, active or over.

        Raises:
            NotFound: There is no such plan within reach.
        """
        return _shown(reach, self._find(reach, [plan_id] * len(reach.scopes), None))

    def active(self, reach: Reach) -> tuple[Plan, ...]:
        """The active plans within reach, the one that fires first coming first."""
        plans = [Plan.from_item(item) for item in owned_items(self._table, reach, ACTIVE)]
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
        """A page of the plans in one partition, by id, active ones first.

        Args:
            reach: Whose; its first scope counts.
            status: Only these.
            limit: How many to read at most.
            cursor: Where an earlier page ended.

        Raises:
            Invalid: The cursor is not one of this list.
        """

        def read(item: Item) -> Plan | None:
            plan = Plan.from_item(item)
            return plan if reach.shows(plan) and status in {None, plan.status} else None

        sections = {"active": (ACTIVE,), None: (ACTIVE, ENDED)}.get(status, (ENDED,))
        return list_owned(self._table, reach, sections, read, limit=limit, cursor=cursor)


def _shown(reach: Reach, found: list[_Found]) -> Plan:
    """The first active plan that is within reach, else the first that is over.

    Raises:
        NotFound: There is none.
    """
    plans = [each.active for each in found] + [each.over for each in found]
    for plan in plans:
        if plan is not None and reach.shows(plan):
            return plan
    raise NotFound("there is no such plan")
