"""Each reason why there is no answer, produced by a scenario and read as an operator reads it."""

import logging
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

import admin_api
import run_worker
import sms_delivery
import sms_status
import sms_webhook
from skein.agent.reading.reader import Reader
from skein.errors import (
    Ambiguous,
    Conflict,
    GuardrailBlocked,
    KeyRefused,
    ModelRejected,
    ModelUnknown,
    SmsRejected,
    TooLarge,
    Unavailable,
)
from skein.logs import Crashed, _configured
from skein.models.chats.chat import Media, Message
from skein.models.common.address import phone_address, route_on
from skein.models.common.base import rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Delete, Put, Update
from skein.models.delivery.sms import InboundSms, StatusReport
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.line import Line
from skein.models.outbox.jobs import DeliveryJob, RunJob
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Owner
from skein.planning import firing
from skein.services.chats.post_message import Chats
from skein.services.runs import wakeups
from skein.services.runs.policy import DEFERRALS, MAX_STEPS
from skein.settings import Settings
from tests.fakes.sms import Fault
from tests.support import choices
from tests.support.agents import (
    AHMAD,
    ASK,
    ASK_SALES,
    COACH,
    DESIGNER,
    END,
    HUSAM,
    actor,
    asked_by_service,
    settle,
)
from tests.support.api_client import WHY, Answer, Client, operator, recorded
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.desk import Desk
from tests.support.erasure import ZOE
from tests.support.fakes import Script, ScriptedModel, calls, faulty, says
from tests.support.first_contact import contact, reachable
from tests.support.media import posted, stored
from tests.support.routes import sms_route
from tests.support.sms import Texting
from tests.support.sms_choices import ready_phone
from tests.support.webhooks import Webhook, invoke, signed_world

SMS = Webhook.recorded("sms_webhook")
SECOND_LINE = "+15005550007"
TEXTED = sms_route(line=LINE, phone=PHONE)
DOWN = Unavailable("the model is down")


class Logged(logging.Handler):
    """The log lines of Skein, whether or not a handler has configured the loggers."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def reasons(self) -> list[str]:
        """The reasons of all lines, in order."""
        return [vars(line)["reason"] for line in self.records if vars(line).get("reason")]


@pytest.fixture
def logged() -> Iterator[Logged]:
    _configured()  # sets the level at the first invocation of a function
    handler, logger = Logged(), logging.getLogger("skein")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


# ---------------------------------------------------------------------- what an operator asks


def ask(world: World, path: str) -> Answer:
    return Client(world, admin_api, sub="usr_op", scope="admin").call("GET", path)


def reasons_of(world: World, seq: int, chat_id: str = "chat_1") -> dict[str, Any]:
    answer = ask(world, f"/v1/chats/{chat_id}/messages/{seq}/reasons")
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.body
    return body


def of_agent(world: World, seq: int, agent: Any = COACH, chat_id: str = "chat_1") -> str | None:
    """The reason of one agent; the run's own reason is the same."""
    agents = reasons_of(world, seq, chat_id)["agents"]
    [found] = [each for each in agents if each["agent_id"] == agent.id]
    if found["runs"] and found["reason"] != Reason.RUN_MISSING:
        run = ask(world, f"/v1/runs/{found['runs'][-1]['id']}").body
        assert (run["reason"], run["status"]) == (found["reason"], found["runs"][-1]["status"])
    meaning = Reason(found["reason"]).meaning if found["reason"] else None
    assert found["meaning"] == meaning
    reason: str | None = found["reason"]
    return reason


def of_delivery(world: World, seq: int, chat_id: str = "chat_1") -> str | None:
    [delivery] = reasons_of(world, seq, chat_id)["deliveries"]
    reason: str | None = delivery["reason"]
    return reason


# ---------------------------------------------------------------------- worlds


def group(*script: Script, settings: Settings | None = None, **agent: Any) -> World:
    """A group of a person and Coach, who has all tools."""
    world = World(settings or Settings(), ScriptedModel.saying(*script, default="Hello!"))
    actor(world, **({"reply_mode": "text"} | agent))
    world.known(HUSAM)
    world.chat(HUSAM, COACH)
    return world


def pair(settings: Settings | None = None) -> World:
    """A group of a person and two agents, who answer each other."""
    world = World(settings or Settings())
    world.agent()
    world.agent(DESIGNER.id, DESIGNER.name)
    world.known(HUSAM)
    world.chat(HUSAM, COACH, DESIGNER)
    return world


def texting(*script: Script, settings: Settings | None = None, **agent: Any) -> World:
    """A direct chat whose person is on SMS."""
    world = World(settings or Settings(), ScriptedModel.saying(*script, default="Hello!"))
    world.agent(**agent)
    world.line()
    world.chat(person(), bot(), kind="direct", visibility="private", route=TEXTED)
    return world


def texted(world: World, text: str = "Hi", media: tuple[Media, ...] = ()) -> Message:
    return world.post(text, HUSAM, route=TEXTED, media=media).message


def inbound(world: World, body: str, sid: str) -> Message:
    sms = {"account_sid": "AC1", "message_sid": sid, "sender": PHONE, "recipient": LINE}
    posted = world.app.sms_receiver.receive(InboundSms.model_validate({**sms, "body": body}))
    assert posted is not None
    return posted.message


def claim(world: World, position: int = -1, chat_id: str = "chat_1") -> Run:
    run = world.runs(chat_id)[position]
    lease_until = world.clock.now() + timedelta(seconds=120)
    assert world.app.leases.claim(run.job, lease_until=lease_until) is not None
    return run


def answered(world: World) -> Message:
    """An SMS and its answer, which waits for its delivery."""
    texted(world)
    world.clock.advance(5)
    for job in world.queues.ready("turns"):
        assert isinstance(job, RunJob)
        world.take(job)
    return world.messages()[-1]


def deliver(world: World) -> None:
    for job in world.queues.ready("deliveries"):
        assert isinstance(job, DeliveryJob)
        world.app.deliveries.deliver(job, deadline=world.clock.now() + timedelta(seconds=60))


# ---------------------------------------------------------------------- scenarios

Scenario = Callable[[Logged, pytest.MonkeyPatch], str | None]
SCENARIOS: dict[Reason, Scenario] = {}


def scenario(reason: Reason) -> Callable[[Scenario], Scenario]:
    """Register the scenario that produces a reason, and returns what an operator reads."""

    def register(produce: Scenario) -> Scenario:
        assert reason not in SCENARIOS
        SCENARIOS[reason] = produce
        return produce

    return register


@pytest.mark.parametrize("reason", Reason)
def test_scenario_of_each_reason_shows_it_to_operators(
    reason: Reason, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reason in SCENARIOS, f"add a scenario of {reason} to this file"
    assert SCENARIOS[reason](logged, monkeypatch) == reason


# ---------------------------------------------------------------------- without a reason


def test_message_with_a_delivered_answer_has_no_reason() -> None:
    world = texting()
    seq = answered(world).seq
    deliver(world)
    [job] = [each.job for each in world.queues.sent if each.job.queue == "deliveries"]
    assert isinstance(job, DeliveryJob)
    world.app.deliveries.report(
        StatusReport(
            tenant=TENANT,
            chat_id="chat_1",
            delivery_id=job.delivery_id,
            part=0,
            sid=world.sms.taken[-1][1].sid,
            status="delivered",
        )
    )
    assert of_agent(world, 1) is None
    body = reasons_of(world, 1)
    assert [(each["seq"], each["status"], each["reason"]) for each in body["deliveries"]] == [
        (seq, "delivered", None)
    ]


def test_reply_to_a_question_when_the_agent_is_silent_then_has_the_reason() -> None:
    world = group(ASK, "[silence]", reply_mode="tools")
    world.post("Publish", HUSAM)
    settle(world)
    world.post("Yes", HUSAM)
    settle(world)
    assert world.texts() == ["Publish", "Shall I?", "Yes"]
    assert of_agent(world, 3) == Reason.CHOSE_SILENCE
    [agent] = reasons_of(world, 1)["agents"]
    assert agent["reason"] is None  # the question was an answer


def test_reasons_of_a_message_show_no_text() -> None:
    world = texting("A secret answer")
    texted(world, "A secret question")
    settle(world)
    assert "secret" not in str(reasons_of(world, 1))
    assert "secret" not in str(reasons_of(world, 2))


def test_reasons_of_a_message_when_read_are_audited() -> None:
    world = texting()
    texted(world)
    reasons_of(world, 1)
    [entry] = world.app.audit.of_day(TENANT).items
    assert (entry.verb, entry.kind, entry.ids) == (
        "read",
        "message",
        {"chat_id": "chat_1", "seq": "1"},
    )


@pytest.mark.parametrize(("chat_id", "seq"), [("chat_1", 2), ("chat_2", 1)])
def test_reasons_of_a_message_when_missing_are_not_found(chat_id: str, seq: int) -> None:
    world = texting()
    texted(world)
    answer = ask(world, f"/v1/chats/{chat_id}/messages/{seq}/reasons")
    assert (answer.status, answer.code) == (404, "not_found")


def test_message_in_a_large_group_stores_a_common_reason_once() -> None:
    world = World()
    agents = [bot(f"agt_{n:02}", f"Agent {n}") for n in range(20)]
    for agent in agents:
        world.agent(agent.id, agent.name)
    world.chat(HUSAM, *agents, respond="mention")
    message = world.post("Hello @Agent 3", HUSAM).message
    assert list(message.runs) == ["agt_03"]
    assert (message.reason, message.reasons) == (Reason.NOT_MENTIONED, {})
    assert world.messages()[-1] == message


def test_finished_run_keeps_its_deferral_reason_in_history_only() -> None:
    world = group(DOWN, "Here I am.")
    world.post("Hello", HUSAM)
    deferred_at = world.clock.now()
    world.take(world.runs()[0].job)
    world.drain()
    run = ask(world, f"/v1/runs/{world.runs()[0].id}").body
    assert (run["status"], run["reason"], run["meaning"]) == ("done", None, None)
    assert run["reasons"] == [{"reason": "model_unavailable", "at": rfc3339(deferred_at)}]


# ------------------------------ a request that was not stored


def rejected(logged: Logged, event: dict[str, Any]) -> str:
    """The reason that the metric counts and that the log has."""
    world = signed_world()
    invoke(sms_webhook, world, event)
    assert world.queues.sent == []
    counted = [reason for (name, reason) in world.metrics.reasons if name == "RequestsRejected"]
    assert counted == logged.reasons[-1:]
    return logged.reasons[-1]


@scenario(Reason.WRONG_SIGNATURE)
def _wrong_signature(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return rejected(logged, SMS.signed(x_twilio_signature="x"))


@scenario(Reason.MALFORMED_REQUEST)
def _malformed(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return rejected(logged, SMS.but(NumMedia="many").signed())


@scenario(Reason.INVALID_NUMBER)
def _invalid_number(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return rejected(logged, SMS.but(From="72345").signed())


@scenario(Reason.UNKNOWN_LINE)
def _unknown_line(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return rejected(logged, SMS.but(To="+15005550008").signed())


@scenario(Reason.NO_WORDS)
def _no_words(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return rejected(logged, SMS.but(Body="").signed())


@scenario(Reason.OWN_LINE)
def _own_line(logged: Logged, _: pytest.MonkeyPatch) -> str:
    world = signed_world()
    other = Line(
        tenant=TENANT, address=phone_address(SECOND_LINE), agent_id="agt_a", created_at=NOON
    )
    world.table.write(Put(other.key, other.to_item()))
    invoke(sms_webhook, world, SMS.but(From=SECOND_LINE).signed())
    assert world.metrics.counts["TextsFromOwnLines"] == 1
    return logged.reasons[-1]


@scenario(Reason.REPEATED)
def _repeated(logged: Logged, _: pytest.MonkeyPatch) -> str:
    world = signed_world()
    for _again in range(2):
        invoke(sms_webhook, world, SMS.signed())
    return logged.reasons[-1]


@scenario(Reason.SERVER_ERROR)
def _server_error(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> str:
    world = signed_world()

    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable("the table is out of reach")

    monkeypatch.setattr(world.table, "get", fail)
    assert invoke(sms_webhook, world, SMS.signed())["statusCode"] == 503
    return logged.reasons[-1]


@pytest.mark.parametrize(
    ("function", "webhook"), [(sms_webhook, "sms_webhook"), (sms_status, "sms_status")]
)
def test_webhook_that_crashes_logs_the_reason_server_error(
    function: ModuleType, webhook: str, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = signed_world()

    def fail(*_: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(world.table, "get", fail)
    with pytest.raises(Crashed):
        invoke(function, world, Webhook.recorded(webhook).signed())
    assert set(logged.reasons) == {Reason.SERVER_ERROR}


def test_webhook_whose_error_cannot_be_answered_logs_the_reason_server_error(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise Unavailable("the secrets are out of reach")

    monkeypatch.setattr(sms_webhook, "app", fail)
    with pytest.raises(Unavailable):
        invoke(sms_webhook, signed_world(), SMS.signed())
    assert set(logged.reasons) == {Reason.SERVER_ERROR}


def test_api_call_that_crashes_logs_the_reason_server_error(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = texting()

    def fail(*_: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(world.table, "get", fail)
    assert ask(world, "/v1/users/usr_a").status == 500
    assert set(logged.reasons) == {Reason.SERVER_ERROR}


@scenario(Reason.DELIVERY_MISSING)
def _delivery_missing(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = texting()
    seq = answered(world).seq
    [delivery] = world.deliveries()
    world.table.write(Delete(delivery.key))
    deliver(world)
    assert logged.reasons[-1] == Reason.DELIVERY_MISSING
    return of_delivery(world, seq)


# ------------------------------ a message that started no run


@scenario(Reason.KEYWORD)
def _keyword(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting()
    inbound(world, "Hi", "SM1")
    stop = inbound(world, "STOP", "SM2")
    return of_agent(world, stop.seq, chat_id=stop.chat_id)


@scenario(Reason.NOTICE)
def _notice(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = pair()
    posted = world.post("The answer is late.", COACH, kind="notice")
    return of_agent(world, posted.message.seq, DESIGNER)


@scenario(Reason.CHOICE)
def _choice(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = pair()
    posted = choices.ask(world)
    return of_agent(world, posted.message.seq, DESIGNER)


@scenario(Reason.WRONG_CODE)
def _wrong_code(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    phone = ready_phone()
    phone.ask()
    phone.text("100000")
    return of_agent(phone.world, phone.messages[-2].seq, chat_id=phone.chat_id)


@scenario(Reason.CODE_ALONE)
def _code_alone(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    phone = ready_phone()
    [code] = phone.ask(options=()).values()
    phone.text(code)
    return of_agent(phone.world, phone.messages[-2].seq, chat_id=phone.chat_id)


@scenario(Reason.TYPED_ANSWER)
def _typed_answer(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    phone = ready_phone()
    phone.ask()
    phone.text("yes")
    return of_agent(phone.world, phone.messages[-2].seq, chat_id=phone.chat_id)


@scenario(Reason.CHOICE_OVER)
def _choice_over(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    phone = ready_phone()
    codes = phone.ask()
    phone.text(codes["Yes"])
    phone.text(codes["No"])
    return of_agent(phone.world, phone.messages[-2].seq, chat_id=phone.chat_id)


@scenario(Reason.SMS_ANSWERS_CLOSED)
def _sms_answers_closed(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    phone = ready_phone()
    phone.ask()
    for number in range(5):
        phone.text(f"10000{number}")
    return of_agent(phone.world, phone.messages[-2].seq, chat_id=phone.chat_id)


@scenario(Reason.RATE_LIMITED)
def _rate_limited(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = texting(settings=Settings(user_messages_per_minute=1))
    inbound(world, "Hi", "SM1")
    second = inbound(world, "Are you there?", "SM2")
    assert Reason.RATE_LIMITED in logged.reasons
    return of_agent(world, second.seq, chat_id=second.chat_id)


@scenario(Reason.CHAIN_DEPTH)
def _chain_depth(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = pair()
    world.post("Hello", HUSAM)
    world.drain()
    last = world.messages()[-1]
    other = DESIGNER if last.sender.id == COACH.id else COACH
    return of_agent(world, last.seq, other)


@scenario(Reason.RESPOND_MANUAL)
def _respond_manual(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.chat(HUSAM, COACH, respond="manual")
    return of_agent(world, world.post("Hello", HUSAM).message.seq)


@scenario(Reason.NOT_MENTIONED)
def _not_mentioned(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = pair()
    world.chat(HUSAM, COACH, DESIGNER, respond="mention")
    seq = world.post("Hello @Designer", HUSAM).message.seq
    assert of_agent(world, seq, DESIGNER) == Reason.QUEUED
    return of_agent(world, seq)


@scenario(Reason.DESK)
def _desk(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    assert Desk(world).take().status == 200
    return of_agent(world, world.post("Hello", HUSAM).message.seq)


@scenario(Reason.AGENT_PAUSED)
def _agent_paused(_: Logged, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setattr(wakeups, "MAX_AGENT_RUNS", 1)
    world = pair(Settings(max_chain_depth=20))
    world.post("Hello", HUSAM)
    world.drain()
    last = world.messages()[-1]
    return of_agent(world, last.seq, DESIGNER if last.sender.id == COACH.id else COACH)


@scenario(Reason.OWN_MESSAGE)
def _own_message(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    world.drain()
    return of_agent(world, 2)


@scenario(Reason.JOINED_LATER)
def _joined_later(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.agent(DESIGNER.id, DESIGNER.name)
    world.post("Hello", HUSAM)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, DESIGNER.ref)
    return of_agent(world, 1, DESIGNER)


@scenario(Reason.NOT_RECORDED)
def _not_recorded(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    message = world.post("Hello", HUSAM).message
    newer = {"runs": None, "reason": "of_a_newer_version"}
    world.table.write(Update(message.key, set=newer))
    return of_agent(world, 1)


# ------------------------------ a run that has not ended


@scenario(Reason.QUEUED)
def _queued(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    return of_agent(world, 1)


@scenario(Reason.DEBOUNCE)
def _debounce(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = texting()
    texted(world)
    world.take(world.runs()[0].job)
    assert logged.reasons[-1] == Reason.DEBOUNCE
    return of_agent(world, 1)


@scenario(Reason.MEDIA_PENDING)
def _media_pending(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = texting()
    texted(world, media=(Media(id="med_1", content_type="image/png"),))
    world.take(world.runs()[0].job)
    assert logged.reasons[-1] == Reason.MEDIA_PENDING
    return of_agent(world, 1)


@scenario(Reason.BEHIND_OTHER_RUN)
def _behind_other_run(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    claim(world)
    world.post("And?", HUSAM)
    world.take(world.runs()[-1].job)
    assert logged.reasons[-1] == Reason.BEHIND_OTHER_RUN
    return of_agent(world, 2)


@scenario(Reason.WORKING)
def _working(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    world.take(claim(world).job)
    assert logged.reasons[-1] == Reason.WORKING
    return of_agent(world, 1)


@scenario(Reason.WORKER_LOST)
def _worker_lost(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    claim(world)
    world.clock.advance(200)
    return of_agent(world, 1)


@scenario(Reason.WAITING_FOR_REPLY)
def _waiting(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = group(ASK, reply_mode="tools")
    world.post("Publish", HUSAM)
    settle(world)
    world.take(world.runs()[0].job)
    assert logged.reasons[-1] == Reason.WAITING_FOR_REPLY
    return of_agent(world, 1)


@scenario(Reason.PAUSED)
def _paused(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.app.pauses.switch(TENANT, "runs", on=True)
    world.post("Hello", HUSAM)
    world.take(world.runs()[0].job)
    assert logged.reasons[-1] == Reason.PAUSED
    return of_agent(world, 1)


@scenario(Reason.CONCURRENCY_LIMIT)
def _concurrency_limit(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    def meanwhile(_: ModelRequest) -> str:
        world.take(world.runs("chat_2")[0].job)
        return "Hello!"

    world = group(meanwhile, max_concurrent_runs=1)
    world.chat(HUSAM, COACH, chat_id="chat_2")
    world.post("Hello", HUSAM, chat_id="chat_2")
    world.post("Hello", HUSAM)
    world.take(world.runs()[0].job)
    return of_agent(world, 1, chat_id="chat_2")


def deferred(error: Exception) -> str | None:
    world = group(error)
    world.post("Hello", HUSAM)
    world.take(world.runs()[0].job)
    return of_agent(world, 1)


@scenario(Reason.MODEL_UNAVAILABLE)
def _model_unavailable(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return deferred(DOWN)


@scenario(Reason.MODEL_KEY_REFUSED)
def _model_key_refused(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return deferred(KeyRefused("the API key is refused"))


@scenario(Reason.MODEL_UNKNOWN)
def _model_unknown(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return deferred(ModelUnknown("there is no such model"))


@scenario(Reason.ATTEMPT_FAILED)
def _attempt_failed(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return deferred(RuntimeError("a bug"))


@scenario(Reason.HANDED_OVER)
def _handed_over(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    soon = world.clock.now() + timedelta(seconds=15)
    world.app.turns.take(world.runs()[0].job, deadline=soon)
    return of_agent(world, 1)


@scenario(Reason.READERS_CHANGED)
def _readers_changed(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    joining = iter([person(f"usr_{n}", f"Person {n}") for n in range(4)])

    def joins(_: ModelRequest) -> str:
        someone = next(joining)
        world.known(someone)
        world.add(someone)
        return "Hello!"

    world = group(joins, joins, joins, joins)
    world.chat(HUSAM, COACH, visibility="private")
    world.post("Hello", HUSAM)
    settle(world)
    assert world.runs()[0].status == "canceled"
    return of_agent(world, 1)


# ------------------------------ a run that is done, without an answer in its chat


def done(*script: Script, **agent: Any) -> str | None:
    world = group(*script, **agent)
    world.post("Hello", HUSAM)
    settle(world)
    assert world.runs()[0].status == "done"
    assert world.texts() == ["Hello"]
    return of_agent(world, 1)


@scenario(Reason.CHOSE_SILENCE)
def _chose_silence(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return done("[silence]")


@scenario(Reason.TOOLS_MODE_TEXT)
def _tools_mode_text(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group("I think so.", reply_mode="tools")
    world.chat(HUSAM, AHMAD, COACH)
    world.post("Hello", HUSAM)
    settle(world)
    return of_agent(world, 1)


@scenario(Reason.UNSPOKEN_TEXT)
def _unspoken_text(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return done("I think so.", "I said so.", reply_mode="tools")


@scenario(Reason.ENDED_BY_AGENT)
def _ended_by_agent(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return done(END)


@scenario(Reason.STEPS_USED_UP)
def _steps_used_up(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(*[calls("get_my_runs")] * MAX_STEPS)
    world.post("Hello", HUSAM)
    settle(world)
    return ended(world, "failed")


@scenario(Reason.ANSWERED_ELSEWHERE)
def _answered_elsewhere(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(says("It is done.", chat_id="chat_2"), "[silence]")
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="manual")
    world.post("Tell the others", HUSAM)
    settle(world)
    assert world.texts("chat_2") == ["It is done."]
    return of_agent(world, 1)


@scenario(Reason.NO_CHAT)
def _no_chat(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group("The build is broken.")
    run = asked_by_service(world)
    settle(world)
    reason: str | None = ask(world, f"/v1/runs/{run.id}").body["reason"]
    return reason


# ------------------------------ a run that failed or was canceled


def ended(world: World, status: str) -> str | None:
    assert [run.status for run in world.runs()] == [status]
    return of_agent(world, 1)


@scenario(Reason.ATTEMPTS_EXHAUSTED)
def _attempts_exhausted(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(*[RuntimeError("a bug")] * 3)
    world.post("Hello", HUSAM)
    world.drain()
    assert [each.reason for each in world.runs()[0].reasons] == [
        Reason.ATTEMPT_FAILED,
        Reason.ATTEMPTS_EXHAUSTED,
    ]
    return ended(world, "failed")


@scenario(Reason.DEFERRED_TOO_LONG)
def _deferred_too_long(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(DOWN, DOWN)
    world.post("Hello", HUSAM)
    world.take(world.runs()[0].job)
    world.clock.advance(DEFERRALS.give_up.total_seconds() + 1)
    world.take(world.runs()[0].job)
    return ended(world, "failed")


@scenario(Reason.MODEL_REJECTED)
def _model_rejected(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(ModelRejected("the request is too long"))
    world.post("Hello", HUSAM)
    settle(world)
    return ended(world, "failed")


def unusable(answer: Script) -> str | None:
    """The reason of a run whose model gives this answer twice."""
    world = group(answer, answer)
    world.post("Hello", HUSAM)
    settle(world)
    assert [message.kind for message in world.messages()] == ["text", "notice"]
    return ended(world, "failed")


@scenario(Reason.EMPTY_ANSWER)
def _empty_answer(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return unusable("  ")


@scenario(Reason.ANSWER_CUT_OFF)
def _answer_cut_off(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return unusable(faulty("cut_off", "The plan has"))


@scenario(Reason.ANSWER_REFUSED)
def _answer_refused(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return unusable(faulty("refused", "I can't."))


@scenario(Reason.ANSWER_FILTERED)
def _answer_filtered(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return unusable(faulty("filtered"))


@scenario(Reason.GUARDRAIL_BLOCKED)
def _guardrail_blocked(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return unusable(GuardrailBlocked("Ask our staff, please."))


@scenario(Reason.ANSWER_REJECTED)
def _answer_rejected(_: Logged, monkeypatch: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)

    def refuse(*_: Any, **__: Any) -> None:
        raise TooLarge("an item of the table is too large")

    monkeypatch.setattr(Chats, "post_message", refuse)
    settle(world)
    return ended(world, "failed")


@scenario(Reason.MERGED)
def _merged(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = group(DOWN, "Here I am.")
    world.post("Hello", HUSAM)
    world.take(world.runs()[0].job)
    world.post("Are you there?", HUSAM)
    world.drain()
    [agent] = reasons_of(world, 2)["agents"]
    first, second = agent["runs"]
    assert (agent["reason"], second["status"], second["reason"]) == (None, "done", None)
    assert Reason.MERGED in logged.reasons
    run = ask(world, f"/v1/runs/{first['id']}").body
    assert (run["reason"], run["merged_into"]) == (first["reason"], second["id"])
    reason: str | None = first["reason"]
    return reason


@scenario(Reason.TOKEN_BUDGET)
def _token_budget(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(settings=Settings(user_tokens_per_day=10))
    world.post("Hello", HUSAM)
    settle(world)
    world.post("And?", HUSAM)
    settle(world)
    assert world.runs()[-1].status == "canceled"
    return of_agent(world, world.messages()[-1].seq)


@scenario(Reason.AGENT_LEFT)
def _agent_left(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    assert logged.reasons[-1] == Reason.AGENT_LEFT
    return ended(world, "canceled")


@scenario(Reason.AGENT_DELETED)
def _agent_deleted(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    world.app.agents.delete(TENANT, COACH.id)
    settle(world)
    return ended(world, "canceled")


@scenario(Reason.CHAT_DISCARDED)
def _chat_discarded(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    return ended(world, "canceled")


@scenario(Reason.MESSAGE_GONE)
def _message_gone(_: Logged, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The message is erased, and the context cannot be read either."""
    world = texting()
    world.table.write(Delete(texted(world).key))

    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable("the table is out of reach")

    monkeypatch.setattr(Reader, "read", fail)
    settle(world)
    run = ask(world, f"/v1/runs/{world.runs()[0].id}").body
    assert run["status"] == "canceled"
    reason: str | None = run["reason"]
    return reason


@scenario(Reason.DISCLOSURE_REFUSED)
def _disclosure_refused(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    """The person whose words the run comes from leaves the private chat where it waits."""
    world = group(ASK_SALES, "Thank you, Ahmad.")
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", visibility="private")
    world.post("Get the figures", HUSAM)
    settle(world)
    world.app.chat_admin.remove_member(TENANT, "chat_2", HUSAM.ref, HUSAM.ref)
    world.post("Here they are", AHMAD, chat_id="chat_2")
    settle(world)
    return ended(world, "canceled")


@scenario(Reason.STOPPED_BY_AGENT)
def _stopped_by_agent(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    def stops(_: ModelRequest) -> Any:
        return calls(("stop_run", {"run_id": world.runs()[0].id}), "end_run")

    world = group(ASK, stops, reply_mode="tools")
    world.post("Publish", HUSAM)
    settle(world)
    asked_by_service(world)
    settle(world)
    return ended(world, "canceled")


@scenario(Reason.STOPPED_BY_ASKER)
def _stopped_by_asker(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(ASK, reply_mode="tools")
    world.post("Publish", HUSAM)
    settle(world)
    Client(world, sub=HUSAM.id).delete(f"/v1/chats/chat_1/runs/{world.runs()[0].id}")
    return ended(world, "canceled")


@scenario(Reason.STOPPED_BY_OPERATOR)
def _stopped_by_operator(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(ASK, reply_mode="tools")
    world.post("Publish", HUSAM)
    operator(world).delete(f"/v1/runs/{world.runs()[0].id}", reason=WHY)
    return ended(world, "canceled")


@scenario(Reason.MESSAGE_DELETED)
def _message_deleted(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Publish", HUSAM)
    world.app.message_deletion.delete(TENANT, HUSAM.ref, "chat_1", 1)
    return ended(world, "canceled")


@scenario(Reason.PERSON_ERASED)
def _person_erased(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group(ASK, reply_mode="tools")
    world.known(ZOE)
    world.chat(HUSAM, ZOE, COACH)
    world.post("Publish", ZOE)
    settle(world)
    world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    for _sweep in range(4):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    return ended(world, "canceled")


# ------------------------------ a plan that was deferred or canceled


@scenario(Reason.PERSON_INACTIVE)
def _person_inactive(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setattr(firing, "MAX_IDLE", timedelta(days=1))
    world = group()
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    world.app.plans.set(owner, "Report", "Report.", cron="0 9 * * *", set_by=HUSAM.id)
    for _day in range(3):
        world.clock.advance(86_400)
        world.tick()
    assert logged.reasons[-1] == Reason.PERSON_INACTIVE
    [plan] = ask(world, f"/v1/agents/{COACH.id}/plans").body["items"]
    assert (plan["status"], plan["meaning"]) == ("canceled", Reason.PERSON_INACTIVE.meaning)
    reason: str | None = plan["reason"]
    return reason


def refused_contact(logged: Logged, *, consent: bool = True, line: bool = True) -> str:
    """Let Coach write first to Sarah, which is refused."""
    world = World(Settings(number_silence_days=1))
    world.agent()
    if line:
        world.line()
    reachable(world, consent=consent)
    world.clock.advance(2 * 86_400 if consent and line else 0)
    with pytest.raises(Conflict):
        contact(world)
    return logged.reasons[-1]


@scenario(Reason.NO_CONSENT)
def _no_consent(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return refused_contact(logged, consent=False)


@scenario(Reason.NO_LINE)
def _no_line(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return refused_contact(logged, line=False)


@scenario(Reason.NUMBER_UNPROVEN)
def _number_unproven(logged: Logged, _: pytest.MonkeyPatch) -> str:
    return refused_contact(logged)


@scenario(Reason.QUIET_HOURS)
def _quiet_hours(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = World()
    world.agent(COACH.id, COACH.name)
    world.known(HUSAM)
    sms = sms_route(line=LINE, phone=PHONE)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", route=sms)
    plan = {"name": "Report", "instruction": "Report.", "run_after": "10 hours"}
    path = f"/v1/agents/{COACH.id}/plans"
    admin = Client(world, admin_api, sub="usr_op", scope="admin")
    admin.call("POST", path, plan | {"chat_id": "chat_1"}, query={"reason": WHY})
    world.clock.advance(10 * 3_600)
    world.tick()
    assert logged.reasons[-1] == Reason.QUIET_HOURS
    [item] = admin.get(path, user_id=HUSAM.id, reason=WHY).body["items"]
    assert (item["deferred_from"], item["next_at"]) == (
        "2026-02-18T22:00:00.000Z",
        "2026-02-19T08:00:00.000Z",
    )
    assert (item["status"], item["meaning"]) == ("active", Reason.QUIET_HOURS.meaning)
    reason: str | None = item["reason"]
    return reason


# ------------------------------ a job that leads to no work


@scenario(Reason.RUN_ENDED)
def _run_ended(logged: Logged, _: pytest.MonkeyPatch) -> str:
    world = group()
    world.post("Hello", HUSAM)
    settle(world)
    world.take(world.runs()[0].job)
    return logged.reasons[-1]


@scenario(Reason.RUN_MISSING)
def _run_missing(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    [run] = world.runs()
    world.table.write(Delete(run.key))
    world.take(run.job)
    assert logged.reasons[-1] == Reason.RUN_MISSING
    return of_agent(world, 1)


@scenario(Reason.TAKEN_OVER)
def _taken_over(logged: Logged, _: pytest.MonkeyPatch) -> str:
    def slow(_: ModelRequest) -> str:
        world.clock.advance(200)
        world.take(world.runs()[0].job)
        return "Too late."

    world = group(slow)
    world.post("Hello", HUSAM)
    world.take(world.runs()[0].job)
    assert of_agent(world, 1) is None
    return logged.reasons[-1]


@scenario(Reason.JOB_FAILED)
def _job_failed(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> str:
    world = group()
    world.post("Hello", HUSAM)
    event = deepcopy(recorded("sms_delivery"))
    event["Records"] = [event["Records"][0] | {"body": world.runs()[0].job.model_dump_json()}]

    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable("the table is out of reach")

    monkeypatch.setattr(world.table, "get_many", fail)
    invoke(run_worker, world, event)
    return logged.reasons[-1]


def test_job_that_is_malformed_logs_the_reason_and_fails_alone(logged: Logged) -> None:
    world = texting()
    answered(world)
    [job] = world.queues.ready("deliveries")
    event = deepcopy(recorded("sms_delivery"))
    [record] = event["Records"]
    event["Records"] = [
        record | {"messageId": "malformed", "body": "no job"},
        record | {"messageId": "valid", "body": job.model_dump_json()},
    ]
    answer = invoke(sms_delivery, world, event)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "malformed"}]}
    assert [delivery.status for delivery in world.deliveries()] == ["sent"]
    line = next(vars(each) for each in logged.records if "queue" in vars(each))
    assert (line["queue"], line["message_id"]) == ("deliveries", "malformed")
    assert line["reason"] == Reason.JOB_FAILED


def test_batch_that_is_malformed_logs_the_reason_job_failed(logged: Logged) -> None:
    with pytest.raises(Crashed):
        invoke(run_worker, group(), {"Records": None})
    assert set(logged.reasons) == {Reason.JOB_FAILED}


@scenario(Reason.DELIVERY_SETTLED)
def _delivery_settled(logged: Logged, _: pytest.MonkeyPatch) -> str:
    world = texting()
    answered(world)
    [job] = world.queues.ready("deliveries")
    assert isinstance(job, DeliveryJob)
    for _again in range(2):
        world.app.deliveries.deliver(job, deadline=world.clock.now() + timedelta(seconds=60))
    return logged.reasons[-1]


# ------------------------------ an answer that has not reached a phone


@scenario(Reason.GROUP_CHAT)
def _group_chat(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = group()
    world.post("Hello", HUSAM)
    settle(world)
    return of_delivery(world, 2)


@scenario(Reason.IN_APP)
def _in_app(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting()
    world.post("Hello from the app", HUSAM)
    settle(world)
    assert of_delivery(world, 2) == Reason.IN_APP
    return of_delivery(world, 1)


@scenario(Reason.OPTED_OUT)
def _opted_out(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = texting()
    answered(world)
    world.sms.plan(Fault(SmsRejected("the person has opted out", code=21610)))
    deliver(world)
    assert of_delivery(world, 1) == Reason.OPTED_OUT
    world.post("One more thing", COACH)
    assert logged.reasons[-1] == Reason.OPTED_OUT
    assert of_delivery(world, 3) == Reason.OPTED_OUT
    texted(world, "Who is this?")
    assert of_agent(world, 4) == Reason.OPTED_OUT  # no run
    world.post("START", HUSAM, kind="keyword", route=TEXTED, opted_out=False)
    texted(world, "How far?")
    world.post("STOP", HUSAM, kind="keyword", route=TEXTED, opted_out=True)
    world.drain()
    assert world.runs()[-1].status == "canceled"
    return of_agent(world, 6)


@scenario(Reason.PERSON_LEFT)
def _person_left(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting()
    answered(world)
    world.close_membership(HUSAM)
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.NUMBER_LOST)
def _number_lost(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting()
    answered(world)
    world.table.write(
        Update(AddressOwner.key_of(TENANT, phone_address(PHONE)), set={"user_id": "usr_other"})
    )
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.NUMBER_NOT_ANSWERED)
def _number_not_answered(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting(settings=Settings(answered_countries=("FR",)))
    answered(world)
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.WINDOW_CLOSED)
def _window_closed(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting()
    world.post("Hi", HUSAM, route=route_on("whatsapp", line=LINE, person=PHONE))
    world.clock.advance(25 * 3_600)
    for job in world.queues.ready("turns"):
        assert isinstance(job, RunJob)
        world.take(job)
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.SEGMENT_LIMIT)
def _segment_limit(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting("Go on. " * 50, settings=Settings(user_segments_per_day=1))
    answered(world)
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.LINE_BUSY)
def _line_busy(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting("Go on. " * 50, settings=Settings(long_code_segments_per_minute=1))
    answered(world)
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.NOTHING_TO_SEND)
def _nothing_to_send(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting("\x07")
    answered(world)
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.BEHIND_OTHER_DELIVERY)
def _behind_other_delivery(logged: Logged, _: pytest.MonkeyPatch) -> str | None:
    world = texting()
    answered(world)
    world.post("One more thing", COACH)
    _first, second = world.queues.ready("deliveries")
    assert isinstance(second, DeliveryJob)
    world.app.deliveries.deliver(second, deadline=world.clock.now() + timedelta(seconds=60))
    assert logged.reasons[-1] == Reason.BEHIND_OTHER_DELIVERY
    return of_delivery(world, 3)


@scenario(Reason.FILE_PENDING)
def _file_pending(logged: Logged, _: pytest.MonkeyPatch) -> str:
    world = Texting()
    posted(world, "Look!", stored(world, state="pending"))
    [job] = world.queues.ready("deliveries")
    assert isinstance(job, DeliveryJob)
    world.deliver(job)
    return logged.reasons[-1]


@scenario(Reason.NOT_DUE)
def _not_due(logged: Logged, _: pytest.MonkeyPatch) -> str:
    world = texting()
    answered(world)
    [job] = world.queues.ready("deliveries")
    assert isinstance(job, DeliveryJob)
    world.sms.plan(Fault(Unavailable("down")))
    for _again in range(2):
        world.app.deliveries.deliver(job, deadline=world.clock.now() + timedelta(seconds=60))
    return logged.reasons[-1]


def failed_delivery(fault: Exception) -> str | None:
    world = texting()
    answered(world)
    world.sms.plan(Fault(fault))  # type: ignore[arg-type]
    deliver(world)
    return of_delivery(world, 1)


@scenario(Reason.OUTCOME_UNKNOWN)
def _outcome_unknown(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return failed_delivery(Ambiguous("the connection was lost"))


@scenario(Reason.PROVIDER_UNAVAILABLE)
def _provider_unavailable(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return failed_delivery(Unavailable("down"))


@scenario(Reason.PROVIDER_REFUSED)
def _provider_refused(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    return failed_delivery(SmsRejected("a landline", code=21614))


@scenario(Reason.NOT_CONFIRMED)
def _not_confirmed(_: Logged, __: pytest.MonkeyPatch) -> str | None:
    world = texting()
    answered(world)
    deliver(world)
    return of_delivery(world, 1)
