"""Reading a context fails or takes too long: the agent answers from the current message alone."""

from collections.abc import Callable
from typing import Any

import pytest

from skein.errors import Throttled, Unavailable
from skein.interface.reading import READ_SECONDS
from skein.models.common.storage import Item, Key, Page, Query
from skein.models.outbox.jobs import Job, RecallJob, RunJob
from skein.models.runs.run import Run
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.agents import COACH, DESIGNER, HUSAM, asked_by_service, job_of, the_run
from tests.support.builders import NOON, TENANT, World, statuses
from tests.support.fakes import Killed, Script, ScriptedModel, says
from tests.support.timeline_parser import timeline

WELL_AFTER_SECONDS = 30


class SickTable(MemoryTable):
    """A table of which the reads that only contexts need can be made sick, and others, too.

    Attributes:
        sick: Called before a context's look into the index.
        very_sick: Called before any batch is read.
        looks: How often the index was really asked.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sick: Callable[[], object] | None = None
        self.very_sick: Callable[[], object] | None = None
        self.looks = 0

    def query(self, query: Query) -> Page:
        if query.index == "gsi1":
            self.looks += 1
            if self.sick is not None:
                self.sick()
        return super().query(query)

    def get_many(self, keys: Any, *, consistent: bool = True) -> dict[Key, Item]:
        if self.very_sick is not None:
            self.very_sick()
        return super().get_many(keys, consistent=consistent)


class Ward(World):
    """A world on a table that can be sick."""

    sick_table: SickTable

    def handle(self, job: Job) -> None:
        """Play a job; only runs meet the sick table."""
        table = self.sick_table
        ills = table.sick, table.very_sick, table.looks
        if not isinstance(job, RunJob):
            table.sick = table.very_sick = None
        super().handle(job)
        if not isinstance(job, RunJob):
            table.sick, table.very_sick, table.looks = ills

    @property
    def prompt_marks(self) -> list[tuple[str, ...]]:
        """What was noted of each run's newest prompt, in order."""
        views = [self.app.run_views.get(TENANT, run.id) for run in self.runs()]
        return [view.prompt.marks if view.prompt else () for view in views]

    def fall_sick(self, error: Exception) -> None:
        def fail() -> None:
            raise error

        self.sick_table.sick = fail

    def recover(self) -> None:
        self.sick_table.sick = None
        self.clock.advance(WELL_AFTER_SECONDS)


def ward(*script: Script, settings: Settings | None = None) -> Ward:
    table = SickTable()
    model = ScriptedModel.saying(*script, default="Noted.")
    world = Ward(settings or Settings(), model, {"table": table})
    world.table = world.sick_table = table
    return world


def direct(*script: Script, settings: Settings | None = None) -> Ward:
    """A direct chat in which two messages were answered already."""
    world = ward(*script, settings=settings)
    world.agent(system_prompt="Be kind.")
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    for text in ("My back hurts", "Since Monday"):
        world.post(text, HUSAM)
        world.drain()
    return world


def words(world: World) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in world.model.requests[-1].messages]


# ---------------------------------------------------------------------- the answer


@pytest.mark.parametrize(
    "error", [Unavailable("down"), Throttled("slow down"), ValueError("an item nobody can read")]
)
def test_when_the_context_cannot_be_read_the_current_message_is_answered(error: Exception) -> None:
    world = direct("a", "b", "Try a walk.")
    world.fall_sick(error)
    world.post("What should I do?", HUSAM)
    world.drain()

    assert world.texts()[-1] == "Try a walk."
    (first, head), (second, tail), *said = words(world)
    assert (first, second, said) == (
        "system",
        "system",
        [("user", "[Husam (human)] What should I do?")],
    )
    assert head.startswith("IDENTITY")
    assert "Be kind." in head
    assert "\n\nINSTRUCTIONS" in head
    assert tail.startswith("NOW")
    assert "back" not in f"{head}{tail}"


def test_burst_without_context_is_answered_whole() -> None:
    world = direct()
    world.fall_sick(Unavailable("down"))
    for text in ("I can't eat nuts.", "And no milk.", "What should I eat?"):
        world.post(text, HUSAM)
    world.drain()
    assert [content for role, content in words(world) if role == "user"] == [
        "[Husam (human)] I can't eat nuts.",
        "[Husam (human)] And no milk.",
        "[Husam (human)] What should I eat?",
    ]
    assert "back" not in str(words(world))
    assert world.membership(COACH).seen_seq == 7


def test_long_burst_without_context_answers_the_newest_twenty_messages() -> None:
    world = direct()
    world.fall_sick(Unavailable("down"))
    for number in range(1, 26):
        world.post(f"Text {number}", HUSAM)
    world.drain()
    said = [content for role, content in words(world) if role == "user"]
    assert said == [f"[Husam (human)] Text {number}" for number in range(6, 26)]
    assert world.membership(COACH).seen_seq == 3, "the first five stay new"


def test_run_without_context_is_marked_and_counted() -> None:
    world = direct()
    world.fall_sick(Unavailable("down"))
    world.post("What should I do?", HUSAM)
    world.drain()
    world.recover()
    world.post("And now?", HUSAM)
    world.drain()

    assert [run.marks for run in world.runs()] == [(), (), ("context_unavailable",), ()]
    assert world.prompt_marks == [(), (), ("context_unavailable",), ()]
    assert statuses(world.runs()) == ["done"] * 4
    assert world.metrics.counts["ContextDegraded"] == 1
    assert world.metrics.counts["RunAttemptsFailed"] == 0
    assert "My back hurts" in str(words(world)), "the next prompt is whole again"


@pytest.mark.parametrize(("seconds", "marks"), [(1.5, ()), (1.6, ("context_unavailable",))])
def test_run_with_slow_context_answers_without_it(seconds: float, marks: tuple[str, ...]) -> None:
    world = direct("a", "b", "Try a walk.")
    looks = iter([seconds])  # the first of two, which are parallel
    world.sick_table.sick = lambda: world.clock.advance(next(looks, 0))
    world.post("What should I do?", HUSAM)
    world.drain()
    assert world.texts()[-1] == "Try a walk."
    assert world.runs()[-1].marks == marks
    assert world.metrics.counts["ContextDegraded"] == len(marks)


def test_context_read_within_its_time_is_whole() -> None:
    world = direct("a", "b", "Try a walk.")
    looks = iter([READ_SECONDS])
    world.sick_table.sick = lambda: world.clock.advance(next(looks, 0))
    world.post("What should I do?", HUSAM)
    world.drain()
    assert world.runs()[-1].marks == ()


def test_timeline_of_a_group_in_a_degraded_prompt_has_the_unanswered_messages_only() -> None:
    world = ward()
    world.agent(reply_mode="tools", history_format="timeline")
    world.chat(HUSAM, DESIGNER, COACH)
    world.post("Before", HUSAM)
    world.drain()
    world.model.requests.clear()
    for text in ("One", "Two"):
        world.post(text, HUSAM)
    world.model.default = says("Here.")
    world.model.script.extend([says("Here."), "done"])
    world.fall_sick(Unavailable("down"))
    world.drain()

    [system] = [m.content for m in world.model.requests[0].messages if m.role == "system"]
    assert [part.split(" (")[0].split(":")[0] for part in system.split("\n\n")] == [
        "IDENTITY",
        "INSTRUCTIONS",
        "TODAY",
        "CHAT HISTORY",
        "NOW",
    ]
    history = next(part for part in system.split("\n\n") if part.startswith("CHAT HISTORY"))
    assert [entry.text for entry in timeline(history)[1]] == ["One", "Two"]
    assert "Here." in world.texts()


def test_plan_in_a_degraded_prompt_has_its_instruction() -> None:
    world = ward("Done.")
    world.agent(reply_mode="tools", history_format="timeline")
    plan = PlanTrigger(
        id="plan_1", name="Daily", instruction="Post the numbers", scheduled_at=NOON, chat_id=None
    )
    run = asked_by_service(world, trigger=Trigger(type="plan", plan=plan))
    world.fall_sick(Unavailable("down"))
    world.drain()
    assert "Post the numbers" in world.model.prompt
    assert "TRIGGER" in world.model.prompt
    item = world.table.get(run.key)
    assert item is not None
    assert Run.from_item(item).marks == ("context_unavailable",)


# ---------------------------------------------------------------------- what is not answered so


def test_run_without_message_and_context_is_retried_until_context_is_available() -> None:
    world = direct()
    asked = len(world.model.requests)
    world.fall_sick(Unavailable("down"))
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref, agent_id="agt_a")
    world.run_ready()
    assert len(world.model.requests) == asked
    assert world.runs()[-1].status == "running"
    world.recover()
    world.drain()
    assert world.runs()[-1].status == "done"
    assert world.runs()[-1].marks == ()
    assert "My back hurts" in str(words(world))


def test_run_whose_message_cannot_be_read_is_retried() -> None:
    world = direct()
    asked = len(world.model.requests)
    batches = iter([None, Unavailable("down"), None])

    def fail() -> None:
        error = next(batches, None)
        if error is not None:
            raise error

    world.fall_sick(Unavailable("down"))
    world.post("What should I do?", HUSAM)
    world.sick_table.very_sick = fail
    world.clock.advance(5)
    world.run_ready()
    assert len(world.model.requests) == asked
    assert world.metrics.counts["RunAttemptsFailed"] == 1
    world.recover()
    world.drain()
    assert world.runs()[-1].marks == ()
    assert world.runs()[-1].status == "done"


def test_run_of_deleted_agent_without_context_is_canceled() -> None:
    world = direct()
    world.post("Hello?", HUSAM)
    world.app.agents.delete(TENANT, "agt_a")
    world.queues.take(RecallJob)  # the job that takes the agent out of the index
    world.fall_sick(Unavailable("down"))
    world.drain()
    assert world.runs()[-1].status == "canceled"


def test_a_worker_that_takes_over_a_recorded_answer_needs_the_whole_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is made now is made from the recorded prompt, and is for those who were there for it."""
    world = ward(says("Here."), "done")
    world.agent(reply_mode="tools", history_format="timeline")
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    job = job_of(world.runs()[0])
    world.clock.advance(5)
    with monkeypatch.context() as dying:
        dying.setattr(type(world.app.chats), "post_message", _dies)
        with pytest.raises(Killed):
            world.take(job)
    world.clock.advance(200)
    world.fall_sick(Unavailable("down"))
    world.take(RunJob(tenant=job.tenant, run_id=job.run_id, agent_id=job.agent_id))
    assert world.texts() == ["Hello"], "nothing is said while its audience is unknown"
    world.recover()
    world.tick()
    world.drain()
    assert world.texts() == ["Hello", "Here."]
    assert the_run(world).marks == ()


def _dies(*_: object, **__: object) -> None:
    raise Killed


# ---------------------------------------------------------------------- what counts as seen


def test_message_that_was_not_shown_stays_new() -> None:
    world = ward("One at a time.", "Now I know.")
    world.agent(history_format="timeline")
    world.chat(HUSAM, COACH, respond="mention")
    for text in ("First", "Second", "@Coach Third"):
        world.post(text, HUSAM)
    world.fall_sick(Unavailable("down"))
    world.drain()
    assert world.membership(COACH).seen_seq == 0, "two of three were never shown"
    world.recover()
    world.post("@Coach Fourth", HUSAM)
    world.drain()
    history = next(
        part for part in world.model.prompt.split("\n\n") if part.startswith("CHAT HISTORY")
    )
    assert [(entry.text, entry.seen) for entry in timeline(history)[1]] == [
        ("First", False),
        ("Second", False),
        ("@Coach Third", False),
        ("One at a time.", True),
        ("@Coach Fourth", False),
    ]
    assert world.membership(COACH).seen_seq == 5


def test_shown_messages_are_seen_across_own_messages_and_keywords() -> None:
    world = direct()
    assert world.membership(COACH).seen_seq == 3
    world.post("STOP", HUSAM, kind="keyword")
    world.fall_sick(Unavailable("down"))
    world.post("What should I do?", HUSAM)
    world.drain()
    assert world.membership(COACH).seen_seq == 6


# ---------------------------------------------------------------------- the circuit


def test_after_five_failed_reads_contexts_are_left_alone_and_answers_come_at_once() -> None:
    world = direct()
    world.fall_sick(Unavailable("down"))
    for n in range(5):
        world.post(f"Message {n}", HUSAM)
        world.drain()
    assert world.metrics.counts["CircuitsOpened"] == 1
    looks = world.sick_table.looks
    world.sick_table.sick = None
    world.post("Two", HUSAM)
    world.drain()
    assert world.sick_table.looks == looks, "the circuit is open: nobody looks"
    assert [run.marks for run in world.runs()[2:]] == [("context_unavailable",)] * 6
    assert statuses(world.runs()) == ["done"] * 8, "claims do not wait for the circuit"
    world.clock.advance(WELL_AFTER_SECONDS)
    for text in ("Three", "Four"):
        world.post(text, HUSAM)
        world.drain()
    assert world.runs()[-1].marks == ()
    assert "Two" in str(words(world)), "the next prompt is whole again"
