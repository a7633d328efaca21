"""Two texts in a row, with a death at every call: each is read, and no answer comes twice."""

from functools import cache

import sms_webhook
from skein.settings import Settings
from tests.faults.deployment import every_death, named
from tests.faults.sampling import FaultShare
from tests.faults.texting_story import SMS_SETTINGS, TEXT, SmsLine
from tests.support.fakes import Fuse

FIRST, SECOND = "SM" + "1" * 32, "SM" + "2" * 32
SECONDS = {"reply_debounce_seconds": 2, "reply_debounce_max_seconds": 3}


class Burst(SmsLine):
    """Two texts, of which the second comes before the first is answered."""

    def __post_init__(self) -> None:
        self.settings = Settings(**(SMS_SETTINGS.model_dump() | SECONDS))
        super().__post_init__()

    def tell_both(self) -> None:
        self.webhook(sms_webhook, TEXT.but(MessageSid=FIRST, Body="First").signed())
        self.clock.advance(1)
        self.webhook(sms_webhook, TEXT.but(MessageSid=SECOND, Body="Second").signed())
        self.live()

    def check_both(self) -> None:
        assert self.chat_id is not None
        messages = self.messages(self.chat_id)
        assert [m.text for m in messages if m.sender.kind == "user"] == ["First", "Second"]
        runs = self.runs(self.chat_id)
        assert {run.status for run in runs} == {"done"}
        answers = [m.text for m in messages if m.sender.kind == "agent"]
        assert len(answers) == len(runs) == len(self.sms.bodies)
        assert self.membership(messages[-1].sender, self.chat_id).seen_seq >= messages[1].seq
        assert self.membership(messages[-1].sender, self.chat_id).burst is None
        assert self.at_rest


@cache
def undisturbed() -> Fuse:
    world = Burst()
    world.tell_both()
    world.check_both()
    assert world.sms.bodies == ["Answer 1"]
    return world.fuse


def test_burst_death_answers_both_messages(share: FaultShare) -> None:
    fuse = undisturbed()
    for strike in share.of(every_death(fuse)):
        with named(strike, calls=fuse.calls):
            world = Burst()
            world.plan(strike)
            world.tell_both()
            assert world.deaths == 1
            world.check_both()


def test_burst_death_after_both_were_read_leaves_one_answer(share: FaultShare) -> None:
    fuse = undisturbed()
    answered = fuse.calls.index("model.complete") + 1
    deaths = [one for one in every_death(fuse) if one.after and one.call >= answered]
    assert len(deaths) > 10
    for strike in share.of(deaths):
        with named(strike, calls=fuse.calls):
            world = Burst()
            world.plan(strike)
            world.tell_both()
            assert len(world.sms.bodies) == 1
