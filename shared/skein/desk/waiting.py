"""Watch what waits for the team: notify the people of waiting chats once, and count late ones.

Tool calls that wait for an operator are counted as late in the same way as chats. The job of a stay
is sent when the stay is stored, and again when the chat has waited for too long. If a worker dies
before it has posted the notice, the stay remains due, and another worker posts the notice.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from skein.desk.notices import DeskNotices
from skein.errors import ConditionFailed, Conflict, ExtraWriteFailed
from skein.models.chats.desk_stay import DeskEnd, DeskStay, is_current
from skein.models.common.storage import Write
from skein.models.config.desk import DeskSettings
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.outbox.jobs import DeskJob
from skein.own_tools.models.approval import ToolApproval
from skein.ports import Clock, Metrics, Table
from skein.services.chat_state.desk_stays import read_stay
from skein.services.chat_state.snapshot import ChatSnapshot, read_chat, read_snapshot
from skein.services.chats.desk_requests import DeskRequests
from skein.services.common.optimistic import optimistic, revise

UNLISTED = {"gsi1pk": None, "gsi1sk": None} | NOT_DUE
STILL_LATE = timedelta(hours=1)  # time between two counts of a chat that is late

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingStays:
    """The service that looks after the chats that wait for a person of the team."""

    table: Table
    clock: Clock
    notices: DeskNotices
    requests: DeskRequests
    metrics: Metrics

    def look(self, job: DeskJob) -> None:
        """Notify a waiting chat's people once, and count the chat hourly while late (idempotent).

        A chat that was taken over meanwhile gets no notice, because a person of the team already
        answers. If the job names the approval of a tool call instead of a stay, the call is counted
        when it is late.
        """
        stay = DeskStay.read(self.table, DeskStay.key_of(job.tenant, job.chat_id, job.stay_id))
        if stay is None:
            self._look_at_call(job)
            return
        if stay.ended_at is not None or stay.holder is not None:
            return
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        settings, now = self.requests.settings_of(job.tenant), self.clock.now()
        with suppress(ConditionFailed, ExtraWriteFailed):  # a worker or a holder was faster
            if snapshot.chat.discarded_at is not None or not is_current(stay, snapshot.chat):
                end: DeskEnd = "discarded"
                ended = {"ended_at": now, "ended_by": end}
                self.table.write(revise(stay, ended, also=UNLISTED)[1])
            elif stay.noticed_at is None:
                self._tell(stay, snapshot, settings, now)
            elif now >= (late := late_at(stay.since, settings)):
                self.table.write(revise(stay, {}, also=_due(stay, now + STILL_LATE))[1])
                self.metrics.count("DeskLate")
                logger.warning(
                    "chat waits for the team for too long",
                    extra={"chat_id": stay.chat_id, "since": stay.since.isoformat()},
                )
            else:
                self.table.write(revise(stay, {}, also=_due(stay, late))[1])

    def _look_at_call(self, job: DeskJob) -> None:
        """Once an hour, count a call that waits for an operator for too long (idempotent)."""
        approval = ToolApproval.read(self.table, ToolApproval.key_of(job.tenant, job.stay_id))
        if approval is None or approval.decision is not None:
            return
        now = self.clock.now()
        late = late_at(approval.created_at, self.requests.settings_of(job.tenant))
        over = now.timestamp() >= approval.expires_at
        again = late if now < late else now + STILL_LATE
        pointer = NOT_DUE if over else due_pointer("desk", approval.key, again)
        with suppress(ConditionFailed):  # another worker was faster, or an operator has decided
            self.table.write(revise(approval, {}, also=pointer)[1])
            if late <= now and not over:
                self.metrics.count("DeskLate")
                logger.warning(
                    "call waits for an operator for too long",
                    extra={"approval_id": approval.id, "since": approval.created_at.isoformat()},
                )

    def dismiss(self, tenant: str, chat_id: str) -> None:
        """Remove a waiting chat from the desk because it no longer needs a person (idempotent).

        One transaction clears `Chat.desk` and ends the stay. It queues no runs, because agents
        continue to answer in a chat that waits.

        Raises:
            NotFound: The chat does not exist.
            Conflict: An operator holds the chat.
        """

        def attempt() -> None:
            chat = read_chat(self.table, tenant, chat_id)
            if chat.held:
                raise Conflict("somebody holds the chat: only they hand it back")
            if chat.desk is None:
                return
            stay = read_stay(self.table, chat)
            writes: list[Write] = [revise(chat, {"desk": None})[1]]
            if stay is not None:
                end: DeskEnd = "handed_back"
                ended = {"ended_at": self.clock.now(), "ended_by": end}
                writes.append(revise(stay, ended, also=UNLISTED)[1])
            self.table.transact(writes)
            logger.info("chat dismissed from the desk", extra={"chat_id": chat_id})

        optimistic(self.clock, attempt)

    def _tell(
        self, stay: DeskStay, snapshot: ChatSnapshot, settings: DeskSettings, now: datetime
    ) -> None:
        """Post the notice as an agent of the chat, and record it in the same transaction.

        Raises:
            ConditionFailed, ExtraWriteFailed: The stay has changed meanwhile.
        """
        _, noticed = revise(
            stay, {"noticed_at": now}, also=_due(stay, late_at(stay.since, settings))
        )
        text = notice_text(settings, now)
        self.notices.post(stay, snapshot, text, client_id=f"desk-asked:{stay.id}", recorded=noticed)


def notice_text(settings: DeskSettings, now: datetime) -> str:
    """Return the tenant's notice for a chat that is put on the desk.

    Outside the working hours, it is a notice that says when the team is back, in the team's time
    zone.
    """
    opening = settings.desk_hours.opening_after(now)
    if opening is None:
        return settings.desk_notice
    zone = settings.desk_hours.time_zone
    time = f"{opening.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} ({zone})"
    return settings.desk_notice_closed.replace("{time}", time)


def late_at(since: datetime, settings: DeskSettings) -> datetime:
    """Return when a waiting chat counts as late, which is always within the working hours.

    If the chat began to wait outside the working hours, the time is counted from the next opening.
    """
    hours = settings.desk_hours
    begin = hours.opening_after(since) or since
    late = begin + timedelta(minutes=settings.desk_late_minutes)
    return hours.opening_after(late) or late


def _due(stay: DeskStay, at: datetime) -> dict[str, str]:
    return due_pointer("desk", stay.key, at)
