"""Take a chat over: from then on, a person of the team answers there, and no agent does.

One transaction stores the holder in the chat's item, ends the agents' queued runs there, and
resumes or ends runs that wait for a reply. Each post is conditional on the chat's item, so no agent
can post after the transaction. Runs in progress are stopped afterwards. A crash before that does no
harm: posts of these runs fail, and the next worker that claims such a run cancels it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from skein.desk.live_runs import HELD, LiveRuns, slot_runs
from skein.errors import Conflict
from skein.models.chats.chat import Chat
from skein.models.chats.desk import DeskState, Holder
from skein.models.chats.desk_stay import DeskStay
from skein.models.chats.names import TEAM
from skein.models.common.characters import on_one_line
from skein.models.common.person_names import MAX_NAME, alike, untagged
from skein.models.common.reason import Reason
from skein.models.common.storage import Missing, Put, Update, Write
from skein.models.config.desk import DeskSettings
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.chat_state.desk_stays import DeskRequest, begun, read_stay, silence
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import optimistic, revise
from skein.services.config.tenant_settings import check_reading
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.slots import canceled_queued_run, log_canceled, slots_unchanged
from skein.services.runs.waits import release_wait
from skein.settings import Settings


class _Stopped(NamedTuple):
    """The writes and jobs that stop agents in a chat, and the messages left unanswered."""

    writes: list[Write]
    jobs: list[RunJob]
    unanswered: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """The service with which people of the team take chats over."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    metrics: Metrics
    live_runs: LiveRuns
    settings: Settings

    def take(self, tenant: str, chat_id: str, holder: Holder) -> Chat:
        """Take a chat over, whether or not it is on the desk (idempotent).

        Args:
            holder: The operator; the team's name comes from the tenant's settings.

        Raises:
            NotFound: The chat does not exist.
            Conflict: Another operator holds the chat, or it is discarded.
            Forbidden: The tenant forbids operators to read chats.
        """
        overrides = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
        check_reading(overrides)
        settings = DeskSettings.model_validate(overrides)
        team = on_one_line(settings.team_name) if settings.team_name is not None else None
        named = holder.model_copy(update={"team": team or None})
        stay_id = f"dsk_{self.ids.ulid()}"
        snapshot = optimistic(
            self.clock,
            lambda: self._take_once(tenant, chat_id, named, settings, stay_id),
            finds_own_write=True,
        )
        self.live_runs.stop(snapshot)
        return snapshot.chat

    def _take_once(
        self, tenant: str, chat_id: str, holder: Holder, settings: DeskSettings, stay_id: str
    ) -> ChatSnapshot:
        snapshot = read_snapshot(self.table, tenant, chat_id)
        chat, now = snapshot.chat, self.clock.now()
        if chat.discarded_at is not None:
            raise Conflict("the chat is discarded")
        if chat.holder is not None:
            if chat.holder.id != holder.id:
                raise Conflict(
                    f"{chat.holder.name} holds the chat",
                    details={"holder": {"id": chat.holder.id, "name": chat.holder.name}},
                )
            return snapshot
        holder = _unlike_members(holder, chat)
        state, stay, created = self._stay_of(chat, stay_id, now)
        stopped = self._stopped(snapshot, now)
        desk = state.model_copy(
            update={
                "state": "held",
                "holder": holder,
                "taken_at": now,
                "spoke_at": now,
                "from_seq": chat.last_seq,
                "unanswered": stopped.unanswered,
                "due_work": settings.desk_due_work,
            }
        )
        taken, write = revise(chat, {"desk": desk})
        held = {"holder": holder, "taken_at": now}
        silent_at = now + silence(settings)
        self.table.transact([write, _held(stay, held, silent_at, created=created), *stopped.writes])
        for agent in snapshot.agents:
            if agent.queued_run is not None:
                log_canceled(agent.queued_run.run_id, Reason.DESK)
        if not created:
            waited = (now - stay.since).total_seconds()
            self.metrics.count("DeskWaitSeconds", waited, unit="Seconds")
        self.dispatch.send(stopped.jobs)
        return snapshot._replace(chat=taken)

    def _stay_of(self, chat: Chat, stay_id: str, now: datetime) -> tuple[DeskState, DeskStay, bool]:
        """Return the chat's desk state and stay, and whether the stay begins with the take-over."""
        stay = read_stay(self.table, chat)
        if chat.desk is not None and stay is not None:
            return chat.desk, stay, False
        new = begun(chat, stay_id, DeskRequest(reason_code="operator"), now)
        return new.desk, new.stay, True

    def _stopped(self, snapshot: ChatSnapshot, now: datetime) -> _Stopped:
        """Cancel queued runs, end waits, and find the messages that the runs leave unanswered.

        If a run of another chat waits for a reply in this chat, the run resumes in its own chat
        without the reply.
        """
        busy = [agent for agent in snapshot.agents if not agent.free]
        working = slot_runs(self.table, busy) if busy else {}
        writes: list[Write] = []
        jobs: list[RunJob] = []
        unanswered: dict[str, int] = {}
        for agent in snapshot.agents:
            queued, wait = agent.queued_run, agent.wait
            runs = (
                working.get(run_id) for run_id in (agent.running_run, *agent.resuming) if run_id
            )
            firsts = [_first(run.trigger) for run in runs if run and not _has_answered(run)]
            if queued is not None:
                writes.append(canceled_queued_run(agent, queued, Reason.DESK, HELD, now))
                firsts.append(_first(queued.trigger))
            if wait is not None:
                released = release_wait(self.table, agent, now=now, settings=self.settings)
                writes.extend(released.writes)
                jobs.extend([released.job] if released.job else [])
            if queued is not None or wait is not None:
                change: dict[str, Any] = {"queued_run": None, "wait": None}
                writes.append(Update(agent.key, change, condition=slots_unchanged(agent)))
            known = [seq for seq in firsts if seq is not None]
            if known:
                unanswered[agent.member.id] = min(known)
        return _Stopped(writes, jobs, unanswered)


def _held(stay: DeskStay, changes: dict[str, Any], silent_at: datetime, *, created: bool) -> Write:
    """Return the write that stores the take-over in a stay.

    The stay's job runs at `silent_at`, when the holder's silence will count as too long.
    """
    revised, update = revise(stay, changes, also=due_pointer("desk", stay.key, silent_at))
    if not created:
        return update
    due = due_pointer("desk", stay.key, silent_at)
    return Put(revised.key, revised.to_item() | due, Missing())


def _first(trigger: Trigger) -> int | None:
    """Return the number of the first message that a run had to answer, or None."""
    return trigger.seqs[0] if trigger.seqs else None


def _has_answered(run: Run) -> bool:
    """Return whether a run has posted in its own chat, so that nothing is left to answer."""
    return any(sent.chat_id == run.chat_id for sent in run.sent)


def _unlike_members(holder: Holder, chat: Chat) -> Holder:
    """Return the holder, with ` (team)` after the name if a member of the chat has this name."""
    if not any(alike(holder.name, untagged(member.name)) for member in chat.roster):
        return holder
    name = holder.name[: MAX_NAME - len(TEAM)] + TEAM
    return holder.model_copy(update={"name": name})
