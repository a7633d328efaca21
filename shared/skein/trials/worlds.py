"""Play a script in a world: the real code of turns, on a table in memory. Nothing is sent.

Only items that operators have written are copied into a world. The world has no items of real
people and no chat besides the script's own. Of its jobs, only those of runs are carried out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from skein.agent.turn import Turns
from skein.channels.segments import total_segments
from skein.errors import SkeinError, Unavailable
from skein.knowledge.index import KnowledgeFiles
from skein.knowledge.models.source import KnowledgeHead
from skein.memory.models.memory import Memory
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.address import Route, phone_address
from skein.models.common.base import NamedMember
from skein.models.common.storage import Key, Put
from skein.models.config.overrides import TenantSettings
from skein.models.config.pauses import Pauses
from skein.models.directory.agent import Agent
from skein.models.directory.role import HeldRole
from skein.models.directory.user import User
from skein.models.items.agent_item import AgentItem
from skein.models.outbox.jobs import Job, RunJob
from skein.models.runs.completion import ModelAnswer, ModelRequest
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.models.visibility.provenance import NO_AUTHORS, NOTHING
from skein.own_tools.items import CallableTool, json_object_of, keys_named, own_names
from skein.own_tools.models.tool import OwnTool
from skein.own_tools.sending import ANSWERED, CallSender, Outcome
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.ports import Clock, LanguageModel, Services, Table
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.common.pagination import items_under
from skein.services.common.quoting import behind_bars
from skein.trials.models.case import RecordedResult, RecordedResults, Script
from skein.trials.models.expectation import Played, PlayedCall, PlayedQuestion
from skein.trials.plays import Play
from skein.workspace.models.document import Document
from skein.workspace.models.skill import skills_partition
from skein.workspace.models.thread import Thread

T = TypeVar("T")

KEPT: tuple[type[AgentItem] | type[Document], ...] = (Memory, Goal, Plan, Thread, Document)
CHAT = "chat_world"
LINE, PHONE = phone_address("+15005550006"), phone_address("+15005550100")
TURN_TIME = timedelta(seconds=120)  # of one invocation, as in the template
OUTWARD = {"deliveries", "pushes", "events"}  # queues whose jobs tell somebody outside
NOT_RECORDED = "error: no result was recorded for this call"


@dataclass(slots=True)
class WorldClock:
    """The clock of a world. It starts at the time in the script, and then runs on."""

    real: Clock
    ahead: timedelta = timedelta()

    def now(self) -> datetime:
        return self.real.now() + self.ahead

    def reach(self, moment: datetime) -> None:
        """Move the clock forward to `moment`. If the clock is past it already, do nothing."""
        self.ahead += max(moment - self.now(), timedelta())

    def sleep(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)

    def within(self, seconds: float, function: Callable[[], T]) -> T:
        return self.real.within(seconds, function)


@dataclass(slots=True)
class WorldQueues:
    """The queues of a world.

    Jobs of runs wait in them to be carried out; all other jobs are only listed.
    """

    clock: WorldClock
    runs: list[tuple[datetime, RunJob]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        due = self.clock.now() + timedelta(seconds=delay_seconds)
        self.runs += [(due, job) for job in jobs if isinstance(job, RunJob)]
        kinds = (job.model_dump()["kind"] for job in jobs if job.queue in OUTWARD)
        self.others += [f"job: {kind}" for kind in kinds]

    def next(self, until: datetime | None) -> tuple[datetime, RunJob] | None:
        """Take the job that is due first, if it is due by `until`; None if there is none."""
        self.runs.sort(key=lambda each: each[0])
        due = [each for each in self.runs if until is None or each[0] <= until]
        return self.runs.pop(0) if due else None


@dataclass(slots=True)
class WorldModel:
    """The model in a world. It is called until the play is over, or until its first error."""

    model: LanguageModel
    over: bool = False
    error: SkeinError | None = None

    def complete(self, request: ModelRequest) -> ModelAnswer:
        if self.over or self.error is not None:
            raise Unavailable("the play is over")
        try:
            return self.model.complete(request)
        except SkeinError as error:
            self.error = error
            raise

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        return self.complete(request)


@dataclass(slots=True)
class WorldCalls:
    """Answers the calls of the tenant's tools with recorded results, and calls no service."""

    results: RecordedResults
    model: WorldModel
    made: list[str] = field(default_factory=list)
    unrecorded: PlayedCall | None = None

    def send(self, tool: CallableTool, arguments: str, *_: Any, **__: Any) -> Outcome:
        """See `CallSender.send`. A call without a recorded result ends the play."""
        given = json_object_of(arguments)
        self.made.append(f"call: {PlayedCall(tool.name, given)}")
        found = self.results.take(tool.name, given)
        if found is None:
            self.model.over = True
            self.unrecorded = self.unrecorded or PlayedCall(tool.name, given)
            return Outcome("failed", NOT_RECORDED)
        status, content = found.answer
        if status == "failed":
            return Outcome("failed", content)
        text = behind_bars(content) or "| (an empty answer)"
        return Outcome("done", ANSWERED.format(name=tool.name, text=text), shows=True)


@dataclass(frozen=True, slots=True)
class WorldTable:
    """The table of a world, for preparing a script and for reading the result."""

    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Worlds:
    """The service that plays scripts."""

    services: Services
    table: Table
    clock: Clock
    model: LanguageModel
    files: KnowledgeFiles

    def play(
        self, script: Script, results: Sequence[RecordedResult], agent: Agent, *, until: datetime
    ) -> Play:
        """Play a script.

        Args:
            results: What calls of the tenant's tools get.
            agent: The agent in the version to play.
            until: When the play must have ended.

        Raises:
            TimeoutError: The script took longer than until `until`.
            Transient: The model or the table can't be reached.
            ModelRejected: The provider refuses a request.
        """
        clock, model = WorldClock(self.clock), WorldModel(self.model)
        if script.now is not None:
            clock.ahead = script.now - self.clock.now()
        queues, calls = WorldQueues(clock), WorldCalls(RecordedResults([*results]), model)
        given = {CallSender: calls, KnowledgeFiles: self.files}
        world = self.services.world([], given, clock=clock, queues=queues, model=model)
        table = world.get(WorldTable).table
        stage = _Stage(world, table, clock, queues, model, agent, script, until)
        for write in (*self._copied(agent), *stage.items()):
            stage.table.write(write)
        for n, turn in enumerate(script.turns):
            at = clock.now() + timedelta(seconds=turn.after_seconds)
            stage.work(at)
            clock.reach(at)
            if not model.over and model.error is None:
                stage.post(n, turn.sender, turn.text)
        stage.work(None)
        if model.error is not None:
            raise model.error
        return stage.ended(calls)

    def _copied(self, agent: Agent) -> Iterator[Put]:
        """Yield the agent, and the items that operators have written for it, without secrets."""
        yield Put(agent.key, agent.to_item())
        settings = TenantSettings.read(self.table, TenantSettings.key_of(agent.tenant))
        if settings is not None:
            # No sharing rules: a world has none of their people.
            bare = settings.model_copy(update={"pauses": Pauses(), "sharing": False})
            yield Put(bare.key, bare.to_item())
        for kind in KEPT:
            for item in items_under(self.table, agent.key.pk, kind.PREFIX):
                made = kind.from_item(item)
                # What an operator confirmed, or an agent worked on, may have words of people.
                of_people = made.authors != NO_AUTHORS or made.made_from != NOTHING
                if made.by_operator and made.audience.open and not of_people:
                    yield Put(Key(item["pk"], item["sk"]), item)
        for partition in (skills_partition(agent.tenant), KnowledgeHead.key_of(agent.tenant).pk):
            for item in items_under(self.table, partition, ""):
                yield Put(Key(item["pk"], item["sk"]), item)
        names = keys_named(agent.tenant, own_names(agent))
        for tool in OwnTool.read_each(self.table.get_many(names) if names else {}):
            bare_tool = tool.model_copy(update={"credentials": None, "nonce": ""})
            yield Put(tool.key, bare_tool.attributes())


@dataclass(frozen=True, slots=True)
class _Stage:
    """One script, and the world in which it is played."""

    world: Services
    table: Table
    clock: WorldClock
    queues: WorldQueues
    model: WorldModel
    agent: Agent
    script: Script
    until: datetime

    @property
    def people(self) -> dict[str, NamedMember]:
        return {
            each.name: NamedMember(kind="user", id=f"usr_world_{n}", name=each.name)
            for n, each in enumerate(self.script.people)
        }

    @property
    def route(self) -> Route | None:
        if self.script.channel == "app":
            return None
        return Route(channel=self.script.channel, line=LINE, person=PHONE)

    def items(self) -> Iterator[Put]:
        """Yield the people, their chat, the line and the memories of the script."""
        agent, now, route = self.agent, self.clock.now(), self.route
        members = (*self.people.values(), agent.as_member)
        own: dict[str, Any] = {"tenant": agent.tenant, "created_at": now}
        chat = Chat(
            **own,
            id=CHAT,
            kind="direct" if self.script.chat == "direct" else "group",
            visibility="open" if self.script.chat == "open" else "private",
            line=route.line if route is not None else None,
            roster=members,
            owners=(members[0].id,),
            activity_hour=now,
        )
        yield Put(chat.key, chat.to_item())
        for member in members:
            reached = route if member.kind == "user" else None
            membership = Membership(tenant=agent.tenant, chat_id=CHAT, member=member, route=reached)
            yield Put(membership.key, membership.to_item(chat))
        for given, person in zip(self.script.people, self.people.values(), strict=True):
            roles = tuple(HeldRole(role=role, since=now) for role in given.roles)
            user = User(**own, id=person.id, name=person.name, roles=roles)
            yield Put(user.key, user.to_item())
        for n, text in enumerate(self.script.memories):
            memory = Memory(
                **own,
                agent_id=agent.id,
                id=f"mem_{n:026d}",
                scope=chat.scope,
                audience=chat.readers,
                source_chat_id=CHAT,
                kind="core",
                text=text,
                made_by="consolidation",
            )
            yield Put(memory.key, memory.to_item())

    def post(self, n: int, sender: str, text: str) -> None:
        """Post a message of the script."""
        self.world.get(Chats).post_message(
            NewMessage(
                tenant=self.agent.tenant,
                chat_id=CHAT,
                sender=self.people[sender].ref,
                text=text,
                client_id=f"turn-{n}",
                route=self.route,
            )
        )

    def work(self, until: datetime | None) -> None:
        """Carry out the runs that are due by `until`; all runs if it is None.

        Raises:
            TimeoutError: There is no time left.
        """
        turns = self.world.get(Turns)
        while not self.model.over and (found := self.queues.next(until)) is not None:
            left, (due, job) = self.until - self.clock.real.now(), found
            if left <= timedelta():
                raise TimeoutError
            self.clock.reach(due)
            turns.take(job, deadline=self.clock.now() + min(TURN_TIME, left))

    def ended(self, calls: WorldCalls) -> Play:
        """Return what the agent said and did, and what would have happened outside the world."""
        home = Chat.key_of(self.agent.tenant, CHAT)
        chat = Chat.must_read({home: self.table.get(home) or {}}, home)
        sent = [
            message
            for message in Message.each_of(items_under(self.table, home.pk, Message.PREFIX))
            if message.sender.kind == "agent"
        ]
        asked = [each.choice for each in sent if each.choice is not None]
        played = Played(
            texts=tuple(each.text for each in sent if each.kind == "text"),
            questions=tuple(
                PlayedQuestion(each.question, tuple(option.label for option in each.options))
                for each in asked
            ),
            asked_person=chat.desk is not None or any(each.purpose == "tool" for each in asked),
            cited=tuple(dict.fromkeys(one.source_id for each in sent for one in each.sources)),
            sms_units=sum(
                total_segments(each.text) for each in sent if self.script.channel == "sms"
            ),
            unrecorded=calls.unrecorded,
        )
        of_runs = items_under(self.table, home.pk, Run.PREFIX)
        steps = [Step.from_item(item) for item in of_runs if Step.is_stored_as(item)]
        return Play.of(played, steps, tuple(dict.fromkeys((*calls.made, *self.queues.others))))
