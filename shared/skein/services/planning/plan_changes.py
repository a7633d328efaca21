"""How a plan goes from one state to the next, and the writes that make it so."""

from datetime import datetime, timedelta

from skein.errors import Unprocessable
from skein.models.due import NOT_DUE
from skein.models.plan import Plan, PlanStatus
from skein.models.storage import Condition, Delete, Is, Missing, Put, Update, Write
from skein.services.common.schedule import after_a_while, moment_of, next_time, zone_of

TICK_SLACK = timedelta(minutes=2)
A_MOMENT = timedelta(seconds=1)
MOVED = ("next_at", "active_at", "version", "gsi2pk", "gsi2sk")


def first_time(kind: str, text: str, time_zone: str, now: datetime) -> datetime:
    """When a new plan fires first.

    Args:
        kind: `run_after`, `scheduled_at` or `cron`.
        text: What was given as such.
        time_zone: IANA name.
        now: The present.

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
        raise Unprocessable("cron names no time within the next 50 years")
    return at


def ended(plan: Plan, status: PlanStatus, now: datetime) -> Plan:
    """The plan once it is over."""
    return plan.model_copy(
        update={"status": status, "next_at": None, "ended_at": now, "version": plan.version + 1}
    )


def fired(plan: Plan, now: datetime, *, least: timedelta) -> Plan:
    """The plan once it has fired: at its next time, which lies ahead, or over.

    Args:
        plan: As it was due.
        now: The present.
        least: Between two firings, whatever the cron expression says. A tick may be late by
            `TICK_SLACK` without costing the plan its next time.
    """
    if plan.cron is None:
        return ended(plan, "done", now)
    fired_at = max(plan.next_at or now, now - TICK_SLACK)
    earliest = max(now, fired_at + least - A_MOMENT)
    next_at = next_time(plan.cron, zone_of(plan.time_zone), earliest)
    if next_at is None:
        return ended(plan, "done", now)
    return plan.model_copy(update={"next_at": next_at, "version": plan.version + 1})


def as_read(plan: Plan | None) -> Condition:
    """The plan at a key is still the one that was read; None: there still is none."""
    return Missing() if plan is None else Is("version", plan.version)


def moved(plan: Plan, revised: Plan) -> list[Write]:
    """The writes that put `revised`, which `ended` or `fired` made, in the place of `plan`."""
    if revised.key != plan.key:
        return [
            Delete(plan.key, as_read(plan)),
            Put(revised.key, revised.to_item(), Missing()),
        ]
    item = revised.to_item()
    change = {name: item.get(name) for name in MOVED}
    return [Update(plan.key, set=NOT_DUE | change, condition=as_read(plan))]
