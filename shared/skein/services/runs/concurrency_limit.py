"""The concurrency limit: how many runs of one agent may be at work at once.

The count is in an item of its own, which no post, claim or completion writes. A permit expires with
its run's lease, so the permit of a dead worker becomes free without any cleanup.
"""

from dataclasses import dataclass
from datetime import datetime

from skein.models.common.base import rfc3339
from skein.models.common.storage import Is, Key, Update
from skein.models.directory.agent import PERMITS, agent_partition
from skein.models.runs.run import Run
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyLimit:
    """The service that grants permits to work, for agents with a limit."""

    table: Table
    clock: Clock

    @staticmethod
    def key_of(tenant: str, agent_id: str) -> Key:
        """Return the key of an agent's permits.

        The key sorts after all items that a prompt's query reads.
        """
        return Key(agent_partition(tenant, agent_id), PERMITS)

    def take(self, run: Run, limit: int, *, until: datetime) -> bool:
        """Take a permit for `run`, unless `limit` other runs of its agent have one.

        The permit expires at `until`. A run that has a permit already gets this new expiry. The
        result tells whether `run` has a permit now.
        """
        return optimistic(self.clock, lambda: self._take_once(run, limit, until))

    def _take_once(self, run: Run, limit: int, until: datetime) -> bool:
        key = self.key_of(run.tenant, run.agent_id)
        item = self.table.get(key) or {}
        now = rfc3339(self.clock.now())
        held = {name: end for name, end in item.get("held", {}).items() if end > now}
        if run.id not in held and len(held) >= limit:
            return False
        self._write(key, item.get("version"), held | {run.id: rfc3339(until)})
        return True

    def give_back(self, run: Run) -> None:
        """Return the permit of `run`, if it has one."""
        optimistic(self.clock, lambda: self._give_back_once(run))

    def _give_back_once(self, run: Run) -> None:
        key = self.key_of(run.tenant, run.agent_id)
        item = self.table.get(key) or {}
        held = dict(item.get("held", {}))
        if held.pop(run.id, None) is not None:
            self._write(key, item.get("version"), held)

    def _write(self, key: Key, version: int | None, held: dict[str, str]) -> None:
        change = {"held": held, "version": (version or 0) + 1}
        self.table.write(Update(key, set=change, condition=Is("version", version)))
