"""An erasure's work on threads: open ones, which stand on one item together, and what is left."""

from collections.abc import Callable
from dataclasses import dataclass

from skein.models.storage import Delete, Is, Item, Key, Put
from skein.models.thread import Stint, Workbench
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import items_under
from skein.services.privacy.erasure_sweep import Sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEraser:
    """Takes threads away."""

    table: Table
    clock: Clock

    def clear(
        self, sweep: Sweep, agent_id: str, scope: str | None, going: Callable[[Item], bool]
    ) -> None:
        """Take those of an agent's open threads off their bench that are to go."""

        def attempt() -> None:
            bench = Workbench.found_in(self.table.get(key))
            gone = [each for each in bench.threads if going({"sk": "", **each.attributes()})]
            if not gone:
                return
            after = bench
            for thread in gone:
                after = after.without(thread.id)
            after = after.model_copy(update={"version": bench.version + 1})
            self.table.write(Put(key, after.attributes(), Is("version", bench.version)))
            sweep.found.counts["threads"] += len(gone)
            for thread in gone:
                self.drop_stints(sweep, key.pk, thread.id)

        key = Workbench.key_of(sweep.tenant, agent_id, scope)
        optimistic(self.clock, attempt)

    def drop_stints(self, sweep: Sweep, pk: str, thread_id: str) -> None:
        """Take away what is on record of the work at a thread."""
        for item in list(items_under(self.table, pk, Stint.prefix_of(thread_id))):
            self.table.write(Delete(Key(item["pk"], item["sk"])))
            sweep.found.counts["stints"] += 1
