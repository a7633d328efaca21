"""Worlds on the DynamoDB engine, whose threads really race."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from skein.adapters.dynamodb.table import DynamoTable
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run
from skein.services.runs.claim import Claim
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryQueues
from tests.support.builders import NOON, TENANT, World, bot, person, statuses
from tests.support.engine import TABLE_NAME
from tests.support.fakes import ScriptedModel

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HUSAM = person()
T = TypeVar("T")


class PatientClock(FixedClock):
    """Stands still, but lets those who lost a race really give way."""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class RandomIds:
    """Ids that no other test on the same table has."""

    def ulid(self) -> str:
        return uuid4().hex[:26]

    def digits(self, length: int) -> str:
        return str(uuid4().int)[-length:]


class Rivals(World):
    """A world on the engine, with a chat and an agent of its own."""

    def __init__(self, client: "DynamoDBClient", model: ScriptedModel | None = None) -> None:
        clock = PatientClock(NOON)
        table = DynamoTable(client, TABLE_NAME, clock)
        queues = MemoryQueues(clock)
        super().__init__(
            Settings(reply_debounce_seconds=0),
            model or ScriptedModel.saying(default="Hello!"),
            {"clock": clock, "table": table, "queues": queues, "ids": RandomIds()},
        )
        self.clock, self.queues = clock, queues
        self.table = table  # type: ignore[assignment]
        self.coach = bot(f"agt_{uuid4().hex}")
        self.agent(self.coach.id)
        self.here = f"chat_{uuid4().hex}"
        self.chat(HUSAM, self.coach, chat_id=self.here)

    def say(self, text: str, client_id: str | None = None) -> int:
        """Let Husam say something; returns its number."""
        named = client_id or uuid4().hex
        return self.post(text, HUSAM, client_id=named, chat_id=self.here).message.seq

    def claim(self, run: Run) -> Claim | None:
        job = RunJob(tenant=TENANT, run_id=run.id, agent_id=run.agent_id)
        return self.app.leases.claim(job, lease_until=self.clock.now() + timedelta(seconds=122))

    def work_off(self) -> None:
        """Play all jobs and, when there are none, what the tick finds, until all runs are over."""
        for _ in range(20):
            while self.run_ready():
                pass
            if all(run.ended for run in self.runs(self.here)):
                return
            self.clock.advance(61)
            self.tick()
        raise AssertionError(statuses(self.runs(self.here)))


def at_once(*deeds: Callable[[], T]) -> list[T]:
    """Do all of them at the same time."""
    with ThreadPoolExecutor(len(deeds)) as pool:
        return [done.result() for done in [pool.submit(deed) for deed in deeds]]
