"""Summaries, what keeps them up to date, and borrowing."""

from functools import partial

from skein.agent.sections.participants import names_in
from skein.agent.tools import TOOLS
from skein.interface.tool_context import Activation, ToolContext
from skein.models.outbox.jobs import RunJob, SummaryJob, UpkeepJob
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import COACH, HUSAM, claimed, group, threaded
from tests.support.builders import TENANT, World, person

patterns = Patterns()

NOTE = SummaryJob(tenant=TENANT, chat_id="chat_1", agent_id=COACH.id)
TITLE = SummaryJob(tenant=TENANT, chat_id="chat_1", title=True)
RECORD = SummaryJob(tenant=TENANT, chat_id="chat_1")


def spoken(count: int) -> World:
    """A group in which so much was said, and the agent was not woken."""
    world = threaded()
    world.agent(enabled_tools=tuple(TOOLS))
    world.chat(HUSAM, COACH, respond="manual")
    for n in range(count):
        world.post(f"fact {n}", HUSAM)
    return world


def with_sales() -> World:
    """A group, and another one in which something was said."""
    world = group()
    world.chat(person("usr_ann", "Ann"), COACH, chat_id="chat_2", respond="manual")
    world.post("Hi", person("usr_ann", "Ann"), chat_id="chat_2")
    return world


def borrowing(world: World) -> ToolContext:
    """A call of a tool by a run that is at work in the group."""
    claim = claimed(world)
    reading = world.app.reader.read(claim.run, claim.chat, claim.member)
    return ToolContext(
        effect="run_1:1:1",
        activation=Activation(claim),
        reading=reading,
        services=world.app,
        clock=world.clock,
        names=partial(names_in, reading),
    )


@patterns.named("post a message that makes summaries stale")
def _post(meter: Meter) -> None:
    world = spoken(9)
    with meter(world):
        world.post("fact 9", HUSAM)


@patterns.named("renew an agent summary")
def _renew_agent_summary(meter: Meter) -> None:
    world = spoken(10)
    world.chat_elsewhere(HUSAM, COACH)
    with meter(world):
        world.renew(NOTE)


@patterns.named("skip an agent summary that no other chat can show")
def _skip_agent_summary(meter: Meter) -> None:
    world = spoken(10)
    with meter(world):
        world.renew(NOTE)


@patterns.named("make a chat's title")
def _make_title(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.chat(HUSAM, COACH, title=None, respond="manual")
    world.model.titles.append('{"title": "Facts"}')
    for n in range(3):
        world.post(f"fact {n}", HUSAM)
    with meter(world):
        world.renew(TITLE)


@patterns.named("renew a chat summary")
def _renew_chat_summary(meter: Meter) -> None:
    world = spoken(10)
    with meter(world):
        world.renew(RECORD)


@patterns.named("skip an agent summary within its cooldown")
def _refuse_agent_summary(meter: Meter) -> None:
    world = spoken(10)
    world.chat_elsewhere(HUSAM, COACH)
    world.renew(NOTE)
    with meter(world):
        world.renew(NOTE)


@patterns.named("skip a chat summary within its cooldown")
def _refuse_chat_summary(meter: Meter) -> None:
    world = spoken(10)
    world.renew(RECORD)
    with meter(world):
        world.renew(RECORD)


@patterns.named("upkeep of a chat of two")
def _upkeep(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id="chat_1"))


@patterns.named("upkeep of a chat with stale summaries")
def _upkeep_behind(meter: Meter) -> None:
    world = spoken(10)
    world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id="chat_1"))
    with meter(world):
        world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id="chat_1"))


@patterns.named("borrow another chat's messages")
def _borrow(meter: Meter) -> None:
    world = with_sales()
    call = borrowing(world)
    with meter(world):
        TOOLS["borrow_context"].function(call, chat_id="chat_2")


@patterns.named("a whole turn with borrowed context")
def _borrowed_turn(meter: Meter) -> None:
    world = with_sales()
    call = borrowing(world)
    TOOLS["borrow_context"].function(call, chat_id="chat_2")
    world.app.completion.end(call.activation.claim, "done")
    world.queues.ready("turns")
    world.post("And now?", HUSAM)
    world.clock.advance(2)
    job = world.queues.ready("turns")[-1]
    assert isinstance(job, RunJob)
    with meter(world):
        world.take(job)
    assert "BORROWED CONTEXT" in world.model.prompt
