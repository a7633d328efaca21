"""Find and stop the live runs of a chat that a person of the team takes over."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from skein.errors import Conflict
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import Key
from skein.models.runs.run import LIVE_RUN, Run
from skein.models.visibility.ownership import owned_partition
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import items_under, read_items
from skein.services.runs.completion import RunCompletion
from skein.services.runs.lease import held_back

HELD = "a person of the team has taken the chat over"

logger = logging.getLogger(__name__)


def slot_runs(table: Table, agents: Sequence[Membership]) -> dict[str, Run]:
    """Read the runs that are running or resuming in a chat; return them by id."""
    ids = [run_id for agent in agents for run_id in (agent.running_run, *agent.resuming) if run_id]
    return {run.id: run for run in runs_of(table, agents[0].tenant, ids)}


def runs_of(table: Table, tenant: str, run_ids: Iterable[str]) -> list[Run]:
    keys = [Run.key_of(tenant, run_id) for run_id in dict.fromkeys(run_ids)]
    return Run.read_each(read_items(table, keys))


def background_runs(table: Table, chat: Chat) -> list[Run]:
    """Read the unfinished runs that plans and webhook services have started for a chat."""
    ids = [
        item["run_id"]
        for member in chat.roster
        if member.kind == "agent"
        for item in items_under(table, owned_partition(chat.tenant, member.id, None), LIVE_RUN)
    ]
    runs = runs_of(table, chat.tenant, ids)
    return [run for run in runs if run.for_chat_id == chat.id and not run.ended]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRuns:
    """The service that stops the live runs of a chat."""

    table: Table
    clock: Clock
    completion: RunCompletion

    def stop(self, snapshot: ChatSnapshot) -> None:
        """Stop the runs of the agents in a chat that was taken over (idempotent).

        Runs that answer messages are canceled. Depending on the settings, runs of plans and
        services are canceled, or wait until the chat is handed back. The worker of a stopped run
        loses its lease, writes nothing more, and retracts the words that it has streamed.
        """
        chat = snapshot.chat
        if not chat.held or chat.desk is None:
            return
        agents = [agent for agent in snapshot.agents if not agent.free]
        for run in slot_runs(self.table, agents).values() if agents else ():
            self._cancel(run)
        for run in background_runs(self.table, chat):
            if chat.desk.due_work == "drop":
                self._cancel(run)
            else:
                self._hold_back(run.key)

    def _cancel(self, run: Run) -> None:
        with suppress(Conflict):  # it has just ended
            self.completion.cancel(run, reason=Reason.DESK, error=HELD)

    def _hold_back(self, key: Key) -> None:
        """Take a run away from its worker, so that it starts again after the hand-back."""

        def attempt() -> None:
            run = Run.read(self.table, key)
            if run is not None and run.status == "running":
                self.table.write(held_back(run, self.clock.now()))
                logger.info("run held back", extra={"run_id": run.id, "reason": Reason.DESK})

        optimistic(self.clock, attempt)
