"""Jobs that lead to jobs, under Lambda's rule that a chain invokes a function 16 times at most."""

from collections.abc import Callable
from contextvars import Context
from datetime import timedelta

import pytest

import sms_webhook
from skein.errors import Ambiguous, Unavailable
from skein.models.runs.completion import ModelRequest
from skein.services.delivery import policy as delivery_policy
from skein.services.outbox import dispatch
from skein.settings import Settings
from tests.fakes.sms import Fault
from tests.faults.deployment import LINEAGE_INVOCATIONS, Deployment, Phone, recursive_functions
from tests.faults.texting_story import SMS_SETTINGS, TEXT, SmsLine
from tests.support.builders import bot, person

AGENTS = 20  # the most that a chat holds
HUSAM = person()
SETTINGS = Settings(consolidate=False, auto_summary=False)


def team(settings: Settings = SETTINGS, *, allowed: frozenset[str] | None = None) -> Deployment:
    """A group of one person and as many agents as a chat holds; the person asks all to answer."""
    world = Deployment(settings)
    if allowed is not None:
        world.lineages.allowed = allowed
    agents = [bot(f"agt_{n:02d}", f"Agent {n}") for n in range(AGENTS)]
    for agent in agents:
        world.agent(agent.id, agent.name)
    world.known(HUSAM)
    world.chat(HUSAM, *agents, respond="manual")
    phone = Phone(world, sub=HUSAM.id)
    phone.say("What do you all think?")
    phone.post("/v1/chats/chat_1/runs", {"all": True})
    return world


def answers(world: Deployment, chat_id: str = "chat_1") -> list[str]:
    return [m.sender.id for m in world.messages(chat_id) if m.sender.kind == "agent"]


def all_have_answered(world: Deployment) -> Callable[[], bool]:
    return lambda: len(answers(world)) == AGENTS


def test_all_agents_asked_at_once_answer_before_the_next_tick() -> None:
    world = team()
    began = world.clock.now()
    world.live(until=all_have_answered(world))
    assert world.clock.now() - began < timedelta(minutes=1)
    assert len(set(answers(world))) == AGENTS
    assert not world.lineages.dropped
    assert max(waiting.job.hops for waiting in world.queues.sent) >= LINEAGE_INVOCATIONS


def test_without_the_exemption_lambda_drops_jobs_and_the_tick_takes_them_over() -> None:
    world = team(allowed=frozenset())
    began = world.clock.now()
    world.live(until=all_have_answered(world))
    assert world.lineages.dropped
    assert timedelta(minutes=1) <= world.clock.now() - began < timedelta(minutes=4)
    world.live()
    assert sorted(answers(world)) == sorted(set(answers(world)))


def test_at_the_hop_limit_the_tick_takes_over_and_every_agent_answers_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "MAX_HOPS", 5)
    world = team(SETTINGS)
    began = world.clock.now()
    world.live(until=all_have_answered(world))
    assert world.clock.now() - began < timedelta(minutes=10)
    assert world.metrics.counts["HopLimitReached"] > 0
    assert max(waiting.job.hops for waiting in world.queues.sent) == 5
    world.live()
    assert sorted(answers(world)) == sorted(set(answers(world)))
    assert [run.status for run in world.runs()] == ["done"] * AGENTS


def test_a_run_that_is_deferred_for_an_hour_is_not_dropped() -> None:
    world = SmsLine(SMS_SETTINGS.model_copy(update={"model_retry_max_seconds": 60}))
    recovers_at = world.clock.now() + timedelta(hours=1)

    def answer_if_up(_: ModelRequest) -> str:
        if world.clock.now() < recovers_at:
            raise Unavailable("the model is down")
        return "Hello!"

    world.model.default = answer_if_up
    world.tell()
    assert world.sms.bodies[-1] == "Hello!"
    assert not world.lineages.dropped


@pytest.mark.check
def test_a_busy_group_is_answered_without_a_gap() -> None:
    world = Deployment(SETTINGS)
    world.agent()
    world.known(HUSAM)
    world.chat(HUSAM, bot())
    rounds = 3 * LINEAGE_INVOCATIONS

    def answer_while_people_write(_: ModelRequest) -> str:
        if len(world.model.requests) < rounds:
            # A webhook posts the message, so its jobs follow from no other job.
            Context().run(world.post, f"And {len(world.model.requests)}?", HUSAM)
        return "Yes."

    world.model.default = answer_while_people_write
    began = world.clock.now()
    Phone(world, sub=HUSAM.id).say("Shall we begin?")
    world.live(until=lambda: len(answers(world)) == rounds)
    assert world.clock.now() - began < timedelta(minutes=1)
    assert not world.lineages.dropped


def test_an_sms_behind_an_unsettled_one_is_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_policy, "ORDER_WAIT", timedelta(seconds=50))
    world = SmsLine(SMS_SETTINGS)
    world.sms.plan(Fault(Ambiguous("no answer")))
    world.webhook(sms_webhook, TEXT.signed())
    world.live(until=lambda: world.sms.asked == 1)
    world.webhook(sms_webhook, TEXT.but(MessageSid="SM" + "2" * 32, Body="Still there?").signed())
    world.live()
    polls = [w for w in world.queues.sent if w.job.queue == "deliveries"]
    assert len(polls) > LINEAGE_INVOCATIONS
    assert not world.lineages.dropped


def test_only_functions_that_continue_their_own_jobs_are_exempt() -> None:
    assert recursive_functions() == {
        "run_worker",
        "sms_delivery",
        "background_worker",
        "upkeep_worker",
    }
