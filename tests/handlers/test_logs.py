"""The log: one id from webhook to delivery, masked numbers, and nothing that anybody wrote.

Whole conversations run through the functions themselves, with the real clients of the model and of
Twilio, so that the libraries' own lines are heard, too.
"""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, get_args

import pytest

import run_worker
import sms_delivery
import sms_status
import sms_webhook
import tick
import upkeep_worker
from skein import logs
from skein.adapters.openai.model import OpenAIModel
from skein.adapters.twilio.signature import TwilioSignature
from skein.adapters.twilio.sms import TwilioSms
from skein.errors import Unavailable
from skein.logs import Crashed
from skein.masking import masked
from skein.models.common.address import phone_address
from skein.models.directory.address_index import AddressChat
from skein.models.outbox.jobs import QueueName
from skein.models.visibility.ownership import Owner
from skein.services.replies.final_message import FinalMessages
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets
from tests.support.api_client import Context, recorded
from tests.support.builders import LINE, PHONE, TENANT, World
from tests.support.scripted_openai import Answer, ScriptedOpenAI
from tests.support.scripted_twilio import ACCOUNT, Misbehaviour, ScriptedTwilio
from tests.support.webhooks import BASE_URL, Webhook, invoke

WORD = "MARKEDWORD"
WORKERS: dict[QueueName, Any] = {
    "turns": run_worker,
    "deliveries": sms_delivery,
    "upkeep": upkeep_worker,
    "media": upkeep_worker,
    "events": upkeep_worker,
}
SMS = Webhook.recorded("sms_webhook")


def sid_of(n: int) -> str:
    """Twilio's id of the n-th inbound SMS."""
    return f"SM{n:032d}"


class Deployed(World):
    """A world whose jobs are played by the functions."""

    def run_ready(self) -> int:
        played = 0
        for queue in get_args(QueueName):
            for job in self.queues.ready(queue):
                record = deepcopy(recorded("sms_delivery")["Records"][0])
                record["body"] = job.model_dump_json()
                invoke(WORKERS[queue], self, {"Records": [record]})
                played += 1
        return played

    @property
    def chat_id(self) -> str:
        """The one chat of the one phone."""
        item = self.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
        assert item is not None
        return str(item["chat_id"])

    def text(self, words: str, *, n: int = 1) -> Any:
        """A text comes in by the webhook, as the gateway's request `req-<n>`."""
        sms = SMS.but(Body=words, From=PHONE, To=LINE, MessageSid=sid_of(n))
        event = sms.signed()
        event["requestContext"]["requestId"] = f"req-{n}"
        return invoke(sms_webhook, self, event)


@dataclass
class Stage:
    """A deployed world, and what the outside does to it."""

    world: Deployed
    openai: ScriptedOpenAI
    twilio: ScriptedTwilio
    stream: io.StringIO
    caplog: pytest.LogCaptureFixture

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every line of the log so far, but for the metrics'."""
        found = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        assert found
        return found

    def told(self, message: str) -> list[dict[str, Any]]:
        """The lines that begin so."""
        return [line for line in self.lines if str(line["message"]).startswith(message)]

    def all_that_was_logged(self) -> str:
        """Our lines, and those that libraries wrote at INFO or above."""
        libraries = [
            f"{record.name}: {record.getMessage()}"
            for record in self.caplog.records
            if not record.name.startswith("skein")
        ]
        return "\n".join([self.stream.getvalue(), *libraries])


@pytest.fixture
def stage(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _: 120_000)
    stream = io.StringIO()
    logs._configured()
    ours = logging.getLogger("skein")
    [handler] = [each for each in ours.handlers if isinstance(each, logging.StreamHandler)]
    before = ours.level, handler.setStream(stream)
    ours.setLevel(logging.INFO)
    with (
        ScriptedOpenAI(default=f"I see: {WORD}.") as openai,
        ScriptedTwilio() as twilio,
        caplog.at_level(logging.INFO),
    ):
        settings = Settings(
            twilio_secret="twilio", twilio_api_url=twilio.url, public_base_url=BASE_URL
        )
        secrets = MemorySecrets({"twilio": ACCOUNT})
        model = OpenAIModel(api_key=lambda: "key", base_url=openai.base_url)
        world = Deployed(
            settings,
            overrides={
                "model": model,
                "sms": TwilioSms(secrets, settings),
                "verifier": TwilioSignature(secrets, settings),
            },
        )
        world.agent()
        world.line()
        yield Stage(world, openai, twilio, stream, caplog)
        model.close()
    ours.setLevel(before[0])
    handler.setStream(before[1])


# ---------------------------------------------------------------------- one id


def test_correlation_id_is_the_same_from_webhook_to_delivery_status(
    stage: Stage,
) -> None:
    world = stage.world
    world.text("Hello")
    world.drain()
    [delivery] = world.deliveries(world.chat_id)
    [part] = delivery.parts
    asked = f"tenant={TENANT}&chat={world.chat_id}&delivery={delivery.id}&part=0"
    status = Webhook.recorded("sms_status").but(MessageSid=part.sid).asking(asked).signed()
    assert invoke(sms_status, world, status) == {"statusCode": 204}

    [run] = world.runs(world.chat_id)
    messages = world.messages(world.chat_id)
    assert {run.correlation_id, delivery.correlation_id} == {"req-1"}
    assert [message.correlation_id for message in messages] == ["req-1", "req-1"]
    following = [line["message"] for line in stage.lines if line["correlation_id"] == "req-1"]
    assert following == [
        "message posted",
        "run claimed",
        "message posted",
        "run ended",
        "SMS accepted by Twilio",
        "SMS status received from Twilio",
    ]


def test_log_of_message_that_joins_a_run_names_the_run(stage: Stage) -> None:
    world = stage.world
    world.text("One", n=1)
    world.text("Two", n=2)
    world.drain()
    [run] = world.runs(world.chat_id)
    first, second, _ = stage.told("message posted")
    assert (first["correlation_id"], second["correlation_id"]) == ("req-1", "req-2")
    assert first["run_ids"] == second["run_ids"] == [run.id]
    assert run.correlation_id == "req-1"


def test_a_run_that_no_request_started_is_followed_by_its_own_id(stage: Stage) -> None:
    world = stage.world
    owner = Owner(tenant=TENANT, agent_id="agt_a")
    world.app.plans.set(owner, "report", f"Report on {WORD}.", run_after="1 hour")
    world.clock.advance(3_600)
    invoke(tick, world, {})
    world.drain()
    [ended] = stage.told("run ended")
    assert ended["correlation_id"] == ended["run_id"]


def test_failed_job_logs_the_ids_of_its_work(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    world = stage.world
    world.text("Hello")
    [job] = world.queues.waiting("turns")

    def down(*_: object, **__: object) -> None:
        raise Unavailable("the table is gone")

    world.clock.advance(10)
    with monkeypatch.context() as patch:
        patch.setattr(world.table, "get_many", down)
        world.run_ready()
    [failed] = stage.told("job failed")
    assert failed["run_id"] == job.job.run_id  # type: ignore[attr-defined]
    assert "Unavailable: the table is gone" in failed["exception"]


# ---------------------------------------------------------------------- nothing that was written


def all_is_well(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.openai.then(
        Answer(tool_calls=[("get_my_runs", {"status": None, "limit": 5})]),
        Answer(tool_calls=[(f"call_{WORD}", {WORD: WORD})]),
    )


def the_model_quotes_the_prompt_as_it_refuses(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.openai.then(Answer(f"Invalid prompt: '{WORD}' by {PHONE}", status=400))


def the_model_quotes_the_prompt_while_it_is_down(stage: Stage, _: pytest.MonkeyPatch) -> None:
    quoting = Answer(f"overloaded by '{WORD}' of {PHONE}", status=500)
    stage.openai.then(quoting, quoting, quoting, quoting)


def a_bug_quotes_what_it_stumbled_over(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    def stumble(*_: Any, **__: Any) -> None:
        raise ValueError(f"cannot say {WORD} to {PHONE}")

    patch.setattr(FinalMessages, "end", stumble)


def twilio_quotes_the_number_as_it_refuses(stage: Stage, _: pytest.MonkeyPatch) -> None:
    said = f"The 'To' number {PHONE} is not valid for {WORD}"
    stage.twilio.then(Misbehaviour(400, {"code": 21211, "message": said, "status": 400}))


def twilio_does_not_answer(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.twilio.then(Misbehaviour(0), Misbehaviour(0))


def summaries_are_unfit(stage: Stage, _: pytest.MonkeyPatch) -> None:
    stage.openai.summaries.extend([f'{{"lines": "{WORD}"}}', Answer(WORD, status=400)] * 3)


TROUBLES: list[Callable[[Stage, pytest.MonkeyPatch], None]] = [
    all_is_well,
    the_model_quotes_the_prompt_as_it_refuses,
    the_model_quotes_the_prompt_while_it_is_down,
    a_bug_quotes_what_it_stumbled_over,
    twilio_quotes_the_number_as_it_refuses,
    twilio_does_not_answer,
    summaries_are_unfit,
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
def test_no_line_of_a_conversation_holds_its_words_or_its_number(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Stage, pytest.MonkeyPatch], None],
) -> None:
    world = stage.world
    trouble(stage, monkeypatch)
    for n in range(1, 4):
        world.text(f"My {WORD} number {n}", n=n)
        world.drain()
        world.clock.advance(400)
        invoke(tick, world, {})
        world.drain()
    logged = stage.all_that_was_logged()
    assert WORD not in logged
    assert PHONE[1:] not in logged
    assert LINE[1:] not in logged
    for run in world.runs(world.chat_id):
        assert WORD not in (run.error or "")
        assert PHONE not in (run.error or "")
    for delivery in world.deliveries(world.chat_id):
        assert WORD not in (delivery.error or "")


def test_message_posted_by_sms_names_the_sms_its_person_and_its_line(stage: Stage) -> None:
    stage.world.text("Hello")
    stage.world.drain()
    message, answer = stage.told("message posted")
    [user] = stage.world.app.users.list(TENANT).items
    assert (message["sid"], message["user_id"]) == (sid_of(1), user.id)
    assert message["line"] == masked(LINE)
    assert not {"sid", "user_id", "line"} & answer.keys()


@pytest.mark.parametrize(("body", "sender"), [("", PHONE), ("Hello", LINE)])
def test_sms_that_is_not_stored_is_named(stage: Stage, body: str, sender: str) -> None:
    webhook = SMS.but(Body=body, From=sender, To=LINE, MessageSid=sid_of(1), NumMedia="0")
    invoke(sms_webhook, stage.world, webhook.signed())
    [line] = stage.told("SMS not stored")
    assert (line["sid"], line["line"]) == (sid_of(1), masked(LINE))


def test_sms_that_is_rejected_is_named(stage: Stage) -> None:
    webhook = SMS.but(To="+15005550008", MessageSid=sid_of(1))
    assert invoke(sms_webhook, stage.world, webhook.signed())["statusCode"] == 404
    [line] = stage.told("request rejected")
    assert (line["sid"], line["line"]) == (sid_of(1), masked("+15005550008"))


def test_sms_that_is_rejected_is_not_named_by_invalid_fields(stage: Stage) -> None:
    webhook = SMS.but(To=f"messenger:{LINE}", MessageSid=f"SM 1 {WORD}")
    assert invoke(sms_webhook, stage.world, webhook.signed())["statusCode"] == 422
    [line] = stage.told("request rejected")
    assert not {"sid", "line"} & line.keys()


def test_sms_with_a_wrong_signature_is_not_named(stage: Stage) -> None:
    webhook = SMS.but(To=LINE, MessageSid=sid_of(1))
    assert invoke(sms_webhook, stage.world, webhook.signed(x_twilio_signature="x"))
    [line] = stage.told("request rejected")
    assert not {"sid", "line"} & line.keys()


def test_status_of_a_missing_delivery_names_the_sms_and_its_line(stage: Stage) -> None:
    webhook = Webhook.recorded("sms_status").but(From=LINE, MessageSid=sid_of(1))
    assert invoke(sms_status, stage.world, webhook.signed())["statusCode"] == 404
    [line] = stage.told("request rejected")
    assert (line["sid"], line["line"]) == (sid_of(1), masked(LINE))


def test_run_error_shows_the_operator_the_providers_status(stage: Stage) -> None:
    stage.openai.then(Answer(f"Invalid prompt: '{WORD}'", status=400))
    stage.world.text("Hello")
    stage.world.drain()
    [run] = stage.world.runs(stage.world.chat_id)
    assert (run.error or "").startswith("BadRequestError status_code=400")


def test_libraries_log_nothing_at_info_level(stage: Stage) -> None:
    """At INFO Twilio's would tell every request, with the numbers that it looks texts up by."""
    stage.twilio.then(Misbehaviour(0))
    stage.world.text("Hello")
    stage.world.drain()
    stage.world.clock.advance(120)
    invoke(tick, stage.world, {})
    stage.world.drain()
    assert [method for method, *_ in stage.twilio.requests].count("GET") >= 1
    loud = {record.name.split(".")[0] for record in stage.caplog.records} - {"skein"}
    assert not loud & set(logs.LIBRARIES)


def test_a_webhook_that_crashes_leaves_lambda_no_words_to_log(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError(f"while storing {WORD} of {PHONE}")

    monkeypatch.setattr(stage.world.table, "transact", break_down)
    with pytest.raises(Crashed) as raised:
        stage.world.text(WORD)
    assert WORD not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    [line] = stage.told("invocation crashed")
    assert line["correlation_id"] == "req-1"
    assert "RuntimeError" in line["exception"]
    assert "in break_down" in line["exception"]
    assert WORD not in stage.all_that_was_logged()


# ---------------------------------------------------------------------- level and format


def test_timestamps_are_rfc_3339_in_utc(stage: Stage) -> None:
    stage.world.text("Hello")
    stamps = [line["timestamp"] for line in stage.lines]
    assert stamps
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}(Z|\+00:00)", at) for at in stamps)


@pytest.mark.parametrize(("chosen", "level"), [("WARN", "WARNING"), ("DEBUG", "DEBUG")])
def test_own_log_level_wins_over_that_of_lambda(
    chosen: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", "DEBUG" if chosen == "DEBUG" else "INFO")
    monkeypatch.setenv(logs.LEVEL_VARIABLE, chosen)
    before = logging.getLogger("skein").level
    logs._configured.cache_clear()
    try:
        assert logs._configured().log_level == logging.getLevelName(level)
        assert logging.getLogger("skein").level == logging.getLevelName(level)
    finally:
        logging.getLogger("skein").setLevel(before)
        logs._configured.cache_clear()
