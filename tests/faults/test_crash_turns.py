"""An answer that waits for its turn on a busy line, with a death at every call: sent once."""

from tests.faults.deployment import every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import SMS_SETTINGS, TEXT, SmsLine

LONG = "Go on. " * 100  # five segments
PAIRS = 20


class BusyLine(SmsLine):
    """A line that sends one segment a minute, and has just sent a long answer."""

    def __init__(self) -> None:
        super().__init__(SMS_SETTINGS.model_copy(update={"long_code_segments_per_minute": 1}))
        self.model.default = lambda _: LONG
        self.tell(TEXT.but(MessageSid="SM" + "0" * 32))
        self.fuse.disarm()
        self.before = len(self.sms.bodies)

    def check_sent(self) -> None:
        texts = self.sms.bodies[self.before :]
        assert [text for text in texts if text.startswith("Go on.")] == [LONG.strip()]
        assert len(texts) <= 2
        delivery = self.deliveries(str(self.chat_id))[-1]
        assert delivery.send_at is not None
        assert delivery.parts[-1].intent_at is not None
        assert delivery.parts[-1].intent_at >= delivery.send_at
        assert self.at_rest


SWEEP = Sweep(BusyLine, play=lambda world: world.tell(), check=BusyLine.check_sent)


def test_waiting_answer_with_a_death_is_sent_once_at_its_turn(share: FaultShare) -> None:
    SWEEP.one_death(share, of=every_death)


def test_waiting_answer_with_two_deaths_is_sent_once_at_its_turn(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="turns")
