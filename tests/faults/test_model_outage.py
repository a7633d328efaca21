"""The model is down: runs wait and lose no attempt, and a person hears of it once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import sms_webhook
from skein.errors import (
    KeyRefused,
    LostLease,
    ModelRejected,
    ModelUnknown,
    SkeinError,
    Throttled,
    Unavailable,
    Unreachable,
)
from skein.models.common.retry import Retry
from skein.prompts import render
from skein.services.replies.user_notices import DEFERRALS_BEFORE_APOLOGY, Apologies
from skein.services.runs import policy
from skein.settings import Settings
from tests.faults.deployment import deaths, named
from tests.faults.sampling import FaultShare
from tests.faults.texting_story import SmsLine
from tests.support.agents import job_of
from tests.support.builders import INVOCATION, LINE, PHONE, World, bot, person, statuses
from tests.support.fakes import Script, ScriptedModel
from tests.support.routes import sms_route
from tests.support.webhooks import Webhook

HUSAM, COACH = person(), bot()
SORRY = Settings().apology_text
FAILED = render("notice_no_answer")
DOWN = Unavailable("503")
SMS = sms_route(line=LINE, phone=PHONE)


def texting(*script: Script, settings: Settings | None = None) -> World:
    """A direct chat whose person is on SMS, with a model that is down."""
    world = World(settings or Settings(), ScriptedModel.saying(*script, default=DOWN))
    world.agent()
    world.line()
    world.chat(HUSAM, COACH, kind="direct", visibility="private", route=SMS)
    return world


def say(world: World, text: str, chat_id: str = "chat_1") -> None:
    world.post(text, HUSAM, route=SMS, chat_id=chat_id)


def minutes_pass(world: World, minutes: int = 5) -> None:
    for _ in range(minutes * 12):
        while world.run_ready():
            pass
        world.clock.advance(5)


def recover(world: World, answer: Script = "Here I am.") -> None:
    world.model.default = answer
    minutes_pass(world, 20)


# ---------------------------------------------------------------------- runs wait


def test_runs_wait_ever_longer_and_lose_no_attempt() -> None:
    world = World(model=ScriptedModel.saying(default=DOWN))
    world.agent()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.clock.advance(1)
    waits, before = [], world.clock.now()
    for _ in range(8):
        [job] = world.queues.waiting("turns")
        world.clock.set(max(world.clock.now(), job.due_at))
        world.run_ready()
        waits.append(round((world.clock.now() - before).total_seconds()))
        before = world.clock.now()
        [run] = world.runs()
        assert (run.status, run.attempts) == ("running", 0)
    assert waits == [0, *(10 * 2**n for n in range(7))]
    recover(world)
    assert world.texts() == ["Hello", SORRY, "Here I am."]
    assert statuses(world.runs()) == ["done"]


def test_model_outage_defers_every_run_and_loses_no_attempt() -> None:
    world = World(model=ScriptedModel.saying(default=DOWN))
    world.agent()
    for n in range(8):
        world.chat(HUSAM, COACH, chat_id=f"chat_{n}")
        world.post("Hello", HUSAM, chat_id=f"chat_{n}")
    world.clock.advance(5)
    world.run_ready()
    runs = [run for n in range(8) for run in world.runs(f"chat_{n}")]
    assert {(run.status, run.attempts, run.deferrals) for run in runs} == {("running", 0, 1)}
    assert world.metrics.counts["RunsPutOff"] == len(world.model.requests) == 8
    assert world.metrics.counts["CircuitsOpened"] == 0
    world.model.default = "Back."
    minutes_pass(world)
    assert all(world.texts(f"chat_{n}") == ["Hello", "Back."] for n in range(8))
    assert len(world.model.requests) == 8 + 8


# ---------------------------------------------------------------------- the apology


def test_outage_sends_one_apology_per_sms_person() -> None:
    world = texting()
    say(world, "Hello?")
    minutes_pass(world)
    say(world, "Are you there?")
    minutes_pass(world)
    say(world, "Hello??")
    minutes_pass(world)
    assert world.sms.bodies == [SORRY]
    assert [m.text for m in world.messages() if m.kind == "notice"] == [SORRY]
    assert world.metrics.counts["Apologies"] == 1

    recover(world)
    assert world.sms.bodies == [SORRY, "Here I am."]
    assert SORRY not in str(world.model.requests[-1]), "agents are not shown notices"
    assert world.membership(COACH).late_since is None


def test_messages_during_an_outage_are_answered_once_by_the_deferred_run() -> None:
    world = texting()
    said = ["Hello?", "Are you there?", "Hello??"]
    for text in said:
        say(world, text)
        minutes_pass(world)
    say(world, "Please?")
    said.append("Please?")
    assert statuses(world.runs())[0] == "running"
    assert statuses(world.runs())[-1] == "queued"

    asked = len(world.model.requests)
    recover(world)
    assert len(world.model.requests) == asked + 1
    questions = [m.content for m in world.model.requests[-1].messages if m.role == "user"]
    assert questions == [f"[Husam (human)] {text}" for text in said]
    done, *joined = world.runs()
    assert (done.status, done.attempts) == ("done", 1)
    assert (done.trigger.from_seq, done.trigger.seq) == (1, 5)
    assert {(run.status, run.error) for run in joined} == {("canceled", f"joined {done.id}")}
    membership = world.membership(COACH)
    assert (membership.seen_seq, membership.running_run, membership.queued_run) == (5, None, None)
    assert not world.queues.waiting("turns")


def test_reset_during_an_outage_is_answered_without_the_model() -> None:
    world = texting()
    say(world, "Hello?")
    minutes_pass(world)
    say(world, "Reset")
    recover(world)
    assert world.sms.bodies == [SORRY, render("session_reset")]


def test_group_after_outage_gets_one_answer_to_all_messages() -> None:
    world = World(model=ScriptedModel.saying(default=DOWN))
    world.agent(reply_mode="text", history_format="roles")
    ann = person("usr_ann", "Ann")
    world.chat(HUSAM, ann, COACH)
    for one, text in ((HUSAM, "Hello"), (ann, "Is Coach there?"), (HUSAM, "No")):
        world.post(text, one)
        minutes_pass(world, 1)
    recover(world)
    assert world.texts() == ["Hello", SORRY, "Is Coach there?", "No", "Here I am."]
    assert (world.runs()[0].trigger.from_seq, world.runs()[0].trigger.seq) == (1, 4)


def test_next_outage_is_announced_again() -> None:
    world = texting()
    for _ in range(2):
        say(world, "Hello?")
        minutes_pass(world)
        recover(world)
        world.model.default = DOWN
    assert world.sms.bodies == [SORRY, "Here I am."] * 2


def lasting(limit: timedelta) -> Retry:
    return replace(policy.DEFERRALS, give_up=limit)


def test_a_run_that_fails_in_the_end_does_not_end_the_outage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policy, "DEFERRALS", lasting(timedelta(minutes=10)))
    world = texting()
    for n in range(2):
        say(world, "Hello?")
        minutes_pass(world, 30)
        assert statuses(world.runs()) == ["failed"] * (n + 1)
    assert world.sms.bodies == [SORRY, FAILED, FAILED]


def test_late_message_of_an_outage_does_not_expire_with_the_first_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policy, "DEFERRALS", lasting(timedelta(minutes=20)))
    world = texting()
    say(world, "Hello?")
    minutes_pass(world, 19)
    say(world, "Still there?")
    minutes_pass(world, 15)
    recover(world)
    assert world.sms.bodies == [SORRY, "Here I am."]


def test_transient_model_fault_sends_no_apology() -> None:
    world = texting(DOWN, Throttled("slow down"), "Good morning!")
    say(world, "Hello?")
    minutes_pass(world)
    assert world.sms.bodies == ["Good morning!"]


def test_apology_comes_with_the_third_deferral_of_the_persons_own_run() -> None:
    world = texting()
    for n in range(5):
        world.chat(HUSAM, COACH, chat_id=f"chat_9{n}")
        world.post("Hello", HUSAM, chat_id=f"chat_9{n}")
    say(world, "Hello?")
    for deferrals in range(1, DEFERRALS_BEFORE_APOLOGY + 2):
        waited = 10 * 2 ** (deferrals - 2)
        world.clock.advance(5 if deferrals == 1 else waited)
        world.run_ready()
        assert world.runs()[0].deferrals == deferrals
        world.run_ready()
        told = deferrals > DEFERRALS_BEFORE_APOLOGY
        assert world.sms.bodies == ([SORRY] if told else [])


def test_a_request_that_the_model_refuses_is_no_outage() -> None:
    world = texting(ModelRejected("no"))
    say(world, "Hello?")
    minutes_pass(world)
    assert world.sms.bodies == [FAILED]


def test_outage_in_app_chat_posts_one_notice_and_sends_no_sms() -> None:
    world = texting()
    world.chat(HUSAM, COACH, chat_id="chat_2", kind="direct", visibility="private")
    world.post("Hello?", HUSAM, chat_id="chat_2")
    minutes_pass(world)
    world.post("Still there?", HUSAM, chat_id="chat_2")
    minutes_pass(world)
    notices = [m.text for m in world.messages("chat_2") if m.kind == "notice"]
    assert notices == [SORRY]
    assert world.sms.bodies == []

    recover(world)
    assert world.texts("chat_2") == ["Hello?", SORRY, "Still there?", "Here I am."]
    assert world.membership(COACH, "chat_2").late_since is None


def test_outage_after_stop_posts_no_notice() -> None:
    world = texting()
    world.post("STOP", HUSAM, route=SMS, kind="keyword", opted_out=True)
    world.post("Hello?", HUSAM, route=SMS)
    minutes_pass(world)
    assert world.runs() == []
    assert world.sms.bodies == []
    assert [m.kind for m in world.messages() if m.kind == "notice"] == []


def test_a_worker_that_was_taken_over_does_not_apologise() -> None:
    world = texting()
    say(world, "Hello?")
    world.clock.advance(5)
    job = job_of(world.runs()[0])
    slow = world.app.leases.claim(job, lease_until=world.clock.now() + INVOCATION)
    assert slow is not None
    world.clock.advance(INVOCATION.total_seconds() + 1)
    assert world.app.leases.claim(job, lease_until=world.clock.now() + INVOCATION) is not None
    with pytest.raises(LostLease):
        world.app.get(Apologies).late(slow.with_run(deferrals=DEFERRALS_BEFORE_APOLOGY))
    assert world.texts() == ["Hello?"]
    assert world.membership(COACH).late_since is None


def test_outage_in_group_posts_one_notice_of_one_agent() -> None:
    world = World(model=ScriptedModel.saying(default=DOWN))
    helper = bot("agt_helper", "Helper")
    for agent_id, name in ((COACH.id, COACH.name), (helper.id, helper.name)):
        world.agent(agent_id, name=name, reply_mode="text", history_format="roles")
    world.chat(HUSAM, COACH, helper)
    world.post("Hello?", HUSAM)
    minutes_pass(world)
    world.post("Hello??", HUSAM)
    minutes_pass(world)
    notices = [m for m in world.messages() if m.kind == "notice"]
    assert [m.text for m in notices] == [SORRY]

    recover(world)
    world.model.default = DOWN
    world.post("And now?", HUSAM)
    minutes_pass(world)
    assert [m.text for m in world.messages() if m.kind == "notice"] == [SORRY, SORRY]


def test_outage_notice_is_not_posted_for_an_agents_message() -> None:
    world = World(model=ScriptedModel.saying(default=DOWN))
    world.agent()
    helper = bot("agt_helper", "Helper")
    world.chat(HUSAM, COACH, helper)
    world.post("Hello, Coach", helper)
    minutes_pass(world)
    assert world.texts() == ["Hello, Coach"]


@pytest.mark.parametrize(
    "outage",
    [Unreachable("refused"), KeyRefused("401"), ModelUnknown("404"), Throttled("402")],
    ids=lambda outage: type(outage).__name__,
)
def test_outage_of_an_hour_ends_no_run_and_the_model_answers_when_it_is_back(
    outage: SkeinError,
) -> None:
    world = texting()
    world.model.default = outage
    say(world, "Hello?")
    minutes_pass(world, 60)
    [run] = world.runs()
    assert (run.status, run.attempts) == ("running", 0)
    recover(world)
    assert world.sms.bodies == [SORRY, "Here I am."]
    assert statuses(world.runs()) == ["done"]


def test_model_retry_setting_bounds_the_pause_between_tries() -> None:
    world = texting(settings=Settings(model_retry_max_seconds=60))
    say(world, "Hello?")
    minutes_pass(world, 30)
    world.model.default = "Here I am."
    minutes_pass(world, 2)
    assert world.sms.bodies == [SORRY, "Here I am."]


def test_outage_apology_is_off_if_the_deployment_setting_is_off() -> None:
    world = texting(settings=Settings(apology=False))
    say(world, "Hello?")
    minutes_pass(world)
    assert world.sms.bodies == []


def test_outage_apology_uses_configured_text_and_can_be_turned_off() -> None:
    world = texting(settings=Settings(apology_text="Einen Moment, bitte."))
    world.chat(HUSAM, COACH, chat_id="chat_2", kind="direct", visibility="private", route=SMS)
    quiet = {"apology": False}
    say(world, "Hello?")
    world.post("Hello?", HUSAM, route=SMS, chat_id="chat_2", overrides=quiet)
    minutes_pass(world)
    assert world.sms.bodies == ["Einen Moment, bitte."]


def test_failed_apology_does_not_block_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    world = texting()
    say(world, "Hello?")

    def fail(*_: object, **__: object) -> None:
        raise Unavailable("down")

    with monkeypatch.context() as broken:
        broken.setattr(type(world.app.chats), "post_message", fail)
        minutes_pass(world, 2)
    assert [(run.status, run.attempts) for run in world.runs()] == [("running", 0)]
    minutes_pass(world, 5)
    assert world.sms.bodies == [SORRY]


# ---------------------------------------------------------------------- and deaths on the way


class Outage(SmsLine):
    """Somebody texts while the model is down, which it is for five minutes more."""

    def __init__(self) -> None:
        super().__init__()
        self.well_at = self.clock.now().timestamp() + 300
        self.model.default = self._answer

    def _answer(self, _: Any) -> str:
        if self.clock.now().timestamp() < self.well_at:
            raise DOWN
        return "Here I am."

    def check_story(self) -> None:
        assert self.chat_id is not None
        kinds = [(m.kind, m.text) for m in self.messages(self.chat_id)[1:]]
        assert kinds == [("notice", SORRY), ("text", "Here I am.")]
        assert self.sms.bodies == [SORRY, "Here I am."]
        assert statuses(self.runs(self.chat_id)) == ["done"]
        assert self.membership(COACH, self.chat_id).late_since is None
        assert self.at_rest


def test_outage_death_sends_one_apology(share: FaultShare) -> None:
    text = Webhook.recorded("sms_webhook")
    world = Outage()
    world.tell(text)
    world.check_story()
    calls = list(world.fuse.calls)
    for strike in share.of(deaths(calls)):
        with named(strike, calls=calls):
            world = Outage()
            world.plan(strike)
            world.webhook(sms_webhook, text.signed())
            world.live()
            assert world.deaths == 1
            world.check_story()
