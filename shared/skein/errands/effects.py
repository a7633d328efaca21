"""The effects of answers about errands: of the person who is asked, and of the one who asks."""

from dataclasses import dataclass
from typing import ClassVar

from skein.errors import Conflict
from skein.models.chats.choice import YES
from skein.models.chats.errand import Errand, ErrandData, OrderData
from skein.models.chats.meeting import Meeting, wake
from skein.ports import Table
from skein.services.choices.effect import (
    AnswerEffect,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)
from skein.services.common.optimistic import revise
from skein.services.outbox.dispatch import OUTBOX_GRACE


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrandEffect(AnswerEffect):
    """The words of an answer go to the home chat; a yes or no confirms the time of a meeting."""

    table: Table

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Store the answer in the errand.

        Raises:
            Conflict: The errand has ended without an answer.
        """
        item = self.table.get(ErrandData.from_item(recorded.choice.data).errand.key(given.tenant))
        stored = Errand.from_item(item) if item is not None else None
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


class OrderEffect(AnswerEffect):
    """A yes orders the errands."""

    is_consent: ClassVar[bool] = True

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Store the errands."""
        if not recorded.agreed:
            return Consequence()
        order, at = OrderData.from_item(recorded.choice.data).orders, recorded.answer.at
        errands = Errand.ordered(given.tenant, order, cause=recorded.question.id, at=at)
        writes = [write for errand in errands for write in errand.created(at + OUTBOX_GRACE)]
        return Consequence(writes, [errand.job for errand in errands])
