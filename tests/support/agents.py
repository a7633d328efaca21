"""Agents that act through tools, and what tests look at once they have."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from skein.agent.tools import TOOLS
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import Query
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run, RunStatus
from skein.models.runs.step import Step, ToolResult
from skein.models.runs.trigger import Trigger
from skein.services.runs.background_runs import agent_run
from skein.settings import Settings
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import Calls, MeanwhileTable, Script, ScriptedModel, calls, says

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
COACH = bot()
DESIGNER = bot("agt_b", "Designer")

END: Calls = calls("end_run")
ASKED_AGAIN: dict[str, Any] = {"continue": True}  # arguments of a call after which the run goes on


def stage(*script: Script, settings: Settings | None = None, **agent: Any) -> World:
    """A world with a rival's table, in which the agent Coach has all tools; it ends by itself."""
    world = World(
        settings or Settings(),
        ScriptedModel.saying(*script, default=END),
        {"table": MeanwhileTable()},
    )
    world.table = rival(world)
    actor(world, **agent)
    return world


def actor(world: World, who: NamedMember = COACH, **fields: Any) -> None:
    """An agent that acts through tools and has all of them."""
    manner = {"reply_mode": "tools", "history_format": "timeline", "enabled_tools": tuple(TOOLS)}
    world.agent(who.id, who.name, **(manner | fields))


def rival(world: World) -> MeanwhileTable:
    """The world's table, which lets something happen just before a transaction."""
    table = world.app.ports.table
    assert isinstance(table, MeanwhileTable)
    return table


def job_of(run: Run) -> RunJob:
    return RunJob(tenant=TENANT, run_id=run.id, agent_id=run.agent_id)


def steps_of(world: World, run: Run) -> list[Step]:
    first, last = f"{run.key.sk}#STEP#", f"{run.key.sk}#STEP#~"
    page = world.table.query(Query(run.key.pk, first=first, last=last))
    return [Step.from_item(item) for item in page.items]


def results_of(world: World, run: Run) -> list[ToolResult]:
    return [result for step in steps_of(world, run) for result in step.results or ()]


def stored(world: World, run: Run) -> Run:
    item = world.table.get(run.key)
    assert item is not None
    return Run.from_item(item)


def the_run(world: World, status: RunStatus | None = None, chat_id: str = "chat_1") -> Run:
    [run] = [run for run in world.runs(chat_id) if status in {None, run.status}]
    return run


def slots(world: World, who: MemberRef = COACH, chat_id: str = "chat_1") -> tuple[Any, ...]:
    """What of an agent is at work, to start, to go on, and waiting in a chat."""
    membership = world.membership(MemberRef(kind=who.kind, id=who.id), chat_id)
    queued = membership.queued_run.run_id if membership.queued_run else None
    return (
        membership.running_run,
        queued,
        membership.resuming,
        membership.wait.run_id if membership.wait else None,
    )


FREE = (None, None, (), None)


def asked_by_service(world: World, cause: str = "1", **fields: Any) -> Run:
    """A run without a chat, as a plan or service starts one."""
    trigger = fields.pop("trigger", None) or Trigger(type="service")
    started = agent_run(
        tenant=TENANT,
        agent_id=COACH.id,
        trigger=trigger,
        cause=(cause,),
        now=world.clock.now(),
        **fields,
    )
    world.table.transact(list(started.writes))
    world.queues.send([started.job])
    return started.run


def live_pointers(world: World) -> int:
    agent = f"{TENANT}#AGENT#{COACH.id}"
    return len(world.table.query(Query.under(agent, "LIVE#")).items)


ASK = says("Shall I?", wait=True)
ASK_SALES = says("Figures?", wait=True, chat_id="chat_2")


def settle(world: World) -> None:
    """Play what is due within the next seconds, not the time-outs that lie minutes ahead."""
    for _ in range(20):
        world.clock.advance(2)
        if not world.run_ready():
            return
    raise AssertionError("it never comes to rest")


def waiting_here(*script: Script, **agent: Any) -> World:
    """Husam has said something, and the agent has asked back and waits."""
    return _continued(_asking_here(), script, agent)


@cache
def _asking_here() -> World:
    world = stage(ASK)
    world.chat(HUSAM, AHMAD, COACH)
    world.post("Publish", HUSAM)
    settle(world)
    return world


def waiting_elsewhere(*script: Script, **agent: Any) -> World:
    """Husam has said something in one chat, and the agent has asked back in another."""
    return _continued(_asking_elsewhere(), script, agent)


@cache
def _asking_elsewhere() -> World:
    world = stage(ASK_SALES)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", title="Sales")
    world.post("Pull the numbers", HUSAM)
    settle(world)
    return world


def _continued(first: World, script: Sequence[Script], agent: Mapping[str, Any]) -> World:
    """A copy of a world, in which the agent has these fields from now on."""
    world = stage(*script).continue_from(first)
    world.model.requests.extend(first.model.requests)
    actor(world, **agent)
    return world


def assert_resumed(run: Run, status: str, seq: int | None = None, chat_id: str = "chat_1") -> None:
    assert run.resumed is not None
    assert (run.resumed.status, run.resumed.seq, run.resumed.chat_id) == (status, seq, chat_id)
