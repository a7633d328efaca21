"""The story of an answer that cannot be used, and what must be true once it is over."""

from collections.abc import Sequence
from typing import ClassVar

from skein.models.runs.completion import ModelRequest
from skein.prompts import render
from tests.faults.texting_story import COACH, SmsLine
from tests.support.fakes import Calls, Said, calls, faulty

FOLLOW_UPS = {render(f"again_{fault}") for fault in ("cut_off", "empty", "unspoken")}
NOTICE = render("notice_no_answer")


class Retrying(SmsLine):
    """A text to an agent whose first answer cannot be used.

    Attributes:
        second: The answer to the follow-up.
        kinds: The kinds of the agent's messages in the end.
        manner: The reply mode and the history format of the agent, if not in text.
        status: The status of the run in the end.
    """

    second: Said
    kinds: Sequence[str] = ("text",)
    status = "done"
    manner: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.model.default = self._answer
        if self.manner:
            self.agent(**self.manner)

    def first(self) -> Said:
        """The answer that cannot be used; no two of them are equal."""
        return faulty("cut_off", f"First {len(self.model.requests)}")

    def _answer(self, request: ModelRequest) -> Said:
        asked_again = any(one.content in FOLLOW_UPS for one in request.messages)
        return self.second if asked_again else self.first()

    def check(self, *, lost_answers: int = 0) -> None:
        """The model was asked once more, and one answer or one notice went out."""
        chat_id = self.chat_id
        assert chat_id is not None
        asked, *said = self.messages(chat_id)
        assert asked.text == "Good morning, coach! "
        assert [(one.kind, one.sender.ref) for one in said] == [
            (kind, COACH.ref) for kind in self.kinds
        ]
        assert not [one for one in said if one.text.startswith("First")]
        assert self.sms.bodies == [one.text for one in said]
        [run] = self.runs(chat_id)
        steps = self.steps()
        assert (run.status, run.steps_taken) == (self.status, len(steps))
        assert [step.follow_up is not None for step in steps].count(True) == 1
        assert run.usage.output_tokens == 5 * len(steps)
        assert len(self.model.requests) <= len(steps) + lost_answers
        membership = self.membership(COACH, chat_id)
        assert (membership.running_run, membership.queued_run) == (None, None)
        assert membership.seen_seq == asked.seq
        assert self.at_rest


class AnswersThen(Retrying):
    """The second answer is whole."""

    second = "Second"


class FailsThen(Retrying):
    """The second answer is cut off too."""

    second: Said = faulty("cut_off", "Second, cut")
    kinds = ("notice",)
    status = "failed"


class SpeaksThen(Retrying):
    """The agent speaks through its tool, and only after a nudge."""

    manner: ClassVar[dict[str, str]] = {"reply_mode": "tools", "history_format": "timeline"}

    def first(self) -> Said:
        return f"First {len(self.model.requests)}"

    @property
    def second(self) -> Calls:  # type: ignore[override]
        return calls(("send_message", {"text": "Second"}), "end_run")


STORIES = [AnswersThen, FailsThen, SpeaksThen]
