"""Find a time: propose the first time that suits everyone, get it confirmed, and tell the group.

The group gets a proposal as soon as everyone has answered and a time suits everyone. If no time
suits everyone, the group is told only at the deadline, so that it does not learn whose answer was
the reason.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from skein.errands.models.errand import Errand, ErrandData, ErrandRef, OpenErrand
from skein.errands.models.meeting import Meeting, MeetingPost, first_common
from skein.errands.quiet_times import end_of_quiet
from skein.errors import (
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    NotFound,
    ReadersChanged,
    Rejected,
)
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Delete, Is, Item, Update, Write, all_of
from skein.models.outbox.due import NOT_DUE, still_due
from skein.models.outbox.jobs import MeetingJob
from skein.models.visibility.provenance import Authors
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.wording import YES_NO
from skein.services.common.optimistic import revise
from skein.services.common.pagination import read_items
from skein.services.common.quoting import in_quotes
from skein.services.outbox.dispatch import Dispatch
from skein.services.visibility.disclosure import made_for_all
from skein.settings import Settings

READ_WITHIN = timedelta(minutes=10)  # time after the deadline for reading the last answers
CONFIRM_WITHIN = timedelta(days=1)
ANOTHER_TRY = timedelta(minutes=10)
HELD_FOR = timedelta(minutes=5)
UNNAMED = "the meeting"  # shown instead of a topic that new members of the group may not know

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingWorker:
    """The service that finds a time for a group."""

    table: Table
    clock: Clock
    chats: Chats
    asking: Asking
    dispatch: Dispatch
    settings: Settings

    def look(self, job: MeetingJob) -> None:
        """Do the next step of a meeting (idempotent)."""
        ref = ErrandRef(agent_id=job.agent_id, scope=job.scope, id=job.meeting_id)
        item = self.table.get(Meeting.key_of(job.tenant, ref))
        meeting = Meeting.from_item(item) if item is not None else None
        if item is None or meeting is None:
            return
        try:
            self._look_once(meeting, item)
        except (ConditionFailed, ExtraWriteFailed):
            logger.info("another worker was faster", extra={"meeting_id": meeting.id})

    def _look_once(self, meeting: Meeting, item: Item) -> None:
        now, errands = self.clock.now(), self._errands(meeting)
        if meeting.stage == "ended":
            if "gsi2sk" in item:
                self.table.write(Update(meeting.key, set=NOT_DUE, condition=still_due(item)))
        elif meeting.stage == "collecting":
            self._collect(meeting, item, errands, now)
        else:
            self._confirm(meeting, item, errands, now)

    def _errands(self, meeting: Meeting) -> list[Errand]:
        """Read the errands of the meeting; errands of erased people no longer exist."""
        keys = [ref.key(meeting.tenant) for ref in meeting.errands]
        found = read_items(self.table, keys)
        return Errand.read_each(found, keys)

    def _look_again(self, meeting: Meeting, item: Item, at: datetime) -> None:
        """Have the meeting's job run again at `at`, unless an answer has just set another time."""
        as_read = all_of(Is("version", meeting.version), still_due(item))
        self.table.write(Update(meeting.key, set=meeting.due(at), condition=as_read))

    # ------------------------------------------------------------------ proposing

    def _collect(
        self, meeting: Meeting, item: Item, errands: Sequence[Errand], now: datetime
    ) -> None:
        read = [errand.times for errand in errands if errand.times is not None]
        complete = len(read) == len(meeting.errands)
        start = None
        if complete:
            earliest = max(meeting.earliest, now)
            start = first_common(read, earliest, meeting.latest, meeting.length)
        if start is not None:
            self._propose(meeting, start, now)
        elif now >= meeting.until and (complete or now >= meeting.until + READ_WITHIN):
            self._conclude(meeting, None)
        else:
            later = now + timedelta(minutes=2) if now >= meeting.until else meeting.until
            self._look_again(meeting, item, later)

    def _propose(self, meeting: Meeting, start: datetime, now: datetime) -> None:
        proposed = {
            "stage": "confirming",
            "start": start,
            "confirm_until": min(now + CONFIRM_WITHIN, start),
        }
        text = f"Proposal for {_proposed(meeting, start)}. Each of you is asked alone."
        self._post(meeting, text, "proposal", proposed, also=meeting.due(now))
        self.dispatch.send([meeting.job])

    # ------------------------------------------------------------------ confirming

    def _confirm(
        self, meeting: Meeting, item: Item, errands: Sequence[Errand], now: datetime
    ) -> None:
        start, until = meeting.start, meeting.confirm_until
        if start is None or until is None:
            return
        everybody = len(errands) == len(meeting.errands)
        if everybody and all(errand.confirmed for errand in errands):
            self._conclude(meeting, start)
        elif now >= until:
            self._conclude(meeting, None)
        else:
            tries = (self._next_try(meeting, errand, start, until, now) for errand in errands)
            self._look_again(meeting, item, min([until, *filter(None, tries)]))

    def _next_try(
        self, meeting: Meeting, errand: Errand, start: datetime, until: datetime, now: datetime
    ) -> datetime | None:
        """Ask a person to confirm the proposal, if they were not asked yet.

        Returns:
            When to try again; None if the person was asked or cannot be asked.
        """
        if not errand.may_confirm or errand.choice_chat_id is None:
            return None

        def recorded(snapshot: ChatSnapshot) -> Sequence[Write]:
            confirm = {"confirm_seq": snapshot.chat.last_seq + 1, **errand.texted()}
            return (revise(errand, confirm)[1],)

        new = NewChoice(
            tenant=meeting.tenant,
            chat_id=errand.choice_chat_id,
            agent=MemberRef(kind="agent", id=meeting.agent_id),
            client_id=errand.question_id("confirm"),
            addressee=errand.asked.id,
            question=f"{_proposed(meeting, start)}. Can you come then? Yes confirms it.",
            options=YES_NO,
            purpose="errand",
            authors=meeting.authors,
            traced_to=meeting.asked_by.id,
            expires_at=until,
            data=ErrandData(errand=errand.ref).attributes(),
        )
        try:
            resumes_at = end_of_quiet(self.table, self.settings, errand, now)
            if resumes_at is not None:
                return resumes_at
            self.asking.ask(new, extra_writes=recorded)
        except ExtraWriteFailed:
            return now + ANOTHER_TRY
        except Rejected as error:  # the chat of linked accounts may move later
            extra = {"errand_id": errand.id, "why": type(error).__name__}
            logger.info("person of a meeting not asked to confirm yet", extra=extra)
            return now + ANOTHER_TRY
        return None

    # ------------------------------------------------------------------ telling

    def _conclude(self, meeting: Meeting, start: datetime | None) -> None:
        text = f"No time for {_named(meeting)} suits all."
        if start is not None:
            text = f"{_proposed(meeting, start)}. Everybody has confirmed."
        over = Delete(OpenErrand.key_of(meeting.tenant, meeting.ref))
        self._post(meeting, text, "end", {"stage": "ended"}, over, also=NOT_DUE)

    def _post(
        self,
        meeting: Meeting,
        text: str,
        post: MeetingPost,
        changes: dict[str, Any],
        *more: Write,
        also: dict[str, Any],
    ) -> None:
        """Post in the group, and record the step in the same transaction.

        The topic may come from another chat. If people have joined the group since the meeting was
        requested, the topic is removed from the text first.
        """
        _, write = revise(meeting, changes, also=also)

        def recorded(snapshot: ChatSnapshot) -> Sequence[Write]:
            present = meeting.audience
            for old, new in snapshot.chat.formerly.items():
                present = present.renamed(old, new)
            if meeting.topic != UNNAMED and not made_for_all(present, snapshot.chat):
                raise ReadersChanged("people have joined who were not there for the topic")
            return (write, *more)

        new = NewMessage(
            tenant=meeting.tenant,
            chat_id=meeting.chat_id,
            sender=MemberRef(kind="agent", id=meeting.agent_id),
            text=text,
            client_id=meeting.post_id(post),
            depth=1,
            authors=Authors.in_digests([meeting.asked_by.id]).joined(meeting.authors),
            traced_to=meeting.asked_by.id,
            report_of=meeting.id,
        )
        try:
            self.chats.post_message(new, extra_writes=recorded)
        except ReadersChanged:
            unnamed = revise(meeting, {"topic": UNNAMED}, also=meeting.due(self.clock.now()))[1]
            self.table.write(unnamed)
            self.dispatch.send([meeting.job])
        except (NotFound, Conflict) as error:
            if error.reason == Reason.DESK:
                held = revise(meeting, {}, also=meeting.due(self.clock.now() + HELD_FOR))[1]
                self.table.write(held)
                return
            self.table.write(revise(meeting, {"stage": "ended"}, also=NOT_DUE)[1])


def _named(meeting: Meeting) -> str:
    """Return the topic in quotation marks, because it contains words of a person or a model."""
    return UNNAMED if meeting.topic == UNNAMED else in_quotes(meeting.topic)


def _proposed(meeting: Meeting, start: datetime) -> str:
    """Return the topic in quotation marks, with the proposed time in the group's time zone."""
    zone = ZoneInfo(meeting.zone)
    begin, end = start.astimezone(zone), (start + meeting.length).astimezone(zone)
    return f"{_named(meeting)}: {begin:%A %Y-%m-%d %H:%M} to {end:%H:%M} ({meeting.zone})"
