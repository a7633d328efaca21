"""A stage on which workers die, and whose model is honest unless a step says otherwise."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from skein.errors import Ambiguous, Unavailable
from skein.identity.callers import Callers
from skein.identity.models.visit import TOKEN_LIFETIME, Visit
from skein.identity.visit_tokens import VisitTokens
from skein.models.chats.choice import YES
from skein.models.common.address import phone_address
from skein.models.common.base import MemberRef
from skein.models.common.storage import Put, Update
from skein.models.common.storage import Write as TableWrite
from skein.models.directory.address_index import AddressChat
from skein.models.outbox.jobs import Job, RunJob
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.own_tools.models.tool import OwnTool
from skein.own_tools.operator_approvals import OperatorApprovals
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.visibility.insiders import chats_of_insiders, insiders_of
from skein.web_chat.models.widget import PublicProfile, Widget
from tests.attacks import malicious_model
from tests.attacks.cast import COACH, LINE, PHONES, ROOMS, VISIT, named, words
from tests.attacks.effects import WatchedTable
from tests.attacks.knowledge import owner_of
from tests.attacks.moves import QUIET
from tests.attacks.services import BOOK, EVENTS, Call, shows
from tests.attacks.services import TOOLS as OWN_TOOLS
from tests.attacks.stage import Stage
from tests.attacks.steps import Erase, Step
from tests.faults.deployment import WORKERS
from tests.stories.deeds import BY_PHONE, Deed, Fault, Write
from tests.stories.erased import is_erased, left_of
from tests.stories.tasks import TASKS, answer, task_of
from tests.support.agents import steps_of
from tests.support.api_client import WHY, Answer, Client
from tests.support.builders import QUEUES, TENANT
from tests.support.fakes import Calls, Killed

SETTLE_MINUTES = (1, 15, 15, 15, 30, 30, 60, 120, 600, 1_500)
MORE = 60  # minutes, if jobs still wait
LEASE = timedelta(seconds=150)
VISITED = timedelta(days=30)  # after a visit, the visitor is erased
PAGES, WIDGET = "https://shop.example", "wgt_shop"


class MortalTable(WatchedTable):
    """A table whose writer dies at a write.

    Attributes:
        dies_at: The number of writes until then, from 1; 0 for never.
        writes: The writes since the last job began.
    """

    dies_at = 0
    writes = 0
    dead = False

    def write(self, write: TableWrite) -> None:
        """See `skein.ports.Table`."""
        self._alive()
        super().write(write)
        self._count()

    def transact(self, writes: Sequence[TableWrite]) -> None:
        """See `skein.ports.Table`."""
        self._alive()
        super().transact(writes)
        self._count()

    def _alive(self) -> None:
        if self.dead:
            raise Killed

    def _count(self) -> None:
        self.writes += 1
        if self.writes == self.dies_at:
            self.die()

    def die(self) -> None:
        """Let the process that writes be gone."""
        self.dead = True
        raise Killed

    def new_worker(self, dies_at: int = 0) -> None:
        """Let another process write."""
        self.dead, self.writes, self.dies_at = False, 0, dies_at


@dataclass(frozen=True)
class Shown:
    """What a run showed the model.

    Attributes:
        left_out: The messages of the chat that count as seen, and that need not have been shown.
        told: The results of the calls that people approved, by the keys of their questions' calls.
        sent: The keys of the calls that services had got by then.
    """

    run_id: str
    agent: str
    chat: str | None
    request: ModelRequest
    told: Mapping[str, str]
    left_out: frozenset[int]
    sent: frozenset[str]


@dataclass(frozen=True)
class Asked:
    """A task that somebody asked for, and the number of the step in which they did."""

    number: int
    step: Write
    seq: int


@dataclass(frozen=True)
class Visitor(Client):
    """A visitor of a web page with a widget, who has the token of a visit."""

    def send(self, event: dict[str, Any]) -> Answer:
        """See `Client`; the page sends its origin."""
        event["headers"]["origin"] = PAGES
        return super().send(event)


@dataclass
class Town(Stage):
    """A stage with faults.

    Attributes:
        honest: The model does what it is asked for, where no tactic says otherwise.
        fault: What goes wrong with the next job.
        deaths: How many workers died.
        tasks: What was asked for, by the number of the step.
        asked_in: The tasks that were accepted.
        shown: What the model was shown in turns, in order.
        without_yes: The calls that needed a yes, which nobody had given.
        erased: The people who were erased and of whom no step was since.
        left: What named a person when they came back after their erasure.
        stopped: The number of texts when each person wrote STOP last, unless they wrote START.
        services_state: How the services of the tenant answer.
        exported: The exported files of agents.
        approved: The calls that operators approved, by their idempotency keys.
        failed_calls: How often each tool was called while the services failed.
        steps: What happened so far.
    """

    words: Mapping[Any, str] = field(default_factory=words)
    honest: bool = True

    def __post_init__(self) -> None:
        self.fault: Fault | None = None
        self.deaths = 0
        self.tasks: dict[int, Write] = {}
        self.asked_in: list[Asked] = []
        self.shown: list[Shown] = []
        self.without_yes: list[Call] = []
        self.erased: dict[str, None] = {}
        self.left: list[str] = []
        self.stopped: dict[str, int] = {}
        self.services_state = "back"
        self.exported: list[str] = []
        self.approved: set[str] = set()
        self.failed_calls = Counter[str]()
        self.steps: list[Step] = []
        self._dies_at_call = False
        self._overtaken: Job | None = None
        self.while_thinking: tuple[Step, ...] = ()
        self._request: ModelRequest | None = None
        super().__post_init__()
        serve = self.service.answer
        self.service.answer = lambda request: self._served(request, serve)

    def empty_table(self) -> MortalTable:
        return MortalTable(self.clock)

    def _furnish(self) -> None:
        """See `Stage`; honest phones' first texts have come, so later ones go to the same chats."""
        super()._furnish()
        for room in ROOMS.values():
            if room.channel and self.honest:
                who = room.members[0].id
                phone, line = phone_address(PHONES[who]), phone_address(LINE)
                user = self.app.users.get(TENANT, who)
                self.table.write(Update(user.key, set={"addresses": [phone.model_dump()]}))
                bound = AddressChat(
                    tenant=TENANT, address=phone, line=line, agent_id=COACH.id, chat_id=room.id
                )
                self.table.write(Put(bound.key, bound.to_item()))
        self._open_widget()

    def _open_widget(self) -> None:
        """Put Coach on a web page, where the visitor of the stage has written."""
        now = self.clock.now()
        widget = Widget(
            tenant=TENANT,
            id=WIDGET,
            agent_id=COACH.id,
            origins=(PAGES,),
            public=PublicProfile(name="Shop"),
            created_at=now,
        )
        self.visit = Visit(
            tenant=TENANT,
            id=VISIT.members[0].id,
            widget_id=WIDGET,
            chat_id=VISIT.id,
            renewed_at=now,
            created_at=now,
        )
        self.table.write(Put(widget.key, widget.to_item()))
        self.table.write(Put(self.visit.key, self.visit.to_item(now + VISITED)))

    @property
    def mortal(self) -> MortalTable:
        """The table."""
        assert isinstance(self.table, MortalTable)
        return self.table

    # ------------------------------------------------------------------ the services

    def _served(self, request: Any, serve: Any) -> Any:
        if request.url != EVENTS and self.services_state != "back":
            self.failed_calls[request.url.rpartition("/")[2]] += 1
        if request.url != EVENTS and self.services_state == "gone":
            raise Unavailable("out of order")
        served = serve(request)
        if request.url == EVENTS:
            return served
        if self._dies_at_call:
            self._dies_at_call = False
            self.mortal.die()
        if self.services_state == "dies":
            self.services_state = "gone"
            raise Ambiguous("the connection broke")
        if self.services_state == "no answer":
            raise Ambiguous("no answer in time")
        return served

    def _received(self, call: Call) -> None:
        """See `Stage`; a call that needs a yes stands in a question that was answered with it."""
        super()._received(call)
        if OWN_TOOLS[call.tool].get("approval") != "person" or call.key in self.approved:
            return
        asked = (m.choice for chat in self.knowledge.chat_ids() for m in self.messages(chat))
        agreed = (each for each in asked if each and each.answer and each.answer.option == YES)
        if not any(shows(each.question, call.arguments) for each in agreed):
            self.without_yes.append(call)

    @property
    def asked_for(self) -> list[str]:
        """What people have asked for, in the words of the tasks."""
        return [task_of(number) for number in self.tasks]

    @property
    def operators_decide(self) -> bool:
        """Whether operators, and not people, decide whether a table is booked."""
        tool = OwnTool.read(self.table, OwnTool.key_of(TENANT, BOOK))
        return tool is not None and tool.approval == "operator"

    def _check_agreed(self, call: Call) -> None:
        """See `Stage`; an operator may have approved the call."""
        if call.key not in self.approved:
            super()._check_agreed(call)

    @property
    def sources(self) -> list[dict[str, Any]]:
        """The sources that everyone may be told, oldest first."""
        listed: list[dict[str, Any]] = self.admin.get("/v1/sources").body["items"]
        return [each for each in listed if each["audience"] == "everyone"]

    def waiting_calls(self) -> list[str]:
        """The ids of the calls that wait for an operator, oldest first."""
        return [each.id for each in self.app.get(OperatorApprovals).list(TENANT)]

    def call_of(self, approval_id: str) -> tuple[str, str]:
        """The key of a call that waits, and its arguments, or the key if they were erased."""
        found = self.app.get(OperatorApprovals).get(TENANT, approval_id, private=True)
        key = found.approval.call.key
        return key, found.arguments or key

    def made_before(self, approval_id: str) -> bool:
        """Whether the operator is shown that an equal call was approved or made before."""
        return bool(self.admin.get(f"/v1/approvals/{approval_id}", reason=WHY).body["made_at"])

    def decided(self, approval_id: str, *, yes: bool) -> None:
        """Let an operator decide on a call."""
        decision, key = {"decision": "approved" if yes else "refused"}, self.call_of(approval_id)[0]
        made = self.admin.post(f"/v1/approvals/{approval_id}", decision, reason=WHY)
        if made.status == 200 and yes:
            self.approved.add(key)

    # ------------------------------------------------------------------ doors

    def person(self, who: str) -> Client:
        """The client of a person in the app, or of the visitor."""
        if who != self.visit.id:
            return Client(self, sub=who, claims={"name": named(who)})
        claims = self.visit.claims()._replace(ends_at=self.clock.now() + TOKEN_LIFETIME)
        caller = self.app.get(Callers).identify(self.app.get(VisitTokens).sign("visit", claims))
        return Visitor(self, sub=who, source=caller.source, claims=dict(caller.claims))

    def written(self, who: str, chat: str, text: str) -> None:
        """Let a person write some text by the door of the chat."""
        before = len(self.messages(chat))
        if chat in BY_PHONE:
            self._receive(PHONES[who], text)
        else:
            self._in_app(who, chat, text)
        if self.step in self.tasks:
            for new in self.messages(chat)[before:]:
                if text in new.text:
                    self.asked_in.append(Asked(self.step, self.tasks[self.step], new.seq))

    def _receive(self, phone: str, body: str) -> None:
        """See `Stage`; who texts after an erasure is somebody new, who has not said STOP."""
        if owner_of(self.table, phone) is None:
            for who in [who for who, number in PHONES.items() if number == phone]:
                self.stopped.pop(who, None)
        super()._receive(phone, body)

    def _in_app(self, who: str, chat: str, text: str) -> None:
        """Let a person read a chat, and then write there."""
        client, path = self.person(who), f"/v1/chats/{chat}"
        client.post(f"{path}/read", {"seq": self.stored_chat(chat).last_seq})
        client.post(f"{path}/messages", {"text": text, "client_id": f"step {self.step}"})

    def asks(self, step: Write) -> None:
        """Note what is asked for in this step."""
        self.tasks[self.step] = step

    # ------------------------------------------------------------------ playing

    def play_step(self, step: Step) -> None:
        """See `Stage`; remember the step."""
        self.steps.append(step)
        self._come_back(step)
        super().play_step(step)
        if isinstance(step, Erase):
            self.erased[step.who] = None
        if isinstance(step, Write) and step.chat in BY_PHONE and step.text in {"STOP", "START"}:
            self.stopped.pop(step.who, None)
            if step.text == "STOP":
                self.stopped[step.who] = len(self.sms.taken)

    def _come_back(self, step: Step) -> None:
        """Look for what is left of an erased person before a step that names them."""
        for who in [each for each in self.erased if each in repr(step)]:
            del self.erased[who]
            if is_erased(self.mortal, who):
                self.left.extend(left_of(self.mortal, who))

    def _apply(self, step: Step) -> None:
        if isinstance(step, Deed):
            step.happen(self)
        else:
            super()._apply(step)

    def handle(self, job: Job) -> None:
        """Play a job; a fault strikes the first that comes."""
        fault, self.fault = self.fault, None
        if fault is None or (fault.strikes_runs and not isinstance(job, RunJob)):
            self.fault = fault
            super().handle(job)
            return
        if fault.what == "twice":
            super().handle(job)
            super().handle(job)
        elif fault.what == "death":
            self._die(job, fault.at)
        else:
            self._overtaken = job
            super().handle(job)

    def _die(self, job: Job, at: int) -> None:
        self.mortal.new_worker(dies_at=at)
        self._dies_at_call = at == 0
        try:
            super().handle(job)
        except Killed:
            self.deaths += 1
            self.mortal.new_worker()
            if isinstance(job, RunJob):
                self._note_run()
            self.queues.give_again(job, seconds=WORKERS[job.queue].visibility_seconds)
        finally:
            self._dies_at_call = False
            self.mortal.new_worker()

    def settle(self) -> None:
        """Let time pass until nothing is left to be done."""
        self.fault, self.services_state = None, "back"
        self.mortal.new_worker()
        for kind in ("runs", "texts"):
            self.admin.call("DELETE", f"/v1/pauses/{kind}")
        for minutes in SETTLE_MINUTES:
            self.clock.advance(minutes * 60)
            self.tick()
            self.rest()
            self._push()
        for _ in range(MORE):
            if not self.waiting:
                return
            self.clock.advance(60)
            self.tick()
            self.rest()

    @property
    def invited(self) -> bool:
        """Whether a stranger has invited somebody who has not answered."""
        return bool(self._invited)

    @property
    def waiting(self) -> list[Job]:
        """The jobs on all queues."""
        return [each.job for queue in QUEUES for each in self.queues.waiting(queue)]

    # ------------------------------------------------------------------ the honest model

    def asked(self, request: ModelRequest, seen: malicious_model.Seen) -> Calls:
        """See `Stage`; a worker may outlive its lease meanwhile."""
        job, self._overtaken = self._overtaken, None
        if job is not None:
            assert isinstance(job, RunJob)
            mine = self._job
            self.clock.advance(LEASE.total_seconds())
            self.tick()
            Stage.handle(self, job)
            self._job = mine
        steps, self.while_thinking = self.while_thinking, ()
        if steps:
            mine = self._job
            Context().run(self._happen, steps)
            self._job = mine
        self._request = request
        return super().asked(request, seen)

    def _tried(self, request: ModelRequest, seen: malicious_model.Seen) -> Calls:
        if self._tactic != QUIET or not self.honest:
            return super()._tried(request, seen)
        return answer(request, self._uses)

    def _moves(self, seen: malicious_model.Seen) -> Calls:
        run = self._run()
        assert self._request is not None
        told = {
            call.key: result.content
            for step in steps_of(self, run)
            for call, result in zip(step.agreed, step.results or (), strict=False)
        }
        left_out = frozenset(self._left_out(run))
        chat = run.active_chat_id
        sent = frozenset(call.key for call in self.services.calls)
        self.shown.append(Shown(run.id, run.agent_id, chat, self._request, told, left_out, sent))
        if self._tactic != QUIET or not self.honest:
            return super()._moves(seen)
        return answer(self._request, self._uses)

    def _left_out(self, run: Run) -> set[int]:
        """The messages that an agent may not have been shown, and that count as seen.

        These are the messages from before it joined. For a plan or a service, they are also those
        with words of people who are in none of its chats, and answers to questions among them.
        """
        if run.active_chat_id is None:
            return set()
        agent = MemberRef(kind="agent", id=run.agent_id)
        member = read_snapshot(self.table, TENANT, run.active_chat_id).member(agent)
        left = set(range(1, member.joined_seq + 1 if member is not None else 1))
        if run.trigger.type not in {"plan", "service"}:
            return left
        insiders = insiders_of(run, map(self.stored_chat, chats_of_insiders(run)), alone=True)
        for message in self.messages(run.active_chat_id):
            answers = message.kind == "keyword" and message.reply_to in left
            if answers or not insiders.admit(message.words):
                left.add(message.seq)
        return left

    def _uses(self, number: int) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        step = self.tasks.get(number)
        if step is None:
            return ()
        return TASKS[step.task].uses(task_of(number), step.who, step.other)
