"""What the patterns stand on: small worlds and a run that is claimed."""

from typing import Any

from skein.adapters.parallel import map_threads
from skein.agent.reading.reader import prefetch_keys
from skein.models.outbox.jobs import RunJob
from skein.services.runs.claim import Claim
from tests.support.builders import INVOCATION, World, bot, person

HUSAM = person()
COACH, ANALYST = bot(), bot("agt_b", "Analyst")


def threaded(**options: Any) -> World:
    """A world that makes calls at the same time with threads, as everywhere but in tests."""
    return World(overrides={"parallel_map": map_threads}, **options)


def group(*script: Any, respond: str = "every", **fields: Any) -> World:
    world = threaded()
    world.model.script.extend(script)
    world.agent(**fields)
    world.chat(HUSAM, COACH, respond=respond)
    return world


def direct(*, consolidate: bool | None = False, respond: str = "every", **fields: Any) -> World:
    world = threaded()
    world.agent(**fields)
    chat: dict[str, Any] = {"consolidate": consolidate, "respond": respond}
    world.chat(HUSAM, COACH, kind="direct", visibility="private", **chat)
    return world


def job_of(world: World) -> RunJob:
    """The first run's job that was ever sent."""
    jobs = [waiting.job for waiting in world.queues.sent if isinstance(waiting.job, RunJob)]
    return jobs[0]


def claimed(world: World) -> Claim:
    """A claim on the run of a message that was just posted."""
    world.post("What now?", HUSAM)
    job, lease_until = job_of(world), world.clock.now() + INVOCATION
    claim = world.app.leases.claim(job, lease_until=lease_until, also_read=prefetch_keys(job))
    assert claim is not None
    return claim
