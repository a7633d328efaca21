"""A day at work of one agent, as `seeds/002` tells it, and the prompts that it is given there."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from skein.agent.tools import offered
from skein.interface.reading import Reading
from skein.models.chats.borrowed import BorrowedContext, BorrowedMessage
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.chats.origin import Origin
from skein.models.chats.summary import PinnedSummary, Summary
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import Put, Update
from skein.models.directory.agent import Agent
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.step import PromptRecord
from skein.models.runs.trigger import PlanTrigger, Resume, ServiceTrigger, Trigger, Wait
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import Authors, MadeFrom, SourceLabel
from skein.workspace.models.document import DocumentReach, Folder
from skein.workspace.models.thread import Thread
from tests.support.builders import TENANT, World, bot, person

HUSAM = person("usr_husam", "Husam")
AHMAD = person("usr_ahmad", "Ahmad")
SARAH = person("usr_sarah", "Sarah")
DESIGNER = bot("agt_designer", "Designer")
ANALYST = bot("agt_analyst", "DataAnalyst")

ALPHA, REPORTS, ONE_TO_ONE = "chat_alpha", "chat_reports", "chat_husam"
THIS_RUN = "01THIS"
OTHER_RUN = run_id_in(REPORTS, "01OTHER")


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-02-18T{clock}+00:00").astimezone(UTC)


def made_by(*people: NamedMember, chat_id: str = ALPHA, title: str = "Project Alpha") -> Owner:
    """The owner of an item that the agent makes of what these people wrote in a chat."""
    label = SourceLabel.of(people, title=title) if people else None
    return Owner(
        tenant=TENANT,
        agent_id=ANALYST.id,
        made_from=MadeFrom.messages(chat_id, 1, 1, [each.id for each in people], label),
        source_chat_id=chat_id,
        source_run_id=run_id_in(chat_id, "0"),
    )


@dataclass
class Scene:
    """Some chats, goals and plans of the agent DataAnalyst, read and built as in real life."""

    agent_fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = World().continue_from(_day())
        self.agent = self._analyst()

    def _analyst(self) -> Agent:
        fields = {
            "system_prompt": "You answer questions about the company's numbers.",
            "time_zone": "Asia/Amman",
            "reply_mode": None,
            "history_format": None,
        }
        return self.world.agent(ANALYST.id, ANALYST.name, **(fields | self.agent_fields))

    def _chats(self) -> None:
        world = self.world
        quiet = {"respond": "manual"}
        world.chat(HUSAM, AHMAD, DESIGNER, ANALYST, chat_id=ALPHA, title="Project Alpha", **quiet)
        world.chat(SARAH, ANALYST, chat_id=REPORTS, title="Daily Reports", **quiet)
        world.chat(HUSAM, ANALYST, chat_id=ONE_TO_ONE, title="1:1 with Husam", **quiet)
        self.say("09:00:00", "The daily numbers are in.", ANALYST, chat_id=REPORTS)
        self.say("14:30:00", "Send the report to the team, please.", HUSAM, chat_id=ONE_TO_ONE)
        origin = Origin(
            chat_id=ONE_TO_ONE,
            chat_title="1:1 with Husam",
            asked_by="Husam",
            asker=HUSAM.ref,
            text="Send the report to the team, please.",
            audience=Audience(open=True),
        )
        self.say("14:31:00", "Here is the Q4 report.", ANALYST, origin=origin)
        self.say("14:50:00", "Let's finalize the Q4 report", HUSAM)
        self.say("14:51:23", "I've updated the charts.", DESIGNER, depth=1)
        self.say("14:55:10", "Looks good. Can you add the revenue breakdown?", AHMAD, reply_to=3)
        self.say("15:06:55", "Pull the Q4 revenue numbers", HUSAM)
        self.mark(ALPHA, seen_seq=3)
        wait = Wait(run_id=OTHER_RUN, seq=1, until=at("15:10:00"))
        self.mark(REPORTS, wait=wait.model_dump(mode="json"))

    def _notes(self) -> None:
        """What it has noted of each chat; nobody has spoken in `REPORTS` for over six hours."""
        notes = {
            ALPHA: "Finishing the Q4 report.\nHusam has yet to name the figures he needs.",
            REPORTS: "The daily numbers are out.\nNothing is open.",
            ONE_TO_ONE: 'Husam wants the Q4 report sent to "the team".\nIt went to Project Alpha.',
        }
        for chat_id, text in notes.items():
            chat = self.world.stored_chat(chat_id)
            note = Summary(
                text=text,
                from_seq=1,
                seq=chat.last_seq,
                audience=chat.readers,
                authors=Authors.in_digests(chat.person_ids),
                at=self.world.clock.now(),
            )
            self.mark(chat_id, summary=note.model_dump(mode="json"))

    def _intents(self) -> None:
        goals, plans = self.world.app.goals, self.world.app.plans
        owner = Owner(tenant=TENANT, agent_id=ANALYST.id)
        operator = owner.model_copy(update={"by_operator": True})
        self.world.clock.set(at("15:00:00"))
        goals.set(operator, text="Complete the Q4 revenue analysis")
        goals.set(made_by(HUSAM), text='Keep the "daily report" going', priority=1, long_term=True)
        done = goals.set(owner, text="Learn where the numbers are")
        goals.end(owner.reach, done.id, "completed")
        self.world.clock.set(at("15:07:00"))
        plans.set(
            owner,
            name="Daily Report",
            instruction="Generate and post the daily metrics summary",
            cron="0 9 * * *",
            time_zone="Asia/Amman",
        )
        plans.set(owner, name="Follow up", instruction="Ask the Designer", run_after="2 hours")
        plans.set(
            owner, name="Launch", instruction="Wish luck", scheduled_at="2026-03-01T08:00:00Z"
        )

    def remember(self) -> None:
        """Let the agent have learnt some things for good, and noted some this week."""
        memories, now = self.world.app.memories, self.world.clock.now()
        ill = "Ahmad was ill this week.\nSarah stands in for him."
        self.world.clock.set(now - timedelta(days=40))
        operator = Owner(tenant=TENANT, agent_id=ANALYST.id, by_operator=True)
        law = "Never show a draft\nto customers."
        memories.add(operator, law, "core", made_by="api", constitutional=True)
        self.world.clock.set(now - timedelta(days=30))
        table = 'Husam calls the revenue breakdown "the table".'
        memories.add(made_by(HUSAM), table, "core", made_by="tool")
        self.world.clock.set(now - timedelta(days=6))
        memories.add(
            made_by(SARAH, chat_id=REPORTS, title="Daily Reports"), ill, "journal", made_by="tool"
        )
        self.world.clock.set(now - timedelta(days=1))
        figures, charts = "Figures are in thousands of euros.", "The charts of Q4 are new."
        memories.add(made_by(HUSAM, AHMAD), figures, "core", made_by="tool")
        memories.add(made_by(), charts, "journal", made_by="tool")
        self.world.clock.set(now)

    def work(self) -> tuple[Thread, Thread]:
        """Let the agent be at the report, with its draft, and have left where revenue is from."""
        owner, folder = (
            Owner(tenant=TENANT, agent_id=ANALYST.id),
            Folder(tenant=TENANT, agent_id=ANALYST.id),
        )
        reach = DocumentReach(folders=(folder,))
        for name, media_type, text in (
            ("report.md", "text/markdown", "# Q4\n\nRevenue: to be filled in\n"),
            ("revenue.csv", "text/csv", "month,revenue\noct,12\nnov,14\n"),
        ):
            self.world.app.documents.write(reach, name, text, new_in=folder, media_type=media_type)
        report = {
            "concern": "The Q4 report",
            "goal": "Husam can send it to the board",
            "kind": "deliverable",
            "documents": ["report.md"],
            "approach": "Draft it, then have Husam read it",
        }
        revenue = {"concern": "Where revenue comes from", "documents": ["revenue.csv"]}
        threads = self.world.app.threads
        first, second = threads.create(owner, report), threads.create(owner, revenue)
        threads.switch(owner.reach, first.id)
        return first, second

    def borrow(self) -> None:
        """Stage the newest messages of `ONE_TO_ONE` for the next turn in `ALPHA`."""
        said = [
            BorrowedMessage(
                seq=1, author=message.sender.name, sender=message.sender.ref, text=message.text
            )
            for message in self.world.messages(ONE_TO_ONE)
        ]
        borrowed = BorrowedContext(
            tenant=TENANT,
            chat_id=ALPHA,
            agent_id=ANALYST.id,
            staging="run_1:1:1",
            source_chat_id=ONE_TO_ONE,
            source_title="1:1 with Husam",
            messages=tuple(said),
            audience=OPEN,
            last_message_at=self.world.clock.now(),
            created_at=self.world.clock.now(),
        )
        self.world.table.write(Put(borrowed.key, borrowed.to_item()))

    def pin(self) -> None:
        """Let the shared summary stand for the first two messages of `ALPHA`."""
        pin = PinnedSummary(
            text="DataAnalyst sent the Q4 report. Husam wants it finished.",
            seq=3,
            start=3,
            from_seq=1,
            audience=OPEN,
        )
        key = Chat.key_of(TENANT, ALPHA)
        self.world.table.write(Update(key, set={"pinned": pin.model_dump(mode="json")}))

    def say(
        self, clock: str, text: str, sender: Any, *, chat_id: str = ALPHA, **fields: Any
    ) -> int:
        self.world.clock.set(at(clock))
        return self.world.post(text, sender, chat_id=chat_id, **fields).message.seq

    def mark(self, chat_id: str, **changes: Any) -> None:
        """Change the agent's membership."""
        key = Membership.key_of(TENANT, chat_id, ANALYST.ref)
        self.world.table.write(Update(key, set=changes))

    def run(self, trigger: Trigger, chat_id: str | None = ALPHA, **fields: Any) -> Run:
        return Run(
            tenant=TENANT,
            id=run_id_in(chat_id or ANALYST.id, THIS_RUN),
            agent_id=ANALYST.id,
            chat_id=chat_id,
            trigger=trigger,
            created_at=self.world.clock.now(),
            **fields,
        )

    def read(self, run: Run, active: str | None = ALPHA) -> Reading:
        chat: Chat | None = None
        member: Membership | None = None
        if active is not None:
            chat = self.world.stored_chat(active)
            member = self.world.membership(ANALYST, active)
        return self.world.app.reader.read(run, chat, member)

    def prompt(self, run: Run, active: str | None = ALPHA) -> PromptRecord:
        reading = self.read(run, active)
        tools = [tool.spec for tool in offered(reading)]
        return self.world.app.prompt_builder.build(run, reading, tools)

    # ------------------------------------------------------------------ what can wake the agent

    def asked_by_a_person(self) -> Run:
        return self.run(Trigger(type="chat_message", seq=5, from_seq=4, by=HUSAM.ref))

    def asked_by_an_agent_that_waits(self) -> Run:
        words = "@DataAnalyst is this feasible?"
        seq = self.say("15:06:58", words, DESIGNER, expects_reply=True, depth=1)
        self.world.clock.set(at("15:07:00"))
        trigger = Trigger(type="chat_message", seq=seq, from_seq=seq, by=DESIGNER.ref)
        return self.run(trigger, chain_depth=1)

    def asked_by_hand(self, by: MemberRef = HUSAM) -> Run:
        ref = MemberRef(kind=by.kind, id=by.id)
        return self.run(Trigger(type="manual", by=ref))

    def woken_by_a_plan(self) -> Run:
        plan = PlanTrigger(
            id="plan_daily",
            name="Daily Report",
            instruction="Generate and post the daily metrics summary",
            scheduled_at=at("07:00:00"),
            chat_id=REPORTS,
            by_operator=True,
        )
        return self.run(Trigger(type="plan", plan=plan), None)

    def woken_by_a_plan_in_its_chat(self) -> Run:
        plan = PlanTrigger(
            id="plan_numbers",
            name="Numbers",
            instruction="Remind Husam of the Q4 revenue numbers",
            scheduled_at=at("15:07:00"),
            chat_id=ALPHA,
        )
        trigger = Trigger(type="plan", plan=plan, traced_to=HUSAM.id)
        return self.run(trigger, None, for_chat_id=ALPHA, active_chat_id=ALPHA)

    def woken_by_a_service(self) -> Run:
        payload = '{"issue":"PROJ-123","newStatus":"done"}'
        service = ServiceTrigger(id="svc_jira", name="jira-webhook", payload=payload)
        return self.run(Trigger(type="service", service=service), None)

    def answered(self) -> Run:
        """A run that asked the Designer, and got an answer."""
        asked = self._asks()
        reply = self.say("15:06:59", "Looks good, ship it", DESIGNER, depth=2, reply_to=asked)
        self.world.clock.set(at("15:07:00"))
        resumed = Resume(status="reply", chat_id=ALPHA, asked_seq=asked, seq=reply)
        return self.asked_by_a_person().model_copy(
            update={"resumed": resumed, "waits": 1, "chain_depth": 2}
        )

    def left_without_an_answer(self) -> Run:
        """A run that asked the Designer, and waited in vain."""
        asked = self._asks()
        self.world.clock.set(at("15:07:00") + timedelta(minutes=5))
        resumed = Resume(status="timeout", chat_id=ALPHA, asked_seq=asked)
        return self.asked_by_a_person().model_copy(update={"resumed": resumed, "waits": 1})

    def _asks(self) -> int:
        words = "@Designer please review the numbers"
        return self.say("15:06:57", words, ANALYST, expects_reply=True, depth=1)


class _Day(Scene):
    """The scene from which all others continue."""

    def __post_init__(self) -> None:
        self.world = World()
        self.agent = self._analyst()
        self._chats()
        self._notes()
        self._intents()
        self.world.clock.set(at("15:07:00"))


@cache
def _day() -> World:
    return _Day().world


WAKING: dict[str, Callable[[Scene], Run]] = {
    "person": Scene.asked_by_a_person,
    "waiting_agent": Scene.asked_by_an_agent_that_waits,
    "hand": Scene.asked_by_hand,
    "reply": Scene.answered,
    "timeout": Scene.left_without_an_answer,
}
MANNERS = [("timeline", "tools"), ("timeline", "text"), ("roles", "tools"), ("roles", "text")]
