"""Resume work whose pause has ended, and report pauses that were probably forgotten.

A worker that finds its run or delivery paused changes the kind of the due pointer. The tick does
not look for due pointers of this kind, so paused work costs nothing until the pause ends. Each
tenant has an item that stores its pauses, and so has the stack. This item is due when a pause has
ended. Once a pause is a day old, the item is also due every hour, so that the pause is reported.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from skein.errors import ConditionFailed
from skein.models.common.base import rfc3339
from skein.models.common.storage import Is, Item, Update, all_of
from skein.models.config.pauses import RESUMING, PauseKind
from skein.models.delivery.delivery import Delivery
from skein.models.outbox.due import NOT_DUE, DueKind, still_due
from skein.models.outbox.jobs import DeliveryJob, Job, RunJob
from skein.models.runs.run import Run
from skein.ports import Clock, Metrics, Table
from skein.services.config.pauses import PauseReader, pauses_of
from skein.services.outbox.dispatch import OUTBOX_GRACE
from skein.services.outbox.due_scanner import DueScanner, key_of

HELD_BACK: Mapping[DueKind, PauseKind] = {"paused_run": "runs", "paused_delivery": "texts"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseScanner:
    """Checks each minute, in the tick, whether a pause of a tenant or of the stack has ended.

    Args:
        due_scanner: Finds the due pauses, and the work that was held back.
    """

    table: Table
    clock: Clock
    due_scanner: DueScanner
    metrics: Metrics

    def run(self, *, until: datetime) -> int:
        """Check the due pauses, and resume the work of ended pauses, oldest first.

        An ended pause is checked until all of its work was resumed, and for at least 20 minutes,
        because a slow worker may hold back work late.

        Args:
            until: When to stop; the next tick continues.

        Returns:
            The number of jobs that were sent.

        Raises:
            SkeinError: Some due pointers or items could not be read; all other items were handled.
        """
        ended: list[Item] = []
        self.due_scanner.run(["pause"], partial(self._look, ended), until=until)
        if not ended:
            return 0
        started = self.clock.now()
        resume = partial(self._resume, {item.get("tenant") for item in ended})
        resume = partial(resume, PauseReader(self.table))
        sent = self.due_scanner.run(tuple(HELD_BACK), resume, until=until)
        if self.clock.now() < until:
            for item in ended:
                self._forget(item, started)
        return sent

    def _look(self, ended: list[Item], _kind: DueKind, item: Item, now: datetime) -> None:
        """Move the due pointer of an item with pauses; if a pause has ended, add it to `ended`."""
        pauses = pauses_of(item)
        change = pauses.due_again(key_of(item), now)
        self.table.write(Update(key_of(item), set=change, condition=still_due(item)))
        if pauses.ended_at is not None:
            ended.append(item)
        forgotten = pauses.forgotten(now)
        if forgotten:
            scope = item.get("tenant", "all tenants")
            extra = {"tenant": scope, "pause": ", ".join(forgotten)}
            logger.warning("work is paused for more than a day", extra=extra)
            self.metrics.count("PausesForgotten", len(forgotten))

    def _resume(
        self,
        tenants: set[str | None],
        reader: PauseReader,
        kind: DueKind,
        item: Item,
        now: datetime,
    ) -> Job | None:
        """Resume one run or delivery, if it was held back by a pause that has ended.

        Args:
            tenants: The tenants with an ended pause; None stands for the stack.
            reader: Tells whether the work is still paused.

        Raises:
            ConditionFailed: Another worker was faster.
        """
        tenant = str(item["tenant"])
        if not tenants & {tenant, None} or reader.is_paused(HELD_BACK[kind], tenant):
            return None
        grace = now + OUTBOX_GRACE
        change = {"unpaused_at": rfc3339(now), "due_tries": None, "reason": None}
        if kind == "paused_run":
            run = Run.from_item(item)
            change |= run.due(grace)
            self.table.write(Update(run.key, set=change, condition=still_due(item)))
            return RunJob(tenant=tenant, run_id=run.id, agent_id=run.agent_id)
        delivery = Delivery.from_item(item)
        change |= delivery.due(grace) | {"paused": None, "version": delivery.version + 1}
        as_read = all_of(still_due(item), Is("version", delivery.version))
        self.table.write(Update(delivery.key, set=change, condition=as_read))
        return DeliveryJob(tenant=tenant, chat_id=delivery.chat_id, delivery_id=delivery.id)

    def _forget(self, item: Item, started: datetime) -> None:
        """Remove a pause's end time from its item, once no slow worker can still hold back work."""
        pauses = pauses_of(item)
        if pauses.ended_at is None or started < pauses.ended_at + RESUMING:
            return
        left = pauses.model_copy(update={"ended_at": None})
        change = {"pauses": left.attributes(), "due_tries": None} | left.due(key_of(item), started)
        with suppress(ConditionFailed):  # a pause was switched in the meantime
            self.table.write(
                Update(key_of(item), set=NOT_DUE | change, condition=Is("version", item["version"]))
            )
