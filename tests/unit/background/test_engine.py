"""The background engine: what holds for every task, and the order of one task's questions."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest

from skein.errors import ModelRejected, NotFound, Unavailable
from skein.models.common.storage import Update, Write
from skein.models.outbox.jobs import UpkeepJob
from skein.models.runs.completion import ModelAnswer, ModelMessage, ModelRequest, TokenUsage
from skein.services.background.engine import (
    BackgroundEngine,
    Failure,
    Outcome,
    Overtaken,
    Question,
    Task,
    TooMuch,
    UnusableAnswer,
)
from skein.settings import Settings
from tests.support.background import DUE_TASKS, DueTask
from tests.support.builders import NOON, TENANT, World

HOUR, DAY = 3_600, 86_400
CLAIMS = {"busy_until", "summary_state", "title_state"}
LATE = {"core": ["Late."], "promote": [], "lines": ["Late."] * 2, "summary": "Late.", "title": "L"}
LATE |= {"shows": "Late."}
BUDGET = Settings(background_tokens_per_day=1_000)
FAILURES = [Unavailable("503"), ModelRejected("no"), "not JSON", "", "[]", "{}"]

each_task = pytest.mark.parametrize("due", DUE_TASKS, ids=lambda due: due.task.__name__)


# ---------------------------------------------------------------------- every task


@each_task
def test_job_asks_once_and_its_repetition_asks_no_more(due: DueTask) -> None:
    world = due.world()
    due.work(world)
    assert due.done(world)
    due.work(world)
    assert len(due.questions(world)) == 1


@each_task
def test_first_question_is_asked_however_little_time_is_left(due: DueTask) -> None:
    world = due.world()
    due.work(world, seconds=1)
    assert due.done(world)


@each_task
def test_answer_counts_against_the_budget_of_the_day(due: DueTask) -> None:
    world = due.world(settings=Settings(background_tokens_per_day=15))
    due.work(world)
    assert world.app.usage.of_day(TENANT).answers == 1
    assert world.app.background_engine.budget.spent(TENANT)


@each_task
def test_task_over_the_budget_asks_nothing_and_loses_nothing(due: DueTask) -> None:
    world = due.world(settings=BUDGET)
    usage = TokenUsage(input_tokens=900, output_tokens=100)
    world.app.usage.add(TENANT, usage, spread_by="elsewhere", background=True)
    due.work(world)
    assert due.questions(world) == []
    assert world.metrics.counts["BackgroundOverBudget"] == 1
    assert due.task.failures not in world.metrics.counts
    world.clock.advance(DAY)
    due.work(world)
    assert due.done(world)


@each_task
def test_task_waits_for_the_end_of_a_pause(due: DueTask) -> None:
    world = due.world()
    world.app.pauses.switch(TENANT, "background", on=True)
    due.work(world)
    assert due.questions(world) == []
    world.app.pauses.switch(TENANT, "background", on=False)
    world.clock.advance(2 * HOUR)
    due.work(world)
    assert due.done(world)


@each_task
@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_failure_is_counted_once_and_a_later_attempt_succeeds(due: DueTask, failure: Any) -> None:
    world = due.world(failure)
    due.work(world)
    assert not due.done(world)
    assert world.metrics.counts[due.task.failures] == 1
    world.clock.advance(DAY)
    due.work(world)
    assert due.done(world)


@each_task
def test_of_two_workers_one_stores_its_answer(due: DueTask) -> None:
    world = due.world()

    def meanwhile(_: ModelRequest) -> str:
        due.work(world)
        return due.answer

    due.script(world).appendleft(meanwhile)
    due.work(world)
    assert due.done(world)
    assert len(due.questions(world)) == (1 if due.leased else 2)


@each_task
def test_of_two_workers_that_claim_at_once_one_asks(
    due: DueTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = due.world()
    write, waiting = world.table.write, [due.work]

    def meanwhile(one: Write) -> None:
        if waiting and isinstance(one, Update) and not CLAIMS.isdisjoint(one.set):
            waiting.pop()(world)
        write(one)

    monkeypatch.setattr(world.table, "write", meanwhile)
    due.work(world)
    assert bool(waiting) is not due.leased
    assert len(due.questions(world)) == 1


@each_task
def test_worker_that_comes_back_too_late_stores_nothing(due: DueTask) -> None:
    world = due.world()

    def late(_: ModelRequest) -> str:
        world.clock.advance(DAY)
        due.work(world)
        return json.dumps(LATE)

    due.script(world).appendleft(late)
    due.work(world)
    assert due.done(world)


@each_task
def test_job_of_nothing_stored_does_nothing(due: DueTask) -> None:
    world = due.world()
    elsewhere = due.job.model_copy(update={"tenant": "other"})
    world.work(due.of(world), elsewhere)
    assert due.questions(world) == []
    assert world.metrics.counts[due.task.failures] == 0


# ---------------------------------------------------------------------- the order of questions


class Numbers(Task[UpkeepJob, list[str], range, int]):
    """A task that asks about numbers; each answer is a limit on how many may be written."""

    name: ClassVar[str] = "numbers"
    failures: ClassVar[str] = "NumbersFailed"
    seconds: ClassVar[int] = 60
    answer_tokens: ClassVar[int] = 9

    def __init__(self, *series: Sequence[range], claims: bool = True) -> None:
        self.series = series
        self.claims = claims
        self.log: list[str] = []
        self.outcome: Outcome | None = None

    def claim(self, job: UpkeepJob, until: datetime) -> list[str] | None:
        if job.chat_id == "chat_gone":
            raise NotFound("gone")
        return self.log if self.claims else None

    def read(self, claim: list[str]) -> Iterator[Iterator[range]]:
        for number, batches in enumerate(self.series):
            yield self._batches(claim, number, batches)

    def _batches(self, claim: list[str], number: int, batches: Sequence[range]) -> Iterator[range]:
        yield from batches
        claim.append(f"end of {number}")

    def question(self, claim: list[str], batch: range) -> Question[int]:
        asked = ModelMessage(role="user", content=str([*batch]))
        return Question("m", (asked,), {}, "agt_a", "spread", self.parse)

    def parse(self, answer: ModelAnswer) -> int:
        if not answer.text.isdigit():
            raise UnusableAnswer("no number")
        return int(answer.text)

    def write(self, claim: list[str], batch: range, answer: int, usage: TokenUsage) -> None:
        if answer == 0:
            raise Overtaken("somebody was faster")
        if len(batch) > answer:
            raise TooMuch("too many")
        claim.append(f"{[*batch]} for {usage.input_tokens}")

    def halves(self, batch: range) -> Sequence[range]:
        middle = len(batch) // 2
        return (batch[:middle], batch[middle:]) if middle else ()

    def fail(self, claim: list[str], batch: range, failure: Failure) -> None:
        claim.append(f"{[*batch]} failed: {failure.why} for {failure.usage.input_tokens}")

    def release(self, claim: list[str], outcome: Outcome) -> None:
        self.outcome = outcome


def played(task: Numbers, *said: Any, seconds: float = 900, chat_id: str = "chat_1") -> World:
    """A world in which the engine has carried out the task; the model said that."""
    world = World()
    world.model.summaries.extend(said)
    engine: BackgroundEngine = world.app.background_engine
    job = UpkeepJob(tenant=TENANT, chat_id=chat_id)
    engine.run(task, job, deadline=NOON + timedelta(seconds=seconds))
    return world


def test_batches_are_asked_about_in_order_series_after_series() -> None:
    task = Numbers([range(1), range(1, 2)], [range(2, 3)])
    played(task, "9", "9", "9")
    assert task.log == ["[0] for 10", "[1] for 10", "end of 0", "[2] for 10", "end of 1"]
    assert task.outcome == Outcome()


def test_batch_that_yields_too_much_is_halved_and_its_cost_goes_to_the_first_half() -> None:
    task = Numbers([range(4)])
    played(task, "1", "1", "1", "1", "2")
    assert task.log == ["[0] for 30", "[1] for 10", "[2, 3] for 10", "end of 0"]


def test_batch_that_cannot_be_halved_fails() -> None:
    task = Numbers([range(2)])
    task.halves = lambda _: ()  # type: ignore[method-assign,assignment]
    played(task, "1")
    assert task.log == ["[0, 1] failed: too many for 10"]


@pytest.mark.parametrize(
    ("said", "why"), [(Unavailable("503"), "Unavailable for 0"), ("words", "no number for 10")]
)
def test_failure_ends_its_series_and_no_other(said: Any, why: str) -> None:
    task = Numbers([range(2), range(2, 3)], [range(3, 4)])
    world = played(task, said, "9")
    assert task.log == [f"[0, 1] failed: {why}", "[3] for 10", "end of 1"]
    assert world.metrics.counts["NumbersFailed"] == 1


def test_worker_that_was_overtaken_records_no_failure_and_goes_to_the_next_series() -> None:
    task = Numbers([range(2)], [range(3, 4)])
    world = played(task, "0", "9")
    assert task.log == ["[3] for 10", "end of 1"]
    assert world.metrics.counts["NumbersFailed"] == 0


def test_second_question_needs_time_for_its_answer() -> None:
    task = Numbers([range(1), range(1, 2)])
    played(task, "9", "9", seconds=79)
    assert task.log == ["[0] for 10"]
    assert task.outcome == Outcome(out_of_time=True)


@pytest.mark.parametrize("chat_id", ["chat_1", "chat_gone"])
def test_nothing_is_asked_without_a_claim(chat_id: str) -> None:
    task = Numbers([range(1)], claims=False)
    played(task, chat_id=chat_id)
    assert task.log == []
    assert task.outcome is None
