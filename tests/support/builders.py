"""A whole Skein in memory, and the few things that nearly every test needs in it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Self, TypeVar, get_args

from local.events import Event
from local.permissions import (
    PermittedFiles,
    PermittedPush,
    PermittedQueues,
    PermittedSecrets,
    PermittedSockets,
    PermittedTable,
    PermittedVectors,
)
from local.template import NUMBERS, REGISTER
from local.template import SERVICES_KEY as SERVICES_SECRET_ID
from skein import stream_events
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.desk.returning import Returns
from skein.desk.waiting import WaitingStays
from skein.errands.errand_work import ErrandWorker
from skein.errands.meeting_work import MeetingWorker
from skein.events.sending import EventSender
from skein.invocations import FailedItems
from skein.knowledge.reading import SourceReader
from skein.media.receiving import MediaReceiver
from skein.memory.models.memory import Memory
from skein.memory.models.records import ConsolidationRecord
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.address import Route, phone_address
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import Key, Put, Query
from skein.models.delivery.delivery import Delivery
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.agent import Agent
from skein.models.directory.assigned_number import AssignedNumber
from skein.models.directory.line import Line
from skein.models.directory.user import User
from skein.models.items.agent_item import AgentItem
from skein.models.outbox.due import DueKind
from skein.models.outbox.jobs import (
    ConsentJob,
    ConsolidationJob,
    DeliveryJob,
    DeskJob,
    ErasureJob,
    ErrandJob,
    EventJob,
    ForgettingJob,
    InvitationJob,
    Job,
    MediaJob,
    MeetingJob,
    NumberCodeJob,
    OutreachJob,
    PushJob,
    QueueName,
    RecallJob,
    ReflectionJob,
    RunJob,
    SourceJob,
    SummaryJob,
    TrialJob,
    UpkeepJob,
    VisitJob,
)
from skein.models.quotas.limit import Allowance
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Reach, owned_partition
from skein.outreach.sending import OutreachSender
from skein.privacy.forgetting import Forgettings
from skein.services.background.engine import J, Task
from skein.services.chat_state.closed_memberships import closing, read_membership
from skein.services.chats.post_message import NewMessage, PostedMessage
from skein.services.items.store import OwnedStore
from skein.services.quotas.token_budget import pools_of
from skein.settings import Settings
from skein.trials.jobs import TrialJobs
from skein.web_chat.visits import Visits
from tests.fakes.background import InlineBackground
from tests.fakes.files import MemoryFiles
from tests.fakes.media_reader import MemoryMediaReader
from tests.fakes.mobile_push import FakePush
from tests.fakes.model_list import MemoryModelList
from tests.fakes.outbound_http import MemoryService
from tests.fakes.sms import MemorySecrets, MemorySms, MemoryVerifier
from tests.fakes.sockets import FakeSockets
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues, SequentialIds
from tests.fakes.table import MemoryTable
from tests.support.fakes import Fused, ScriptedModel, in_turn
from tests.support.feed import TableFeed
from tests.support.services import AllServices, build_services
from tests.support.template import permissions, running, worker_of

QUEUES: tuple[QueueName, ...] = get_args(QueueName)
TENANT = "acme"
NOON = datetime(2026, 2, 18, 12, 0, tzinfo=UTC)
LIVE_URL = "wss://live.invalid/live"
SERVICES_KEY = "the key of the secrets of services"
LINE = "+15005550006"
PHONE = "+15005550100"
INVOCATION = timedelta(seconds=120)
LONG_INVOCATION = timedelta(seconds=900)


class CountedOnce(Tokens):
    """The real tokenizer, which counts the tokens of a text once for all worlds."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.count = lru_cache(maxsize=20_000)(super().count)  # type: ignore[method-assign]


class EmbeddedOnce(StaticEmbeddings):
    """The real embeddings, which embed a text once for all worlds."""

    def __init__(self) -> None:
        super().__init__()
        self._embed = lru_cache(maxsize=20_000)(super()._embed)  # type: ignore[method-assign]


@cache
def tokens() -> Tokens:
    """The real tokenizer, loaded once for all tests."""
    return CountedOnce()


@cache
def embeddings() -> StaticEmbeddings:
    """The real embeddings, loaded once for all tests."""
    return EmbeddedOnce()


@dataclass
class World:
    """Skein on ports in memory; `drain` plays the queues.

    An invoked function, and the worker of a job that is played, may do what its role in the
    template allows.

    Attributes:
        feed: The changes of the table since `attach_feed`, which `run_ready` hands to the function
            `Feed`; None before.
    """

    settings: Settings = field(default_factory=lambda: Settings(live_url=LIVE_URL))
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel.saying(default="Hello!"))
    overrides: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.feed: TableFeed | None = None
        self.clock = FixedClock(NOON)
        self.ids = SequentialIds()
        self.table = self.empty_table()
        self.register = MemoryTable(self.clock)
        self.numbers = MemoryTable(self.clock)
        self.assign()
        self.queues = MemoryQueues(self.clock)
        self.metrics = MemoryMetrics()
        self.sms = MemorySms(self.clock)
        self.sockets = FakeSockets()
        self.push = FakePush()
        self.files = MemoryFiles(self.clock)
        self.background = InlineBackground(self.clock)
        self.model_list = MemoryModelList()
        self.service = MemoryService()
        self.secret_values = {"": {"key": SERVICES_KEY}}
        table = self.overrides.get("table", self.table)
        self.app: AllServices = build_services(
            self.settings,
            **{
                "clock": self.clock,
                "ids": self.ids,
                "table": PermittedTable(self.table, permissions()),
                "erasure_register": PermittedTable(self.register, permissions(), REGISTER),
                "assigned_numbers": PermittedTable(self.numbers, permissions(), NUMBERS),
                "vectors": PermittedVectors(
                    getattr(table, "vectors", self.table.vectors), permissions()
                ),
                "queues": PermittedQueues(self.queues, permissions()),
                "metrics": self.metrics,
                "sms": self.sms,
                "sockets": PermittedSockets(self.sockets, permissions()),
                "files": PermittedFiles(self.files, permissions()),
                "mobile_push": PermittedPush(self.push, permissions()),
                "background": self.background,
                "verifier": MemoryVerifier(),
                "secrets": PermittedSecrets(
                    MemorySecrets(self.secret_values),
                    permissions(),
                    {"": SERVICES_SECRET_ID, "twilio": "TwilioSecretArn", "edge": "EdgeSecret"},
                ),
                "model": self.model,
                "media_reader": MemoryMediaReader(),
                "model_list": self.model_list,
                "outbound_http": self.service,
                "tokens": tokens(),
                "embeddings": embeddings(),
                "vocabulary": embeddings(),
                "parallel_map": in_turn,
            }
            | self.overrides,
        )
        if isinstance(table, MemoryTable):  # a test's own table goes by this clock, too
            table._clock = self.clock
            table.vectors._clock = self.clock

    def __del__(self) -> None:
        # Services refer to the app in circles. Without them, the databases can be used again at
        # once, and not only when somebody looks for garbage.
        if "app" in self.__dict__:
            self.app._built.clear()

    def empty_table(self) -> MemoryTable:
        """The table, before anything is stored."""
        return MemoryTable(self.clock)

    def continue_from(self, first: "World") -> Self:
        """Take over all that another world has stored, queued and sent by SMS, its time and ids.

        A world that takes long to make is made once, and each test continues from it on its own.
        """
        for mine, theirs in ((self.table, first.table), (self.register, first.register)):
            mine.copy(theirs)
        self.files.contents, self.files.types = dict(first.files.contents), dict(first.files.types)
        self.sms.taken, self.sms.asked = list(first.sms.taken), first.sms.asked
        self.clock.set(first.clock.now())
        self.ids._last, self.ids._codes = first.ids._last, first.ids._codes
        self.queues._waiting = list(first.queues._waiting)
        return self

    def attach_feed(self) -> TableFeed:
        """Record the changes of the table from now on, as the table's stream does."""
        self.feed = TableFeed(self.table, self.clock)
        return self.feed

    # ------------------------------------------------------------------ putting things there

    def agent(self, agent_id: str = "agt_a", name: str = "Coach", **fields: Any) -> Agent:
        """An agent that answers in text; `reply_mode=None` lets that follow the chat."""
        defaults = {"reply_mode": "text", "history_format": "roles", "who_may_add": "anyone"}
        fields = defaults | fields
        agent = Agent(tenant=TENANT, id=agent_id, name=name, created_at=NOON, **fields)
        self.table.write(Put(agent.key, agent.to_item()))
        return agent

    def assign(self, phone: str = LINE, *, tenant: str = TENANT) -> None:
        """Assign a number of the deployment to a tenant, as `make numbers` does."""
        number = AssignedNumber(tenant=tenant, address=phone_address(phone), assigned_at=NOON)
        self.numbers.write(Put(number.key, number.to_item()))

    def line(
        self,
        agent_id: str = "agt_a",
        phone: str = LINE,
        channels: tuple[str, ...] = ("sms",),
    ) -> Line:
        line = Line(
            tenant=TENANT,
            address=phone_address(phone),
            agent_id=agent_id,
            channels=channels,
            created_at=NOON,
        )
        self.table.write(Put(line.key, line.to_item()))
        return line

    def pool(self, visitor_id: str, *, tools: tuple[str, ...]) -> None:
        """The pool of a visitor, as a widget with these tools makes it."""
        [owner] = pools_of(visitor_id)
        pool = Allowance(tenant=TENANT, owner=owner, tools=tools, tokens_per_day=1_000_000)
        self.table.write(Put(pool.key, pool.to_item()))

    def known(self, *people: NamedMember) -> None:
        """Records of people, as whoever opens a chat with them makes them."""
        for who in people:
            user = User(tenant=TENANT, id=who.id, name=who.name, created_at=NOON)
            self.table.write(Put(user.key, user.to_item()))

    def chat(self, *members: NamedMember, chat_id: str = "chat_1", **fields: Any) -> Chat:
        """A chat with these members, which the first person owns.

        `route` makes a direct chat's person one on SMS.
        """
        route: Route | None = fields.pop("route", None)
        # Most tests are not about memories: they would only see more writes.
        defaults = {
            "kind": "group",
            "visibility": "open",
            "title": "Project Alpha",
            "consolidate": False,
        }
        chat = Chat(
            tenant=TENANT,
            id=chat_id,
            roster=members,
            owners=fields.pop("owners", tuple(m.id for m in members if m.kind == "user")[:1]),
            activity_hour=NOON,
            created_at=NOON,
            **(defaults | fields),
        )
        self.table.write(Put(chat.key, chat.to_item()))
        for member in members:
            membership = Membership(
                tenant=TENANT,
                chat_id=chat_id,
                member=member,
                route=route if member.kind == "user" else None,
            )
            self.table.write(Put(membership.key, membership.to_item(chat)))
            if membership.route is not None:
                owner = AddressOwner(
                    tenant=TENANT, address=membership.route.person, user_id=member.id
                )
                self.table.write(Put(owner.key, owner.to_item()))
        return chat

    def chat_elsewhere(self, person: NamedMember, agent: NamedMember) -> Chat:
        """A private chat of an agent with a person, which can show summaries of other chats."""
        name = f"elsewhere_{agent.id}"
        return self.chat(person, agent, chat_id=name, kind="direct", visibility="private")

    # ------------------------------------------------------------------ doing things

    def add(
        self, who: MemberRef, *, by: NamedMember | None = None, chat_id: str = "chat_1"
    ) -> Chat:
        """Add a member, who accepts if that takes an invitation; Husam adds unless `by` does."""
        member = MemberRef(kind=who.kind, id=who.id)
        chat = self.app.chat_admin.add_member(TENANT, chat_id, by or person(), member)
        if not chat.has(member):
            self.app.invitations.answer(TENANT, chat_id, member, accept=True)
        return self.stored_chat(chat_id)

    def post(
        self, text: str, sender: MemberRef, *, client_id: str | None = None, **fields: Any
    ) -> PostedMessage:
        with running("MobileApi"):
            return self.app.chats.post_message(
                NewMessage(
                    tenant=TENANT,
                    chat_id=fields.pop("chat_id", "chat_1"),
                    sender=MemberRef(kind=sender.kind, id=sender.id),
                    text=text,
                    client_id=client_id or f"client-{self.ids.ulid()}",
                    **fields,
                )
            )

    def take(self, job: RunJob) -> None:
        self.handle(job)

    def renew(self, job: SummaryJob) -> None:
        """Play a job of the summary worker."""
        self.handle(job)

    def work(self, task: Task[J, Any, Any, Any], job: J, *, seconds: float = 900) -> None:
        """Play a job of a background task."""
        deadline = self.clock.now() + timedelta(seconds=seconds)
        with running(worker_of(job.queue)):
            self.app.background_engine.run(task, job, deadline=deadline)

    def handle(self, job: Job) -> None:
        """Play a job, with the permissions of the function that handles its queue."""
        deadline, long = (self.clock.now() + time for time in (INVOCATION, LONG_INVOCATION))
        with running(worker_of(job.queue)):
            match job:
                case RunJob():
                    self.app.turns.take(job, deadline=deadline)
                case ConsentJob() | InvitationJob() | ForgettingJob() | DeskJob():
                    self._follow(job)
                case DeliveryJob():
                    self.app.deliveries.deliver(job, deadline=deadline)
                case NumberCodeJob():
                    self.app.number_code_sender.send(job)
                case UpkeepJob():
                    self.app.upkeep.keep(job)
                case SummaryJob() | ConsolidationJob() | ReflectionJob():
                    self.work(self._task_of(job), job)
                case ErasureJob() | VisitJob():
                    self._erase_for(job, long)
                case RecallJob():
                    self.app.recall_worker.take(job, deadline=long)
                case (
                    ErrandJob()
                    | MeetingJob()
                    | OutreachJob()
                    | EventJob()
                    | PushJob()
                    | MediaJob()
                    | SourceJob()
                    | TrialJob()
                ):
                    self._tell(job, long)
                case _:
                    raise AssertionError(f"no worker for {job}")

    def _erase_for(self, job: ErasureJob | VisitJob, deadline: datetime) -> None:
        """Play a job that erases a person."""
        if isinstance(job, VisitJob):
            self.app.get(Visits).forget(job)
        else:
            self.app.eraser.continue_erasure(job, deadline=deadline)

    def _reach(self, job: ErrandJob | MeetingJob | OutreachJob) -> None:
        """Play a job that writes to people first."""
        if isinstance(job, ErrandJob):
            self.app.get(ErrandWorker).look(job)
        elif isinstance(job, MeetingJob):
            self.app.get(MeetingWorker).look(job)
        else:
            self.app.get(OutreachSender).take(job)

    def _tell(
        self,
        job: ErrandJob
        | MeetingJob
        | OutreachJob
        | EventJob
        | PushJob
        | MediaJob
        | SourceJob
        | TrialJob,
        deadline: datetime,
    ) -> None:
        """Play a job that writes to people, tells what has happened, or is of a file or a trial."""
        if isinstance(job, ErrandJob | MeetingJob | OutreachJob):
            self._reach(job)
        elif isinstance(job, MediaJob):
            self.app.get(MediaReceiver).take(job)
            self.app.descriptions.describe(job, deadline=deadline)
        elif isinstance(job, SourceJob):
            self.app.get(SourceReader).take(job, deadline=deadline)
        elif isinstance(job, TrialJob):
            self.app.get(TrialJobs).take(job, deadline=deadline)
        elif isinstance(job, EventJob):
            self.app.get(EventSender).send(job, deadline=deadline)
        else:
            self.app.pushes.push(job)

    def _follow(self, job: ConsentJob | InvitationJob | ForgettingJob | DeskJob) -> None:
        """Play a job that follows from a choice, or of the desk."""
        if isinstance(job, ConsentJob):
            self.app.consents.post(job, audit=self.app.audit.add_consent)
        elif isinstance(job, ForgettingJob):
            self.app.get(Forgettings).carry_out(job)
        elif isinstance(job, DeskJob):
            self.app.get(WaitingStays).look(job)
            self.app.get(Returns).look(job)
        else:
            self.app.invitation_texts.ask(job)

    def _task_of(
        self, job: SummaryJob | ConsolidationJob | ReflectionJob
    ) -> Task[Any, Any, Any, Any]:
        if isinstance(job, SummaryJob):
            return self.app.summary_tasks.of(job)
        return self.app.consolidation if isinstance(job, ConsolidationJob) else self.app.reflection

    def run_ready(self) -> int:
        """Play every job that is due now, with what follows on its queue; return how many."""
        played = self.feed.pump(self._forward) if self.feed else 0
        for queue in QUEUES:
            while jobs := self.queues.ready(queue):
                for job in jobs:
                    self.handle(job)
                played += len(jobs)
        return played

    def _forward(self, event: Event) -> FailedItems:
        with running("Feed"):
            return stream_events.process(event, self.app.feed.forward)

    def drain(self, *, rounds: int = 200) -> None:
        """Play jobs, turning the clock to the next one, until all queues are empty."""
        for _ in range(rounds):
            if self.run_ready():
                continue
            waiting = [job for queue in QUEUES for job in self.queues.waiting(queue)]
            if not waiting:
                return
            self.clock.set(min(job.due_at for job in waiting))
        raise AssertionError("the queues never become empty")

    def tick(self) -> int:
        """What the tick does; without a due item, it only reads the 128 parts of the due index."""
        table = self.overrides.get("table", self.table)
        if isinstance(table, MemoryTable | Fused) and not table.has_due(self.clock.now()):
            return 0
        return self.whole_tick()

    def whole_tick(self) -> int:
        """What the tick does, even if nothing is due."""
        until = self.clock.now() + timedelta(seconds=45)
        with running("Tick"):
            return self.app.tick.run(self.app.firing, until=until)

    def find_quiet(self) -> int:
        """What the hourly finder does with quiet chats."""
        return self._find("consolidation", "BackgroundFinder")

    def find_fading(self) -> int:
        """What the hourly finder does with fading journal entries."""
        return self._find("fading", "BackgroundFinder")

    def _find(self, kind: DueKind, function: str) -> int:
        until = self.clock.now() + timedelta(seconds=45)
        with running(function):
            return self.app.background_scanner.run([kind], until=until)

    def hours_pass(self, hours: int) -> None:
        """Let hours go by, with a finder in each, and all that follows from it."""
        for _ in range(hours):
            self.clock.advance(3_600)
            self.find_quiet()
            self.drain()

    # ------------------------------------------------------------------ looking

    def messages(self, chat_id: str = "chat_1") -> list[Message]:
        page = self.table.query(Query.under(chat_partition(TENANT, chat_id), "MSG#"))
        return [Message.from_item(item) for item in page.items]

    def texts(self, chat_id: str = "chat_1") -> list[str]:
        return [message.text for message in self.messages(chat_id)]

    def runs(self, chat_id: str = "chat_1") -> list[Run]:
        page = self.table.query(Query.under(chat_partition(TENANT, chat_id), "RUN#"))
        return [Run.from_item(item) for item in page.items if "#STEP#" not in item["sk"]]

    def all_runs(self) -> list[Run]:
        """Every run there has been, the oldest first in each partition."""
        keys: list[Key] = [
            key
            for key in self.table.all_keys()
            if key.sk.startswith("RUN#") and "#STEP#" not in key.sk
        ]
        return [Run.from_item(self.table.get(key) or {}) for key in sorted(keys)]

    def deliveries(self, chat_id: str = "chat_1") -> list[Delivery]:
        page = self.table.query(Query.under(chat_partition(TENANT, chat_id), "DELIVERY#"))
        return [Delivery.from_item(item) for item in page.items]

    def memories(self, agent_id: str = "agt_a", scope: str | None = None) -> list[Memory]:
        """What an agent remembers, in the order in which it was made; what ended, too."""
        partition = owned_partition(TENANT, agent_id, scope)
        prefixes = (Memory.PREFIX, Memory.PREFIX.ended)
        pages = [self.table.query(Query.under(partition, prefix)) for prefix in prefixes]
        found = [Memory.from_item(item) for page in pages for item in page.items]
        return sorted(found, key=lambda memory: memory.id)

    def consolidations(self, chat_id: str = "chat_1") -> list[ConsolidationRecord]:
        """What is on record of a chat's consolidation, in order."""
        first = ConsolidationRecord.key_of(TENANT, chat_id, "").sk
        page = self.table.query(Query.under(chat_partition(TENANT, chat_id), first))
        return [ConsolidationRecord.from_item(item) for item in page.items]

    def membership(self, member: MemberRef, chat_id: str = "chat_1") -> Membership:
        membership = read_membership(self.table, TENANT, chat_id, member)
        assert membership is not None
        return membership

    def close_membership(self, member: MemberRef, chat_id: str = "chat_1") -> None:
        """Close a membership, of a direct chat as well."""
        item = self.table.get(self.membership(member, chat_id).key)
        assert item is not None
        self.table.transact(closing(item, {"left_seq": self.stored_chat(chat_id).last_seq}))

    def stored_chat(self, chat_id: str = "chat_1") -> Chat:
        item = self.table.get(Chat.key_of(TENANT, chat_id))
        assert item is not None
        return Chat.from_item(item)


def person(user_id: str = "usr_husam", name: str = "Husam") -> NamedMember:
    return NamedMember(kind="user", id=user_id, name=name)


def bot(agent_id: str = "agt_a", name: str = "Coach") -> NamedMember:
    return NamedMember(kind="agent", id=agent_id, name=name)


Kept = TypeVar("Kept", bound=AgentItem)


def live(store: OwnedStore[Kept], reach: Reach) -> tuple[Kept, ...]:
    """The live items of a kind that may be shown within reach, by id."""
    status = store.kind.LIVE_STATUS
    pages = [store.list(reach.at(scope), status=status) for scope in reach.scopes]
    return tuple(item for page in pages for item in page.items)


def statuses(runs: Iterable[Run]) -> list[str]:
    return [run.status for run in runs]
