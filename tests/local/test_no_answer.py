"""SMS of a phone: the messages behind them, and those that get no answer."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from local.twilio.no_answer import NoAnswer
from local.twilio.sms_log import Sms
from skein.errors import ModelRejected
from skein.models.common.reason import Reason
from skein.models.delivery.sms import InboundSms
from skein.models.runs.completion import ModelRequest
from skein.services.chats.message_reasons import ReasonViews
from tests.support.builders import LINE, PHONE, World

ACCOUNT = "AC00000000000000000000000000000001"


class OnALine(World):
    """An agent with a line."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.line()

    def receive(self, body: str, sid: str) -> None:
        self.app.sms_receiver.receive(
            InboundSms(
                account_sid=ACCOUNT, message_sid=sid, sender=PHONE, recipient=LINE, body=body
            )
        )

    def message_of(self, sms: Sms) -> tuple[str, int] | None:
        reasons = ReasonViews(table=self.table, clock=self.clock)
        found = NoAnswer(self.table, reasons, ACCOUNT).message_of(sms)
        return None if found is None else (found.chat_id, found.seq)

    def reason_of(self, sid: str, *, sender: str = PHONE, line: str = LINE) -> Reason | None:
        reasons = ReasonViews(table=self.table, clock=self.clock)
        sms = Sms(sid, sender, line, "", "received", "", 1, "", direction="inbound")
        return NoAnswer(self.table, reasons, ACCOUNT).reason_of(sms)


@pytest.mark.parametrize(
    ("body", "reason"), [("STOP", Reason.KEYWORD), ("Are you there?", Reason.OPTED_OUT)]
)
def test_sms_after_stop_gets_no_answer(body: str, reason: Reason) -> None:
    world = OnALine()
    world.receive("STOP", "SM1")
    world.receive(body, "SM2")
    assert world.reason_of("SM2") == reason


def test_sms_whose_run_is_at_work_or_has_answered_has_no_reason() -> None:
    world = OnALine()
    world.receive("Hi", "SM1")
    assert world.reason_of("SM1") is None
    world.drain()
    assert world.reason_of("SM1") is None


def test_sms_whose_run_failed_gets_no_answer() -> None:
    world = OnALine()
    world.model.script.append(ModelRejected("no"))
    world.receive("Hi", "SM1")
    world.drain()
    assert world.reason_of("SM1") == Reason.MODEL_REJECTED


def test_sms_whose_answer_could_not_be_sent_gets_no_answer() -> None:
    world = OnALine()

    def answer_after_stop(_request: ModelRequest) -> str:
        world.receive("STOP", "SM2")
        return "Hello!"

    world.model.script.append(answer_after_stop)
    world.receive("Hi", "SM1")
    world.drain()
    assert world.reason_of("SM1") == Reason.OPTED_OUT


@pytest.mark.parametrize(
    "other", [{"sid": "SM9"}, {"sender": "+15005550999"}, {"line": "+15005550998"}]
)
def test_unknown_sms_has_no_reason(other: dict[str, str]) -> None:
    world = OnALine()
    world.receive("STOP", "SM1")
    assert world.reason_of(**{"sid": "SM1", **other}) is None


def test_sms_to_and_from_a_phone_lead_to_their_messages() -> None:
    world = OnALine()
    world.receive("Hi", "SM1")
    world.drain()
    [(sent, _)] = world.sms.taken
    chat_id = dict(parse_qsl(urlsplit(sent.callback or "").query))["chat"]
    asked = Sms("SM1", PHONE, LINE, "Hi", "received", "", 1, "", direction="inbound")
    answer = Sms("SM2", LINE, PHONE, "Hello!", "sent", "", 1, sent.callback or "")
    assert (world.message_of(asked), world.message_of(answer)) == ((chat_id, 1), (chat_id, 2))
    assert world.message_of(replace(answer, callback="")) is None
    unknown = (sent.callback or "").replace("delivery=", "delivery=x")
    assert world.message_of(replace(answer, callback=unknown)) is None
