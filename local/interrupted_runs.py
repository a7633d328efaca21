"""Interrupted runs: when the stack stops or crashes, another worker can continue its runs at once.

On Lambda, the lease of a worker that dies lasts until its function's time-out. On a local stack,
all workers are threads of one process, so their leases can end with the process.
"""

import logging

from local.timing.due_index import DueIndex, key_of
from skein.errors import LostLease, SkeinError
from skein.models.runs.run import Run
from skein.ports import Table
from skein.services.runs.claim import read_claim
from skein.services.runs.lease import RunLeases

logger = logging.getLogger(__name__)


def hand_over_runs(table: Table, leases: RunLeases, *, lost: bool) -> None:
    """End the leases of all runs that a worker is processing, and queue the runs again.

    Args:
        lost: Whether the workers died. If they were stopped instead, the interrupted work does not
            count as an attempt.
    """
    for pointer in list(DueIndex(table).pointers("run")):
        item = table.get(key_of(pointer))
        run = Run.from_item(item) if item is not None else None
        claim = read_claim(table, run.job) if run is not None else None
        # A run that was deferred, or waits for a pause to end, has a reason and no worker.
        if claim is None or claim.run.status != "running" or claim.run.reason is not None:
            continue
        try:
            leases.take_from_worker(claim, lost=lost)
        except LostLease:
            logger.info("run has ended meanwhile", extra={"run_id": claim.run.id})


def hand_over_at_stop(table: Table, leases: RunLeases) -> None:
    """Queue the running runs again, because the stack stops.

    If this fails, the next start does it.
    """
    try:
        hand_over_runs(table, leases, lost=False)
    except SkeinError as error:
        logger.warning("runs not handed over: %s", error)
