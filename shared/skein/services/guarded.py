"""Writes of an agent's tools: they hold only while the run that makes them is its worker's own."""

from collections.abc import Sequence

from pydantic import ValidationError

from skein.errors import ConditionFailed, LostLease, Unprocessable
from skein.models.storage import Check, Write
from skein.ports import Table


def transact_guarded(table: Table, writes: Sequence[Write], guard: Check | None) -> None:
    """Carry out `writes` all or none, and none of them once `guard` fails.

    Args:
        table: Where.
        writes: At most 99 of them.
        guard: The check on a run's fence; None for what no run does.

    Raises:
        ConditionFailed: Some conditions of `writes` do not hold; `failed` has their positions.
        LostLease: The guard does not hold: another worker has taken the run over.
    """
    try:
        table.transact([*writes, guard] if guard is not None else writes)
    except ConditionFailed as failure:
        if len(writes) in failure.failed:
            raise LostLease(str(guard)) from failure
        raise


def unfit(error: ValidationError) -> Unprocessable:
    """What to raise when values that a tool passed on do not fit their model."""
    reasons = [f"{reason['loc'][0]}: {reason['msg']}" for reason in error.errors()]
    return Unprocessable("; ".join(reasons))
