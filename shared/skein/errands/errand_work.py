"""Carry out errands: ask the person once, and tell the home chat the answer or the deadline.

Each step is one transaction that is conditional on the errand's version. So the person is asked
once and the home chat gets one report, even after a crash. The home chat does not learn whether the
person could be reached: the errand is shown as open until it is answered or the deadline has
passed.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.channels.text_cuts import cut_text
from skein.errands.models.errand import Errand, ErrandData, ErrandRef
from skein.errands.models.meeting import Meeting, wake
from skein.errands.quiet_times import end_of_quiet
from skein.errands.times import TimesAnswer, TimesReader
from skein.errors import (
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    NotFound,
    RateLimited,
    ReadersChanged,
    Rejected,
)
from skein.models.chats.names import plain_name
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import ErrandJob
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.first_contact import Contact, FirstContact, NotNow
from skein.services.chats.post_message import Chats, ExtraWrites, NewMessage
from skein.services.chats.views import WINDOW, ChatViews, OwnChat
from skein.services.choices.asking import Asking, NewChoice
from skein.services.common.optimistic import revise
from skein.services.common.quoting import in_quotes
from skein.services.delivery.enqueue import why_not_sent
from skein.services.outbox.dispatch import Dispatch
from skein.services.visibility.disclosure import made_for_all
from skein.settings import Settings

ANOTHER_TRY = timedelta(hours=1)  # wait before the model or the person is asked again
HELD_FOR = timedelta(minutes=5)  # wait between two checks of a home chat that the team holds
NO_ANSWER = "no answer"
MAX_CARRIED = 19_000  # characters of an answer; a message may have a few more
ASK_BACK = "Which times, for example Tuesday 18:00 to 21:00? Or none."

logger = logging.getLogger(__name__)


class _QuestionChat(NamedTuple):
    """The chat in which a person is asked. If a first SMS opens it, `contact` has the details."""

    chat_id: str
    contact: Contact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrandWorker:
    """The service that carries out errands."""

    table: Table
    clock: Clock
    views: ChatViews
    first_contact: FirstContact
    asking: Asking
    chats: Chats
    times: TimesReader
    dispatch: Dispatch
    settings: Settings

    def look(self, job: ErrandJob) -> None:
        """Do the next step of an errand (idempotent)."""
        errand = self._read(job)
        if errand is None or errand.over:
            return
        now = self.clock.now()
        try:
            if errand.meeting is not None and (errand.answer is not None or now >= errand.until):
                self._read_times(errand, errand.meeting, now)
            elif errand.answer is not None or now >= errand.until:
                self._tell(errand)
            elif errand.choice_seq is None:
                self._ask(errand, now)
            else:
                self._look_again(errand, errand.until)
        except (ConditionFailed, ExtraWriteFailed):
            logger.info("another worker was faster", extra={"errand_id": errand.id})

    def _read(self, job: ErrandJob) -> Errand | None:
        key = Errand.key_of(
            job.tenant, ErrandRef(agent_id=job.agent_id, scope=job.scope, id=job.errand_id)
        )
        return Errand.read(self.table, key)

    def _look_again(self, errand: Errand, at: datetime) -> None:
        due = errand.due(min(at, errand.until) if errand.answer is None else at)
        self.table.write(revise(errand, {}, also=due)[1])

    # ------------------------------------------------------------------ asking

    def _ask(self, errand: Errand, now: datetime) -> None:
        """Ask the person now, or set when to try again.

        If the person cannot be reached at all, the errand is due again only at the deadline.
        """
        try:
            later = end_of_quiet(self.table, self.settings, errand, now)
            if later is None and errand.may_ask:
                self._ask_now(errand, self._question_chat(errand), now)
                return
            later = later or errand.until
        except NotNow as not_now:
            later = not_now.until
        except RateLimited as limited:
            later = now + timedelta(seconds=limited.retry_after_seconds)
        except Rejected as error:
            extra = {"errand_id": errand.id, "why": type(error).__name__, "reason": error.reason}
            logger.info("person of an errand not asked", extra=extra)
            later = errand.until
        self._look_again(errand, later)

    def _question_chat(self, errand: Errand) -> _QuestionChat:
        """Return the person's direct chat with the agent, in which the question is asked.

        The newest chat that reaches the person by SMS comes first, then the newest chat in the app.
        If the person has no such chat, a first SMS opens one.

        Raises:
            NotFound, Conflict: The person cannot be reached.
            NotNow: The person cannot be reached now.
        """
        own = self._own_chats(errand)
        reached = [each for each in own if why_not_sent(each.membership) is None]
        in_app = [each for each in own if each.membership.route is None]
        for each in (*reached, *in_app):
            return _QuestionChat(each.chat.id)
        contact = self.first_contact.open(
            errand.tenant,
            errand.agent_id,
            errand.asked.id,
            asker=plain_name(errand.asked_by),
            asked_by=errand.asked_by.ref,
        )
        return _QuestionChat(contact.chat_id, contact)

    def _own_chats(self, errand: Errand) -> list[OwnChat]:
        agent = MemberRef(kind="agent", id=errand.agent_id)
        page = self.views.direct_chats(errand.tenant, errand.asked.id, limit=WINDOW)
        return [
            own
            for own in page.items
            if own.chat.has(agent) and own.chat.discarded_at is None and not own.chat.held
        ]

    def _ask_now(self, errand: Errand, where: _QuestionChat, now: datetime) -> None:
        def recorded(snapshot: ChatSnapshot) -> Sequence[Write]:
            asked = {
                "asked_at": now,
                "choice_chat_id": where.chat_id,
                "choice_seq": snapshot.chat.last_seq + 1,
                **errand.texted(),
            }
            _, write = revise(errand, asked, also=errand.due(errand.until))
            charges = self.first_contact.charges(where.contact) if where.contact else ()
            return (write, *charges)

        self.asking.ask(self._question(errand, where, errand.text), extra_writes=recorded)

    @staticmethod
    def _question(errand: Errand, where: _QuestionChat, text: str, again: str = "") -> NewChoice:
        return NewChoice(
            tenant=errand.tenant,
            chat_id=where.chat_id,
            agent=MemberRef(kind="agent", id=errand.agent_id),
            client_id=errand.question_id(again),
            addressee=errand.asked.id,
            question=text,
            purpose="errand",
            authors=errand.authors,
            traced_to=errand.asked_by.id,
            expires_at=errand.until,
            data=ErrandData(errand=errand.ref).attributes(),
        )

    # ------------------------------------------------------------------ times

    def _read_times(self, errand: Errand, ref: ErrandRef, now: datetime) -> None:
        """Store the times from an answer, and start the job that does the meeting's next step.

        If the answer is unclear, the person is asked once more. If the person does not answer, or
        the second answer is also unclear, no times are stored.
        """
        answer = self._times_of(errand, ref, now)
        if answer is None:
            self._look_again(errand, now + ANOTHER_TRY)
            return
        unclear = not answer.clear and not errand.asked_back
        if unclear and errand.may_ask and now < errand.until:
            self._ask_back(errand)
            return
        _, read = revise(errand, {"times": answer.times, "ended_at": now}, also=NOT_DUE)
        self.table.transact([read, wake(errand.tenant, ref, now)])
        self.dispatch.send([Meeting.job_of(errand.tenant, ref)])

    def _times_of(self, errand: Errand, ref: ErrandRef, now: datetime) -> TimesAnswer | None:
        """Ask the model for the times in an answer; return None to try again later."""
        meeting = Meeting.read(self.table, Meeting.key_of(errand.tenant, ref))
        if errand.answer is None or meeting is None:
            return TimesAnswer(clear=True)
        try:
            return self.times.read(errand, meeting)
        except Rejected as error:
            logger.info("times not read", extra={"errand_id": errand.id, "why": str(error.code)})
            return None if now < errand.until else TimesAnswer(clear=True)

    def _ask_back(self, errand: Errand) -> None:
        """Ask the person once more, and remove the unclear answer."""

        def recorded(snapshot: ChatSnapshot) -> Sequence[Write]:
            again = {
                "answer": None,
                "answered_at": None,
                "asked_back": True,
                "choice_seq": snapshot.chat.last_seq + 1,
                **errand.texted(),
            }
            return (revise(errand, again, also=errand.due(errand.until))[1],)

        where = _QuestionChat(str(errand.choice_chat_id))
        question = self._question(errand, where, ASK_BACK, "back")
        try:
            self.asking.ask(question, extra_writes=recorded)
        except Rejected:
            self._look_again(errand, self.clock.now() + ANOTHER_TRY)

    # ------------------------------------------------------------------ telling

    def _tell(self, errand: Errand) -> None:
        """Post the person's answer in the home chat, or a notice that there is no answer."""
        now = self.clock.now()

        def recorded(snapshot: ChatSnapshot) -> Sequence[Write]:
            readers = errand.readers
            for old, new in snapshot.chat.formerly.items():
                readers = readers.renamed(old, new)
            if errand.answer is not None and not made_for_all(readers, snapshot.chat):
                raise ReadersChanged("people have joined who were not named in the question")
            return errand.ended(now)

        answer = cut_text(errand.answer, MAX_CARRIED) if errand.answer is not None else None
        self._post(errand, in_quotes(answer) if answer is not None else NO_ANSWER, recorded)

    def _post(self, errand: Errand, words: str, recorded: ExtraWrites) -> None:
        asked = [errand.asked.id] if errand.answer is not None else []
        new = NewMessage(
            tenant=errand.tenant,
            chat_id=errand.chat_id,
            sender=MemberRef(kind="agent", id=errand.agent_id),
            text=f"{plain_name(errand.asked)}: {words}",
            client_id=errand.report_id,
            depth=1,
            authors=Authors.in_digests(asked) if asked else NO_AUTHORS,
            traced_to=errand.asked_by.id,
            report_of=errand.id,
        )
        try:
            self.chats.post_message(new, extra_writes=recorded)
        except ReadersChanged:  # the words stay with the person; the chat reads "no answer"
            forgotten = {"answer": None, "answered_at": None}
            self.table.write(revise(errand, forgotten, also=errand.due(errand.until))[1])
        except (NotFound, Conflict) as error:
            if error.reason == Reason.DESK:
                self._look_again(errand, self.clock.now() + HELD_FOR)
                return
            self.table.transact(errand.ended(self.clock.now()))
