"""An errand, with a death at every call: asked once, and told once, the words or no answer."""

import re
from typing import Any

import pytest

import sms_webhook
from skein.models.chats.choice import YES
from skein.models.runs.completion import ModelRequest
from tests.faults.deployment import Phone, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import TEXT, SmsLine
from tests.support.errands import ALICE, DAY, END, HOME, TO_ASK, Errands
from tests.support.fakes import Said, calls

CODE = re.compile(r"Reply ([0-9]{6}) ")


def asking(request: ModelRequest) -> Said:
    """What the agent does: it has Sarah asked once, and is done."""
    if any(message.role == "assistant" for message in request.messages):
        return END
    return calls(TO_ASK)


class Sending(SmsLine):
    """Alice has Sarah asked, who answers by SMS.

    Attributes:
        answers: Whether Sarah answers.
    """

    answers = True

    def __init__(self) -> None:
        super().__init__()
        self.model.default = asking
        Errands.furnish(self, consent=True)  # type: ignore[arg-type]
        self.phone = Phone(self, sub=ALICE.id)
        self.fuse.disarm()

    def play(self) -> None:
        self.phone.say("Ask Sarah", HOME)
        self.live(until=lambda: any(m.kind == "choice" for m in self.messages(HOME)))
        body = {"choice": {"seq": 2, "option": YES}, "client_id": "yes"}
        self.phone.post(f"/v1/chats/{HOME}/messages", body)
        self.live(until=lambda: bool(self.sms.bodies))
        if self.answers:
            [code] = {code for sms in self.sms.bodies for code in CODE.findall(sms)}
            webhook = TEXT.but(MessageSid=f"SM{7:032d}", Body=f"{code} Thursday")
            self.webhook(sms_webhook, webhook.signed())
        self.live()
        self.clock.advance(2 * DAY)
        self.live()

    def check_told(self) -> None:
        told = [message.text for message in self.messages(HOME) if message.report_of is not None]
        assert told == ['Sarah: "Thursday"' if self.answers else "Sarah: no answer"]
        assert len(self.sms.bodies) == 1
        assert self.at_rest


class Silent(Sending):
    """Sarah does not answer."""

    answers = False


STORIES = [Sweep(story, play=story.play, check=story.check_told) for story in (Sending, Silent)]


@pytest.mark.parametrize("sweep", STORIES, ids=["answered", "silent"])
def test_errand_death_sends_one_question_and_one_report(
    sweep: Sweep[Any], share: FaultShare
) -> None:
    sweep.one_death(share, of=every_death)
