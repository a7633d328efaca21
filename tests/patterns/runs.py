"""Runs, their waits, and what repairs them."""

from skein.agent.reading.fallback import read_degraded
from skein.agent.reading.reader import prefetch_keys
from skein.interface.tool_context import Activation
from skein.models.chats.chat import Chat
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Exists, Update
from skein.models.outbox.jobs import RecallJob
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import TokenUsage
from skein.models.runs.run import HeldContent
from skein.models.runs.step import Step, ToolResult
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import OPEN
from skein.own_tools.ledger import CallLedger
from skein.services.chats.post_message import NewMessage
from skein.services.quotas.token_budget import TokenBudgets
from skein.services.replies.ask_and_wait import Questions
from skein.services.replies.user_notices import DEFERRALS_BEFORE_APOLOGY, Apologies
from skein.services.runs.activations import Activations, recording
from skein.services.runs.background_runs import agent_run
from skein.services.runs.claim import Claim, membership_elsewhere, read_claim, with_results
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.services.runs.policy import WAIT_SECONDS
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import ANALYST, COACH, HUSAM, claimed, direct, group, job_of, threaded
from tests.support.builders import (
    INVOCATION,
    LINE,
    LONG_INVOCATION,
    NOON,
    PHONE,
    TENANT,
    World,
    person,
)
from tests.support.own_tools import BOOK, own_tool
from tests.support.routes import sms_route
from tests.support.sms import Texting

patterns = Patterns()


def step(claim: Claim) -> Step:
    now = NOON
    return Step(
        tenant=TENANT,
        run_id=claim.run.id,
        n=1,
        model="m",
        text="Hello!",
        usage=TokenUsage(),
        started_at=now,
        ended_at=now,
    )


def ask(world: World, claim: Claim, chat_id: str = "chat_1") -> None:
    held = HeldContent(chat_id=claim.run.chat_id, readers=OPEN, audience=OPEN)
    new = question(claim, chat_id)
    asked = world.app.get(Questions).ask(claim.with_run(held=held), new, audience=OPEN, sent=())
    assert asked.waiting


def question(claim: Claim, chat_id: str = "chat_1") -> NewMessage:
    return NewMessage(
        tenant=TENANT,
        chat_id=chat_id,
        sender=MemberRef(kind="agent", id="agt_a"),
        text="Shall I?",
        client_id="1",
        run_id=claim.run.id,
        expects_reply=True,
    )


@patterns.named("claim a run")
def _claim(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    with meter(world):
        job = job_of(world)
        world.app.leases.claim(job, lease_until=NOON + INVOCATION, also_read=prefetch_keys(job))


@patterns.named("refuse a claim")
def _refuse(meter: Meter) -> None:
    world = group()
    claimed(world)
    with meter(world):
        world.app.leases.claim(job_of(world), lease_until=NOON + INVOCATION)


@patterns.named("refuse a claim during a burst")
def _refuse_early(meter: Meter) -> None:
    world = Texting()
    world.post("Hi", HUSAM, route=sms_route(line=LINE, phone=PHONE))
    with meter(world):
        world.app.leases.claim(job_of(world), lease_until=NOON + INVOCATION)


def _read(meter: Meter, world: World) -> None:
    claim = claimed(world)
    with meter(world):
        world.app.reader.read(claim.run, claim.chat, claim.member, claim.found)


@patterns.named("read a context in an open chat")
def _read_open(meter: Meter) -> None:
    _read(meter, group())


@patterns.named("read a context in a private chat")
def _read_private(meter: Meter) -> None:
    _read(meter, direct())


@patterns.named("read a context with other chats")
def _read_elsewhere(meter: Meter) -> None:
    world = group()
    world.chat(HUSAM, COACH, chat_id="chat_2")
    _read(meter, world)


@patterns.named("read a context with a tool of the tenant that writes")
def _read_writing(meter: Meter) -> None:
    world = group(enabled_tools=(BOOK["name"],))
    own_tool(world, BOOK)
    _read(meter, world)


@patterns.named("read a context without a chat")
def _read_nowhere(meter: Meter) -> None:
    world = group()
    started = agent_run(
        tenant=TENANT,
        agent_id="agt_a",
        trigger=Trigger(type="service"),
        cause=("1",),
        now=NOON,
    )
    with meter(world):
        world.app.reader.read(started.run, None, None)


@patterns.named("read a context for a plan of a private chat")
def _read_plan(meter: Meter) -> None:
    world = direct()
    chat = world.stored_chat()
    started = agent_run(
        tenant=TENANT,
        agent_id="agt_a",
        trigger=Trigger(type="plan"),
        cause=("1",),
        now=NOON,
        chat=chat,
    )
    world.table.transact(started.writes)
    with meter(world):
        claim = world.app.leases.claim(started.job, lease_until=NOON)
        assert claim is not None
        found = membership_elsewhere(world.table, claim, chat.id)
        world.app.reader.read(claim.run, *found)


@patterns.named("read a degraded context")
def _read_alone(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    now, settings = world.clock.now(), world.settings
    with meter(world):
        read_degraded(world.table, claim.run, claim.chat, claim.member, now=now, settings=settings)


@patterns.named("record an answer")
def _record(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    with meter(world):
        world.app.get(Activations).record(recording(claim, step(claim), shown=None))


@patterns.named("count the tokens of an answer")
def _usage(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.usage.add(TENANT, TokenUsage(), spread_by="run_1")


@patterns.named("count what a private run tells a shared service")
def _count_told(meter: Meter) -> None:
    world = direct()
    claim = claimed(world)
    payer = Payer(claim.run.agent_id, HUSAM.id)
    with meter(world):
        of_day = world.app.usage.telling(TENANT, payer, 2_000, most=240_000)
        ledger = world.app.get(CallLedger)
        assert ledger.count_told(Activation(claim), step(claim), 0, 2_000, of_day)


@patterns.named("charge a person and the tenant for an answer")
def _charge(meter: Meter) -> None:
    world = group()
    account = world.app.get(TokenBudgets).budget(claimed(world).run, {}, world.settings)
    with meter(world):
        used = TokenUsage(input_tokens=10, output_tokens=5)
        world.app.usage.add(TENANT, used, spread_by="run_1", budget=account)


@patterns.named("record the results of tools")
def _keep_results(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    answer = step(claim)
    claim = world.app.get(Activations).record(recording(claim, answer, shown=None))
    result = ToolResult(call_id="1", name="end_run", status="done", content="ended")
    with meter(world):
        done = answer.model_copy(update={"results": (result,)})
        world.app.get(Activations).keep_results(with_results(claim, ["end_run"], ()), done)


@patterns.named("end a run")
def _end(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    with meter(world):
        world.app.completion.end(claim, "done")


@patterns.named("end a run with further agents to ask")
def _end_chain(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.agent("agt_b", "Analyst")
    world.chat(HUSAM, COACH, ANALYST)
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    claim = world.app.leases.claim(job_of(world), lease_until=NOON + INVOCATION)
    assert claim is not None
    with meter(world):
        world.app.completion.end(claim, "done")


@patterns.named("a whole turn in an open chat")
def _turn(meter: Meter) -> None:
    world = group()
    world.post("Hi", HUSAM)
    with meter(world):
        world.take(job_of(world))


@patterns.named("a whole turn in a private chat")
def _private_turn(meter: Meter) -> None:
    world = direct()
    world.post("Hi", HUSAM)
    with meter(world):
        world.take(job_of(world))


def _app_turn(meter: Meter, world: World, *, renewed: bool) -> None:
    """Post a message that recalls an old one, and answer it; the agent has another chat, too.

    Args:
        renewed: Whether the chat's summaries were renewed shortly before.
    """
    world.chat(person("usr_ann", "Ann"), COACH, chat_id="chat_2")
    world.post("The landlord wants a deposit of 1450 euros for the flat in Hafen", HUSAM)
    for number in range(120):
        world.post(f"Day {number} of my holiday by the lake", HUSAM)
    if renewed:
        world.run_ready()
    job = RecallJob(tenant=TENANT, chat_id="chat_1", first_seq=1)
    world.app.recall_worker.take(job, deadline=world.clock.now() + LONG_INVOCATION)
    world.table.write(
        Update(Chat.key_of(TENANT, "chat_1"), set={"respond": "every"}, condition=Exists())
    )
    asked = NewMessage(
        tenant=TENANT,
        chat_id="chat_1",
        sender=HUSAM.ref,
        text="How high was the deposit for the flat?",
        client_id="1",
    )
    with meter(world):
        world.app.app_messages.post(asked)
        world.take(job_of(world))
    [request] = world.model.requests
    assert any("1450 euros" in str(message.content) for message in request.messages)


@patterns.named("a message of the app and its answer in a group")
def _app_turn_in_a_group(meter: Meter) -> None:
    _app_turn(meter, group(respond="manual"), renewed=False)


@patterns.named("a message of the app and its answer in a direct chat")
def _app_turn_in_a_direct_chat(meter: Meter) -> None:
    _app_turn(meter, direct(respond="manual"), renewed=True)


@patterns.named("answer a reset request")
def _fixed_answer(meter: Meter) -> None:
    world = direct()
    world.post("reset", HUSAM)
    with meter(world):
        world.take(job_of(world))
    assert not world.model.requests


@patterns.named("retry, defer or hand over a run")
def _postpone(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    with meter(world):
        world.app.leases.defer(claim, Reason.MODEL_UNAVAILABLE, "the model is down")


@patterns.named("post an apology to a person on SMS")
def _apologise(meter: Meter) -> None:
    world = Texting()
    world.post("Hi", HUSAM, route=sms_route(line=LINE, phone=PHONE))
    world.clock.advance(5)
    claim = world.app.leases.claim(job_of(world), lease_until=world.clock.now() + INVOCATION)
    assert claim is not None
    with meter(world):
        world.app.get(Apologies).late(claim.with_run(deferrals=DEFERRALS_BEFORE_APOLOGY))
    assert world.texts()[-1] == world.settings.apology_text


@patterns.named("stop a run")
def _stop(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    with meter(world):
        world.app.completion.cancel(
            claim.run, reason=Reason.STOPPED_BY_AGENT, error="stopped", guard=None
        )


@patterns.named("get a permit of an agent")
def _take_permit(meter: Meter) -> None:
    world = group(max_concurrent_runs=4)
    world.post("Hi", HUSAM)
    job = job_of(world)
    found = read_claim(world.table, job, also_read=prefetch_keys(job))
    assert found is not None
    with meter(world):
        until = NOON + INVOCATION
        world.app.get(ConcurrencyLimit).take(found.run, found.found, until=until)


@patterns.named("give a permit back")
def _give_permit_back(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    with meter(world):
        world.app.get(ConcurrencyLimit).give_back(claim.run, claim.found)


def elsewhere() -> World:
    world = group()
    world.chat(person("usr_ann", "Ann"), COACH, chat_id="chat_2")
    return world


@patterns.named("ask and wait")
def _ask(meter: Meter) -> None:
    world = group()
    claim = claimed(world)
    with meter(world):
        ask(world, claim)


@patterns.named("ask and wait in another chat")
def _ask_elsewhere(meter: Meter) -> None:
    world = elsewhere()
    claim = claimed(world)
    with meter(world):
        ask(world, claim, "chat_2")


@patterns.named("reply to a wait")
def _reply(meter: Meter) -> None:
    world = group()
    ask(world, claimed(world))
    with meter(world):
        world.post("Yes", HUSAM)


@patterns.named("reply to a wait in another chat")
def _reply_elsewhere(meter: Meter) -> None:
    world = elsewhere()
    ask(world, claimed(world), "chat_2")
    with meter(world):
        world.post("Yes", person("usr_ann", "Ann"), chat_id="chat_2")


@patterns.named("claim a run whose wait has timed out")
def _time_out(meter: Meter) -> None:
    world = group()
    ask(world, claimed(world))
    world.clock.advance(WAIT_SECONDS)
    with meter(world):
        world.app.leases.claim(job_of(world), lease_until=world.clock.now() + INVOCATION)


@patterns.named("a tick with nothing due")
def _tick(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.whole_tick()


@patterns.named("a tick with three runs due")
def _busy_tick(meter: Meter) -> None:
    world = threaded()
    world.agent()
    for n in range(3):
        world.chat(HUSAM, COACH, chat_id=f"chat_{n}")
        world.post("Hi", HUSAM, chat_id=f"chat_{n}")
    world.clock.advance(120)
    with meter(world):
        world.tick()
