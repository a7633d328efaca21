"""What happens when the asked person or the asker answers a question of an errand."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from skein.errands.models.errand import Errand, ErrandData, OrderData
from skein.errands.models.meeting import Meeting, wake
from skein.errors import Conflict
from skein.models.chats.chat import Message
from skein.models.chats.choice import YES, Choice
from skein.models.common.storage import Write
from skein.ports import Table
from skein.services.chat_state.person_choices import rate_limited
from skein.services.chats.post_message import NewMessage
from skein.services.choices.effect import (
    AnswerEffect,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)
from skein.services.common.optimistic import revise
from skein.services.outbox.dispatch import OUTBOX_GRACE

MAX_OPEN_ERRANDS = 20  # open errands to one person
ANOTHER_TRY = timedelta(hours=1)  # wait if the person has too many open errands


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrandEffect(AnswerEffect):
    """The effect of the asked person's answer: it is reported, or it confirms a meeting's time."""

    takes_place: ClassVar[bool] = False

    table: Table

    def check_asked(self, new: NewMessage, asked: Sequence[Message]) -> None:
        """Refuse a second open question of the same asker, or too many open questions in total.

        If the question is refused, the person is asked later, and the asker does not learn why.
        """
        if any(each.traced_to == new.traced_to for each in asked):
            raise rate_limited("the person has an open question of this asker", ANOTHER_TRY)
        if len(asked) >= MAX_OPEN_ERRANDS:
            raise rate_limited(f"the person has {MAX_OPEN_ERRANDS} open errands", ANOTHER_TRY)

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Store the answer in the errand.

        Raises:
            Conflict: The errand has ended without an answer.
        """
        stored = Errand.read(
            self.table, ErrandData.from_item(recorded.choice.data).errand.key(given.tenant)
        )
        at = recorded.answer.at
        if stored is not None and stored.meeting is not None and stored.confirm_seq == given.seq:
            _, write = revise(stored, {"confirmed": given.option == YES})
            woken = wake(given.tenant, stored.meeting, at)
            return Consequence([write, woken], [Meeting.job_of(given.tenant, stored.meeting)])
        if stored is None or stored.state(at) != "open":
            raise Conflict("the question has expired", details={"status": "expired"})
        changes = {"answer": given.text, "answered_at": at}
        answered, write = revise(stored, changes, also=stored.due(at + OUTBOX_GRACE))
        return Consequence([write], [answered.job])

    def on_refusal(
        self, choice: Choice, tenant: str, *, now: datetime, over: bool
    ) -> Sequence[Write] | None:
        """Return the writes that must accompany the notice about a refused answer.

        A person gets a limited number of messages about a meeting, and the notice counts as one of
        them. Returns None if the limit does not allow the notice.
        """
        ref = ErrandData.from_item(choice.data).errand
        item = self.table.get(ref.key(tenant)) if ref.times else None
        if item is None:
            return ()
        errand = Errand.from_item(item)
        if not errand.may_tell(now, over=over):
            return None
        return [revise(errand, errand.texted())[1]]


class OrderEffect(AnswerEffect):
    """The effect of the asker's answer: a yes starts the errands."""

    is_consent: ClassVar[bool] = True

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        if not recorded.agreed:
            return Consequence()
        order, at = OrderData.from_item(recorded.choice.data).orders, recorded.answer.at
        errands = Errand.ordered(given.tenant, order, cause=recorded.question.id, at=at)
        writes = [write for errand in errands for write in errand.created(at + OUTBOX_GRACE)]
        return Consequence(writes, [errand.job for errand in errands])
