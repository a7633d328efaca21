"""A long answer by SMS and MORE, with a death at every call: each part arrives once."""

import sms_webhook
from tests.faults.deployment import every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import SMS_SETTINGS, TEXT, SmsLine

LONG = " ".join(f"Sentence {n} of the answer ends here." for n in range(12))
PAIRS = 20


class LongAnswer(SmsLine):
    """Somebody has texted and got the first part of a long answer."""

    def __init__(self) -> None:
        super().__init__(SMS_SETTINGS.model_copy(update={"sms_answer_segments": 2}))
        self.model.default = lambda _: LONG
        self.tell()
        self.fuse.disarm()
        self.asked = len(self.model.requests)

    def more(self) -> None:
        more = TEXT.but(MessageSid="SM" + "1" * 32, Body="MORE")
        self.webhook(sms_webhook, more.signed())
        self.live()

    def check_rest(self) -> None:
        beginning, rest = self.sms.bodies
        first, _, hint = beginning.rpartition("\n")
        assert hint == "Reply MORE for the rest."
        assert f"{first} {rest}" == LONG
        chat_id = str(self.chat_id)
        assert [message.kind for message in self.messages(chat_id)] == ["text", "text", "keyword"]
        assert [each.status for each in self.deliveries(chat_id)] == ["sent", "sent"]
        assert len(self.runs(chat_id)) == 1
        assert self.at_rest


SWEEP = Sweep(LongAnswer, play=LongAnswer.more, check=LongAnswer.check_rest)


def test_more_with_a_death_sends_the_rest_once(share: FaultShare) -> None:
    SWEEP.one_death(share, of=every_death)


def test_more_with_two_deaths_sends_the_rest_once(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="more")
