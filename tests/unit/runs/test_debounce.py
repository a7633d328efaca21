"""A person who sends several texts at once gets one answer, after a wait that has an end."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.models.chats.membership import Membership
from skein.models.common.address import phone_address
from skein.models.common.reason import Reason
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import RunJob
from skein.models.runs.trigger import ServiceTrigger, Trigger
from skein.settings import Settings
from tests.support.agents import (
    COACH,
    HUSAM,
    asked_by_service,
    job_of,
    rival,
    stage,
    the_run,
)
from tests.support.builders import INVOCATION, LINE, NOON, PHONE, World, bot, statuses
from tests.support.fakes import MeanwhileTable, says
from tests.support.routes import sms_route

ADDRESS = sms_route(line=LINE, phone=PHONE)


def on_a_line(**settings: int) -> World:
    world = World(Settings(**settings), overrides={"table": MeanwhileTable()})
    world.table = rival(world)
    world.agent()
    world.line()
    return world


def text(world: World, body: str) -> str:
    """Let the phone send a text; returns the chat it belongs to."""
    posted = world.app.sms_receiver.receive(
        InboundSms(
            account_sid="AC1",
            message_sid=f"SM{world.ids.ulid()}",
            sender=PHONE,
            recipient=LINE,
            body=body,
        )
    )
    assert posted is not None
    return posted.message.chat_id


def pass_time(world: World, seconds: float) -> None:
    """Let time pass; what falls due meanwhile is done at its time."""
    end = world.clock.now() + timedelta(seconds=seconds)
    while True:
        while world.run_ready():
            pass
        coming = [job.due_at for job in world.queues.waiting("turns") if job.due_at <= end]
        world.clock.advance((min([*coming, end]) - world.clock.now()).total_seconds())
        if not coming:
            return


def answered(world: World) -> list[str]:
    """What each answer of the model was told last."""
    return [request.messages[-1].content for request in world.model.requests]


def membership(world: World, chat_id: str) -> Membership:
    return world.membership(bot(), chat_id)


@given(st.lists(st.floats(0, 2.9), min_size=1, max_size=6))
def test_texts_of_three_seconds_get_one_answer_that_has_read_them_all(moments: list[float]) -> None:
    world, chat_id = on_a_line(), ""
    for number, moment in enumerate(sorted(moments)):
        pass_time(world, (NOON + timedelta(seconds=moment) - world.clock.now()).total_seconds())
        chat_id = text(world, f"Text {number}")
    pass_time(world, 10)
    [request] = world.model.requests
    shown = "\n".join(message.content for message in request.messages)
    assert all(f"Text {number}" in shown for number in range(len(moments)))
    assert world.texts(chat_id)[-1] == "Hello!"
    assert statuses(world.runs(chat_id)) == ["done"]


@pytest.mark.check
@given(
    gaps=st.lists(st.floats(0.001, 4), min_size=1, max_size=6),
    seconds=st.integers(0, 4),
    longest=st.integers(0, 6),
)
def test_debounced_text_waits_at_most_the_configured_maximum(
    gaps: list[float], seconds: int, longest: int
) -> None:
    world = on_a_line(reply_debounce_seconds=seconds, reply_debounce_max_seconds=longest)
    chat_id = ""
    for number, gap in enumerate(gaps):
        chat_id = text(world, f"Text {number}")
        pass_time(world, gap)
    pass_time(world, 10)
    messages = {m.seq: m for m in world.messages(chat_id)}
    runs = world.runs(chat_id)
    assert set(statuses(runs)) == {"done"}
    assert sum(run.attempts for run in runs) == len(world.model.requests) == len(runs)
    for run in runs:
        assert run.started_at is not None
        assert run.trigger.from_seq is not None
        waited = run.started_at - messages[run.trigger.from_seq].created_at
        assert waited <= timedelta(seconds=max(seconds, longest), milliseconds=1)
    read = {seq for run in runs for seq in range(run.trigger.from_seq or 0, run.shown.seq + 1)}  # type: ignore[union-attr]
    assert read >= {seq for seq, m in messages.items() if m.sender.kind == "user"}


def test_each_text_puts_the_answer_off_until_the_longest_wait_is_over() -> None:
    world = on_a_line(reply_debounce_seconds=1, reply_debounce_max_seconds=3)
    chat_id = text(world, "One")
    ends = []
    for _ in range(4):
        pass_time(world, 0.8)
        text(world, "More")
        burst = membership(world, chat_id).burst
        ends.append((burst.until - NOON).total_seconds() if burst else None)
    assert ends == [1.8, 2.6, 3.0, 4.2]  # the last text came too late, and begins another burst
    assert len(world.model.requests) == 1


def test_single_text_is_answered_after_the_debounce_time() -> None:
    world = on_a_line(reply_debounce_seconds=1, reply_debounce_max_seconds=3)
    text(world, "One")
    pass_time(world, 0.9)
    assert not world.model.requests
    pass_time(world, 0.1)
    assert answered(world)[-1].endswith("One")


def test_a_job_that_comes_too_early_costs_no_attempt_and_is_sent_for_later() -> None:
    world = on_a_line()
    chat_id = text(world, "One")
    [run] = world.runs(chat_id)
    world.queues.ready("turns")
    world.clock.advance(0.5)
    for _ in range(3):
        world.take(job_of(run))
    [run] = world.runs(chat_id)
    assert (run.status, run.attempts, run.fence) == ("queued", 0, 0)
    delays = {(job.due_at - NOON).total_seconds() for job in world.queues.waiting("turns")}
    assert delays == {3.0, 3.5}  # whole seconds, as the queue knows them
    pass_time(world, 4)
    assert [run.attempts for run in world.runs(chat_id)] == [1]


def test_a_burst_whose_jobs_are_all_lost_is_answered_by_the_tick() -> None:
    world = on_a_line()
    chat_id = text(world, "One")
    world.clock.advance(1)
    text(world, "Two")
    world.queues._waiting.clear()
    world.clock.advance(61)
    world.tick()
    pass_time(world, 1)
    assert len(world.model.requests) == 1
    assert statuses(world.runs(chat_id)) == ["done"]


def test_texts_to_an_agent_that_is_late_already_do_not_put_it_off_further() -> None:
    """The job of the first one is delayed, as queues delay jobs now and then."""
    world = on_a_line()
    chat_id = text(world, "One")
    for word in ("Two", "Three"):
        world.clock.advance(4)
        text(world, word)
    [job] = world.queues.waiting("turns")
    assert isinstance(job.job, RunJob)
    world.take(job.job)
    assert statuses(world.runs(chat_id)) == ["done"]
    assert answered(world) == ["[Caller 0100 (human)] Three"]


def test_text_after_a_canceled_burst_starts_a_new_burst() -> None:
    world = on_a_line()
    chat_id = text(world, "One")
    world.clock.advance(2)
    world.app.completion.cancel(
        the_run(world, chat_id=chat_id), reason=Reason.STOPPED_BY_AGENT, error="not wanted"
    )
    text(world, "Two")
    pass_time(world, 2)
    assert not world.model.requests, "it may wait for three seconds of its own"
    pass_time(world, 1)
    assert len(world.model.requests) == 1


def test_texts_to_a_busy_agent_wait_for_each_other_again() -> None:
    world = on_a_line()
    chat_id = text(world, "One")
    world.clock.advance(3)
    [run] = world.runs(chat_id)
    claim = world.app.leases.claim(job_of(run), lease_until=world.clock.now() + INVOCATION)
    assert claim is not None
    for number in range(4):
        world.clock.advance(2)
        text(world, f"While busy {number}")
    world.app.completion.end(claim, "done")
    pass_time(world, 2)
    text(world, "And now")
    pass_time(world, 0.9)
    assert not world.model.requests
    pass_time(world, 0.1)
    [request] = world.model.requests
    shown = "\n".join(message.content for message in request.messages)
    assert "While busy 0" in shown
    assert "And now" in shown


def test_a_text_that_meets_the_claim_of_its_run_is_waited_for() -> None:
    world = on_a_line(reply_debounce_seconds=1, reply_debounce_max_seconds=3)
    text(world, "One")
    world.clock.advance(1)
    rival(world).before = ("RUN#", lambda: text(world, "Two"))
    world.run_ready()
    assert not world.model.requests
    pass_time(world, 1)
    [request] = world.model.requests
    assert "Two" in request.messages[-1].content


def test_concurrent_texts_keep_the_burst() -> None:
    world = on_a_line(reply_debounce_seconds=1, reply_debounce_max_seconds=3)
    chat_id = text(world, "One")
    world.clock.advance(0.5)
    rival(world).before = ("MSG#", lambda: text(world, "Two"))
    text(world, "Three")
    burst = membership(world, chat_id).burst
    assert burst is not None
    assert burst.until >= NOON + timedelta(seconds=1.5)
    assert burst.latest == NOON + timedelta(seconds=3)


def test_message_in_the_app_ignores_the_debounce_of_a_line() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.post("Hi", HUSAM)
    assert membership(world, "chat_1").burst is None
    pass_time(world, 1)
    assert len(world.model.requests) == 1


@pytest.mark.parametrize("home", ["here", "elsewhere"])
def test_several_texts_that_answer_a_question_are_read_together(home: str) -> None:
    ask = says("Shall I?", wait=True, chat_id="chat_1")
    world = stage(ask, says("I see", chat_id="chat_1"))
    world.chat(
        HUSAM, COACH, kind="direct", visibility="private", route=ADDRESS, line=phone_address(LINE)
    )
    if home == "here":
        world.post("Publish", HUSAM)
    else:
        service = ServiceTrigger(id="svc_1", name="jira", payload="{}", chat_id="chat_1")
        asked_by_service(world, trigger=Trigger(type="service", service=service))
    pass_time(world, 5)
    before = len(world.model.requests)
    for word in ("Yes", "I mean no", "Wait, yes"):
        world.post(word, HUSAM, route=ADDRESS)
        pass_time(world, 0.9)
    assert len(world.model.requests) == before
    pass_time(world, 5)
    resumed = world.model.requests[before]
    shown = "\n".join(message.content for message in resumed.messages)
    assert all(word in shown for word in ("Yes", "I mean no", "Wait, yes"))
    answers = [m for m in world.messages() if m.text == "I see"]
    assert len(answers) == 1
    assert membership(world, "chat_1").burst is None
    if home == "here":
        assert the_run(world, "done").resumed is not None


def test_debounce_of_zero_answers_immediately() -> None:
    world = on_a_line(reply_debounce_seconds=0)
    text(world, "One")
    world.run_ready()
    assert len(world.model.requests) == 1


def test_debounce_uses_the_agents_settings() -> None:
    world = World()
    said = {"reply_debounce_seconds": 10, "reply_debounce_max_seconds": 15}
    world.agent(settings=said)
    world.chat(
        HUSAM,
        COACH,
        kind="direct",
        visibility="private",
        route=ADDRESS,
        line=phone_address(LINE),
    )
    world.post("One", HUSAM, route=ADDRESS)
    pass_time(world, 9)
    world.post("Two", HUSAM, route=ADDRESS)
    pass_time(world, 5.9)
    assert not world.model.requests
    pass_time(world, 0.1)
    assert len(world.model.requests) == 1
