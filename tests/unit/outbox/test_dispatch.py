"""Dispatch: jobs get their hops, and a job beyond the limit is left to the tick."""

from collections.abc import Sequence

import pytest

from skein.errors import Unavailable
from skein.models.outbox.jobs import Job, RunJob, UpkeepJob
from skein.services.outbox.dispatch import MAX_HOPS, Dispatch, handling
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues
from tests.support.builders import NOON, TENANT

RUN = RunJob(tenant=TENANT, run_id="run_1", agent_id="agt_a")
UPKEEP = UpkeepJob(tenant=TENANT, chat_id="chat_1")


class Outbox:
    def __init__(self) -> None:
        self.queues = MemoryQueues(FixedClock(NOON))
        self.metrics = MemoryMetrics()
        self.dispatch = Dispatch(queues=self.queues, metrics=self.metrics)

    @property
    def hops(self) -> list[int]:
        return [waiting.job.hops for waiting in self.queues.sent]


def test_send_outside_of_a_job_gives_no_hops() -> None:
    outbox = Outbox()
    outbox.dispatch.send([RUN.model_copy(update={"hops": 7})])
    assert outbox.hops == [0]


def test_send_within_a_job_gives_one_hop_more_than_that_job_has() -> None:
    outbox = Outbox()
    with handling(MAX_HOPS - 1):
        outbox.dispatch.send([RUN, UPKEEP])
    assert outbox.hops == [MAX_HOPS, MAX_HOPS]
    assert not outbox.metrics.counts


def test_send_beyond_the_limit_leaves_the_jobs_to_the_tick(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outbox = Outbox()
    jobs: list[Job] = [RUN, UPKEEP]
    with handling(MAX_HOPS):
        outbox.dispatch.send(jobs)
    assert not outbox.hops
    assert outbox.metrics.counts == {"HopLimitReached": 2}
    assert caplog.messages == ["hop limit reached, jobs left to the tick"] * 2


def test_send_to_queue_that_is_down_raises_nothing_and_is_counted() -> None:
    class Down(MemoryQueues):
        def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
            raise Unavailable("the queue is down")

    outbox = Outbox()
    dispatch = Dispatch(queues=Down(FixedClock(NOON)), metrics=outbox.metrics)
    try:
        dispatch.send([RUN, UPKEEP])
    except Unavailable:
        pytest.fail("the work is committed, so its caller must not fail")
    assert outbox.metrics.counts == {"JobsNotSent": 2}


def test_job_of_an_older_version_has_no_hops() -> None:
    assert RunJob.model_validate_json(RUN.model_dump_json(exclude={"hops"})) == RUN
