"""The tasks of the background engine, each with something that is due."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from skein.media.describing import DescriptionTask
from skein.memory.consolidation import ConsolidationTask
from skein.memory.models.memory import JOURNAL_DAYS
from skein.memory.reflection import ReflectionTask
from skein.models.chats.summary import Summary
from skein.models.outbox.jobs import ConsolidationJob, Job, MediaJob, ReflectionJob, SummaryJob
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.ownership import Owner
from skein.services.background.engine import Task
from skein.settings import Settings
from skein.summaries.agent_summary import AgentSummaries
from skein.summaries.chat_summary import ChatSummaries
from skein.summaries.chat_title import ChatTitles
from tests.support.builders import TENANT, World, bot, person
from tests.support.media import send_file

HUSAM, COACH = person(), bot()


def _spoken(world: World, texts: int) -> None:
    world.agent()
    world.chat(HUSAM, COACH, title=None, respond="manual", consolidate=True)
    world.chat_elsewhere(HUSAM, COACH)
    for n in range(texts):
        world.post(f"fact {n}", HUSAM)
    world.queues.sent.clear()


def _idle(world: World) -> None:
    _spoken(world, 1)
    world.clock.advance(7 * 3_600)


def _text(summary: Summary | None) -> str | None:
    return summary.text if summary is not None else None


def _fading(world: World) -> None:
    world.agent()
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    world.app.memories.add(owner, "Husam runs.", "journal", made_by="tool")
    world.clock.advance(timedelta(days=JOURNAL_DAYS - 2).total_seconds())


def _pictured(world: World) -> None:
    _spoken(world, 0)
    send_file(world, HUSAM, width=64, height=64)
    world.queues.sent.clear()


@dataclass(frozen=True)
class DueTask:
    """A task, and a world in which it has one question to ask.

    Attributes:
        task: Its class.
        of: Returns the task of a world.
        job: The job.
        prepare: Makes something due.
        answer: An answer of which something is kept.
        script: Returns what the model says to the task's questions.
        questions: Returns the questions that were asked.
        done: Tells whether this answer was stored, and no other.
        leased: Whether one worker at a time asks.
    """

    task: type[Task[Any, Any, Any, Any]]
    of: Callable[[World], Task[Any, Any, Any, Any]]
    job: Job
    prepare: Callable[[World], None]
    answer: str
    script: Callable[[World], deque[Any]]
    questions: Callable[[World], list[ModelRequest]]
    done: Callable[[World], bool]
    leased: bool = True

    def world(self, *said: Any, settings: Settings | None = None) -> World:
        """Return the world; the model says `said` first, and then the answer."""
        world = World(settings or Settings())
        self.prepare(world)
        self.script(world).extend([*said, *[self.answer] * 9])
        return world

    def work(self, world: World, *, seconds: float = 900) -> None:
        """Play the job."""
        world.work(self.of(world), self.job, seconds=seconds)


SUMMARY = SummaryJob(tenant=TENANT, chat_id="chat_1")
DUE_TASKS = (
    DueTask(
        task=DescriptionTask,
        of=lambda world: world.app.description,
        job=MediaJob(tenant=TENANT, chat_id="chat_1", media_id="med_1"),
        prepare=_pictured,
        answer='{"shows": "A shoe."}',
        script=lambda world: world.model.descriptions,
        questions=lambda world: world.model.description_requests,
        done=lambda world: [m.description for m in world.messages()[-1].media] == ["A shoe."],
    ),
    DueTask(
        task=ConsolidationTask,
        of=lambda world: world.app.consolidation,
        job=ConsolidationJob(tenant=TENANT, chat_id="chat_1"),
        prepare=_idle,
        answer='{"journal": [], "core": ["Husam runs."]}',
        script=lambda world: world.model.memories,
        questions=lambda world: world.model.memory_requests,
        done=lambda world: [m.text for m in world.memories()] == ["Husam runs."],
    ),
    DueTask(
        task=ReflectionTask,
        of=lambda world: world.app.reflection,
        job=ReflectionJob(tenant=TENANT, agent_id=COACH.id),
        prepare=_fading,
        answer='{"promote": [1]}',
        script=lambda world: world.model.reflections,
        questions=lambda world: world.model.reflection_requests,
        done=lambda world: [m.kind for m in world.memories() if m.live] == ["core"],
        leased=False,
    ),
    DueTask(
        task=AgentSummaries,
        of=lambda world: world.app.summary_tasks.agent_summaries,
        job=SUMMARY.model_copy(update={"agent_id": COACH.id}),
        prepare=lambda world: _spoken(world, 2),
        answer='{"lines": ["One.", "Two."]}',
        script=lambda world: world.model.summaries,
        questions=lambda world: world.model.summary_requests,
        done=lambda world: _text(world.membership(COACH).summary) == "One.\nTwo.",
    ),
    DueTask(
        task=ChatSummaries,
        of=lambda world: world.app.summary_tasks.chat_summaries,
        job=SUMMARY,
        prepare=lambda world: _spoken(world, 10),
        answer='{"summary": "Ten facts."}',
        script=lambda world: world.model.summaries,
        questions=lambda world: world.model.summary_requests,
        done=lambda world: _text(world.stored_chat().summary) == "Ten facts.",
    ),
    DueTask(
        task=ChatTitles,
        of=lambda world: world.app.summary_tasks.chat_titles,
        job=SUMMARY.model_copy(update={"title": True}),
        prepare=lambda world: _spoken(world, 3),
        answer='{"title": "Facts"}',
        script=lambda world: world.model.titles,
        questions=lambda world: world.model.title_requests,
        done=lambda world: world.stored_chat().title == "Facts",
    ),
)
