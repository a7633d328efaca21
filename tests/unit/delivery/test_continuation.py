"""Answers that are too long for SMS: the beginning, and the rest for MORE."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from skein.channels.segments import clean
from skein.channels.sms import SMS
from skein.errors import SmsRejected
from skein.models.common.address import phone_address
from skein.models.common.storage import Delete
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressChat
from skein.services.delivery.continuation import MAX_AGE, MAX_LATER
from skein.services.delivery.state import MORE_HINT, first_parts
from skein.settings import Settings
from tests.fakes.sms import Fault
from tests.support.builders import LINE, PHONE, TENANT, World
from tests.support.fakes import ScriptedModel
from tests.support.sms import Texting

LONG = " ".join(f"Sentence {n} of the answer ends here." for n in range(80))


class Caller:
    """A phone that has texted a line and got a long answer."""

    def __init__(self, answer: str = LONG) -> None:
        self.world = World(model=ScriptedModel.saying(answer))
        self.world.model.default = lambda _: "An ordinary answer."
        self.world.agent()
        self.world.line()
        self._texts = 0
        self.text("Tell me all")
        item = self.world.table.get(
            AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE))
        )
        assert item is not None
        self.chat_id = AddressChat.from_item(item).chat_id

    def text(self, body: str, *, sid: int | None = None) -> None:
        self._texts += sid is None
        sms = InboundSms(
            account_sid="AC1",
            message_sid=f"SM{sid or self._texts}",
            sender=PHONE,
            recipient=LINE,
            body=body,
        )
        self.world.app.sms_receiver.receive(sms)
        self.world.drain()

    @property
    def got(self) -> list[str]:
        return self.world.sms.bodies

    @property
    def runs(self) -> int:
        return len(self.world.runs(self.chat_id))


def words_of(bodies: list[str]) -> str:
    return " ".join(body.removesuffix(f"\n{MORE_HINT}") for body in bodies)


def test_answer_over_the_limit_is_cut_after_a_sentence_and_says_how_to_get_the_rest() -> None:
    caller = Caller("Go on. " * 2_800)
    [delivery] = caller.world.deliveries(caller.chat_id)
    assert sum(part.segments for part in delivery.parts) == 6
    assert caller.got[-1].endswith(f"Go on.\n{MORE_HINT}")


def test_more_sends_the_rest_exactly_and_asks_no_model() -> None:
    caller = Caller()
    for _ in range(3):
        caller.text("More.")
    assert words_of(caller.got) == LONG
    assert caller.got[-2].endswith(MORE_HINT)
    assert not caller.got[-1].endswith(MORE_HINT)
    assert (caller.runs, len(caller.world.model.requests)) == (1, 1)


def test_more_without_a_rest_is_an_ordinary_message() -> None:
    caller = Caller("All of it.")
    caller.text("MORE")
    assert caller.runs == 2
    assert caller.got == ["All of it.", "An ordinary answer."]


def test_more_delivered_twice_sends_the_next_part_once() -> None:
    caller = Caller()
    caller.text("MORE", sid=7)
    caller.text("MORE", sid=7)
    assert len(caller.got) == 2
    assert caller.runs == 1


def test_more_after_another_answer_still_sends_the_rest() -> None:
    caller = Caller()
    caller.text("Wait")
    caller.text("MORE")
    beginning, between, rest = caller.got
    assert between == "An ordinary answer."
    assert LONG.startswith(words_of([beginning, rest]))


def test_more_after_many_answers_is_an_ordinary_message() -> None:
    caller = Caller()
    for _ in range(MAX_LATER + 1):
        caller.text("Wait")
    caller.text("MORE")
    assert caller.got[-1] == "An ordinary answer."


def test_more_a_day_later_is_an_ordinary_message() -> None:
    caller = Caller()
    caller.world.clock.advance((MAX_AGE + timedelta(seconds=1)).total_seconds())
    caller.text("MORE")
    assert caller.got[-1] == "An ordinary answer."


def test_more_after_the_message_is_gone_sends_nothing() -> None:
    caller = Caller()
    caller.world.table.write(Delete(caller.world.messages(caller.chat_id)[1].key))
    caller.text("MORE")
    assert len(caller.got) == 1


def test_limit_of_segments_is_a_setting() -> None:
    world = Texting(settings=Settings(sms_answer_segments=2))
    world.deliver(world.say(LONG))
    assert sum(part.segments for part in world.deliveries()[0].parts) == 2


def test_refused_rest_marks_its_message_as_lost_in_part() -> None:
    caller = Caller()
    caller.world.sms.plan(Fault(SmsRejected("no such number", code=21211)))
    caller.text("MORE")
    assert caller.world.messages(caller.chat_id)[1].lost == "part"


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=600)
    | st.lists(st.sampled_from(["One.", "two", "\n", "\U0001f44d"])).map(" ".join),
    st.integers(min_value=2, max_value=4),
)
def test_first_parts_lose_nothing_and_keep_to_the_limit(text: str, segments: int) -> None:
    limits = Settings.model_construct(sms_answer_segments=segments)
    bodies: list[str] = []
    start: int | None = 0
    while start is not None:
        parts, start = first_parts(text, SMS, limits, start)
        assert sum(part.segments for part in parts) <= segments
        bodies += [part.body for part in parts]
    assert "".join(words_of(bodies).split()) == "".join(clean(text).split())
