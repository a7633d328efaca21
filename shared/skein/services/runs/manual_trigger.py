"""The manual trigger: a person asks a chat's agents to respond, whatever the chat's policy is."""

from dataclasses import dataclass

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Check, Is
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.slots import EnqueuedRun, enqueue
from skein.services.visibility.audience import audience_of
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualTrigger:
    """The service that starts runs on a person's request."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    settings: Settings

    def now(self, tenant: str, chat_id: str, by: MemberRef, *, agent_id: str | None = None) -> Run:
        """Start a run of one agent, or of all agents in turn, ordered by id.

        If an agent already has a queued run, the request extends that run.

        Args:
            by: The person who asks; must be a member of the chat.
            agent_id: The id of the agent; None for all agents. Each agent then sees the answers of
                the agents before it.

        Returns:
            The run of the first agent. Each further run is created when the previous run ends.

        Raises:
            NotFound: The chat does not exist, or the person or the agent is not a member.
            Conflict: The chat is discarded, or a person of the team has taken it over.
            Unprocessable: The chat has no agents.
        """
        enqueued = optimistic(self.clock, lambda: self._enqueue_once(tenant, chat_id, by, agent_id))
        if enqueued.job is not None:
            self.dispatch.send([enqueued.job])
        return self.started(tenant, enqueued.run_id)

    def started(self, tenant: str, run_id: str) -> Run:
        """Return a run by id, such as one that `now` has returned earlier.

        Raises:
            NotFound: The run does not exist.
        """
        run = Run.read(self.table, Run.key_of(tenant, run_id))
        if run is None:
            raise NotFound("run not found")
        return run

    def _enqueue_once(
        self, tenant: str, chat_id: str, by: MemberRef, agent_id: str | None
    ) -> EnqueuedRun:
        snapshot = read_snapshot(self.table, tenant, chat_id).for_member(by)
        if snapshot.chat.discarded_at is not None:
            raise Conflict("the chat is discarded")
        if snapshot.chat.held:
            raise Conflict("a team member has taken over the chat", reason=Reason.DESK)
        agents = sorted(snapshot.agents, key=lambda member: member.member.id)
        if agent_id is not None:
            agents = [member for member in agents if member.member.id == agent_id]
            if not agents:
                raise NotFound("agent not found in this chat")
        if not agents:
            raise Unprocessable("the chat has no agents")
        first, *rest = agents
        enqueued = enqueue(
            first,
            Trigger(type="manual", by=by),
            depth=0,
            audience=audience_of(snapshot.chat, since_seq=snapshot.chat.last_seq + 1),
            then=[member.member.id for member in rest],
            ids=self.ids,
            now=self.clock.now(),
            settings=self.settings,
        )
        unchanged = Check(snapshot.chat.key, Is("version", snapshot.chat.version))
        self.table.transact([*enqueued.writes, unchanged])
        return enqueued
