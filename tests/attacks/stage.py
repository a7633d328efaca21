"""Plays a story in a fresh world, and keeps track of who may know the secret."""

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain, count
from math import inf
from typing import Any, TypeVar

from skein.agent.tools import TOOLS
from skein.desk.drafts import Drafts
from skein.desk.messages import TeamMessages
from skein.desk.returning import Returns
from skein.desk.taking import Taking
from skein.errors import Rejected, Unavailable
from skein.live.devices import Devices
from skein.live.models.connection import Connection
from skein.models.api.chats import ChatChange, MemberRequest, NewChat
from skein.models.api.directory import AgentChange, OwnChange, UserChange
from skein.models.chats.chat import Chat, Media, Message, chat_partition
from skein.models.chats.choice import YES
from skein.models.chats.desk import DraftKind, Holder
from skein.models.common.address import phone_address, route_on
from skein.models.common.base import MemberRef, NamedMember
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressChat
from skein.models.outbox.jobs import (
    ConsentJob,
    ErrandJob,
    Job,
    NumberCodeJob,
    RecallJob,
    RunJob,
    TrialJob,
)
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage, ToolCall
from skein.models.runs.run import Run
from skein.models.runs.trigger import ServiceTrigger, Trigger
from skein.models.visibility.ownership import Owner
from skein.planning.plan_chats import PlanChats
from skein.privacy.erasure_preview import ErasurePreviews
from skein.services.background.engine import J, Task
from skein.services.chat_state.person_choices import read_choices
from skein.services.chats.post_message import NewMessage
from skein.services.choices.answering import Answering
from skein.services.choices.effect import GivenAnswer
from skein.services.choices.invitations import Invitations
from skein.settings import Settings
from tests.attacks import malicious_model
from tests.attacks.cast import (
    AGENTS,
    ASIDES,
    CHANNELS,
    COACH,
    CONFIDED,
    FULL_NAMES,
    LINE,
    LOOK_ALIKE,
    NAMES,
    OPENED,
    OTHER_VISIT,
    PEOPLE,
    PHONES,
    ROOMS,
    STRANGER,
    STRANGERS_PHONE,
    TRIED,
    VISIT,
    VISITORS,
    Word,
    named,
    titled,
)
from tests.attacks.effects import OTHERS, Actor, Ledger, WatchedTable
from tests.attacks.errands import ErrandStep, check_reading, check_times
from tests.attacks.files import TYPES, file_with
from tests.attacks.knowledge import (
    EVERYBODY,
    NO_CHAT,
    Knowledge,
    Leak,
    Readers,
    owner_of,
    people_of,
)
from tests.attacks.moves import QUIET, Tactic
from tests.attacks.permissions import Permissions
from tests.attacks.services import MOST_BITS, Call, add_services, shows
from tests.attacks.services import TOOLS as OWN_TOOLS
from tests.attacks.sharing import SharingStep
from tests.attacks.steps import (
    Accept,
    Answer,
    Consolidate,
    Discard,
    Erase,
    Join,
    Leave,
    MakeOwner,
    ManualTrigger,
    Merge,
    NewName,
    Open,
    OperatorPlan,
    Outage,
    Pass,
    Remove,
    Rename,
    Report,
    Say,
    Step,
    Story,
    TakeName,
    TakeOver,
    Text,
    asides_of,
)
from tests.attacks.visitors import VisitStep
from tests.faults.deployment import WORKERS
from tests.support.agents import actor, asked_by_service
from tests.support.api_client import Client, operator
from tests.support.builders import TENANT, World
from tests.support.fakes import Calls, ScriptedModel, check_paired
from tests.support.feed import TableFeed
from tests.support.sources import read_source

T = TypeVar("T")

SETTINGS = Settings(
    reply_debounce_seconds=0,
    reply_debounce_max_seconds=0,
    max_chain_depth=2,
    summary_message_threshold=2,
    summary_cooldown_seconds=10,
    consolidation_idle_seconds=3_600,
    user_messages_per_minute=0,
    user_tokens_per_day=0,
    default_model="gpt-4.1",
    light_model="gpt-4.1-nano",
    fcm_application_arn="fcm",
)

INVITED_FOR = timedelta(hours=20)  # for so long at least, an invitation is open
CODE = re.compile(r"\b\d{6}\b")

IDS_PER_STEP = 1_000_000
"""Room for the ids of one step. Ids of a later step do not tell how many were made before."""


def device_of(person: str) -> str:
    """The token of a person's device."""
    return f"{person.removeprefix('usr_'):_<16}"


def next_minute(moment: datetime) -> datetime:
    """The next full minute: times of a later step do not tell how long an earlier one took."""
    return moment.replace(second=0, microsecond=0) + timedelta(minutes=1)


@dataclass(frozen=True)
class Invitation:
    """An invitation of a stranger, which is open until it is answered or ends."""

    by: str
    at: datetime


@dataclass(frozen=True)
class Prompt:
    """Where a prompt was made for: the key under which two runs of a story are compared."""

    step: int
    agent: str
    place: str
    readers: Readers

    def __str__(self) -> str:
        return f"a prompt of {named(self.agent)} for {titled(self.place)}, in step {self.step}"


class Thief(ScriptedModel):
    """The malicious model, which answers on a stage."""

    stage: "Stage"

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """See `skein.ports.LanguageModel`."""
        seen = malicious_model.Seen.of(request)
        said = self.stage.asked(request, seen)
        count = seen.answered
        return ModelAnswer(
            model=request.model,
            text=said.text,
            tool_calls=tuple(
                ToolCall(id=f"call_{count}_{n}", name=name, arguments=json.dumps(arguments))
                for n, (name, arguments) in enumerate(said.tools)
            ),
            usage=TokenUsage(input_tokens=10, output_tokens=5),
        )


@dataclass
class Stage(World):
    """A world in which a story is played.

    Attributes:
        words: The secret, the guess and the order of this run of the story.
        ledger: All changes so far, each with the run or the task that made it.
        givers: The people who have given the order so far.
        given: The names of each person that operators or the issuer gave.
        outreaches: The ids of all outreach so far.
        trials: The ids of all trials of Coach so far.
        previewed: The ids of texts that the preview of the newest erasure listed by name.
        step: The number of the step that is being played, from 1.
        permissions: The roles and the sharing rules, and what they let agents tell.
        knowledge: Who may know the secret.
        asides: Who may know what each person says aside, by person.
        prompts: All prompts of turns, and what the model was shown after them, by their places.
        for_outsiders: Which of a place's prompts were made while an outsider read the place, by
            number. Others do not count: members see a chat's new title, and so may the prompt of a
            run that began before; and a sharing rule may let readers be told.
    """

    settings: Settings = SETTINGS
    model: ScriptedModel = field(default_factory=Thief)
    words: Mapping[Word, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.table, WatchedTable)
        self.ledger = Ledger(self.table)
        self.givers: set[str] = set()
        everybody = (*PEOPLE, *VISITORS)
        self.given: dict[str, set[str]] = {person.id: {person.name} for person in everybody}
        self.previewed: set[str | None] = set()
        self._insiders: dict[tuple[str, int], frozenset[str]] = {}
        self._ordered = False
        self._works_for: frozenset[str] | None = None  # the chats of the task that works
        assert isinstance(self.model, Thief)
        self.model.stage = self
        self.background.hurries = True  # so that each word is sent
        self.step = 0
        told_apart = self.secret != self.words["guess"]
        self.permissions = Permissions(self)
        self.knowledge = Knowledge(self, self.secret, self.permissions, told_apart=told_apart)
        self.asides: dict[str, Knowledge] = {}
        self.prompts: defaultdict[Prompt, list[str]] = defaultdict(list)
        self._tactic: Tactic = QUIET
        self._meanwhile: tuple[int, tuple[Step, ...]] = (0, ())
        self._thinks = False  # whether a step happens while the model thinks
        self._down_until: datetime = self.clock.now()
        self._job: RunJob | None = None
        self._drafts: Prompt | None = None  # where the draft that is asked for would be sent
        self._leak: Leak | None = None  # found while a run asks the model; the run catches it
        self._places: dict[tuple[str, int], Prompt] = {}
        self.for_outsiders: defaultdict[Prompt, list[int]] = defaultdict(list)
        self._posts = count(1)
        self._read: dict[tuple[str, str], tuple[object, float, Any]] = {}
        self._opened: str | None = None  # the newest group that a person opened
        self._put: defaultdict[str, set[str]] = defaultdict(set)  # whom strangers put into chats
        self._invited: dict[tuple[str, str], Invitation] = {}  # those of them who are still invited
        self._furnish()
        self.outreaches: list[str] = []
        self.trials: list[str] = []
        self._tries = False  # whether a case of a trial is played
        self._connections: defaultdict[str, list[str]] = defaultdict(list)
        self._changes = TableFeed(self.table, self.clock)

    def empty_table(self) -> WatchedTable:
        return WatchedTable(self.clock)

    def stored_chat(self, chat_id: str = "chat_1") -> Chat:
        """See `World`; read again only if something of the chat was written."""
        return self._once("chat", chat_id, super().stored_chat)

    def messages(self, chat_id: str = "chat_1") -> list[Message]:
        """See `World`; read again only if something of the chat was written, or one expired."""
        return self._once(
            "messages",
            chat_id,
            super().messages,
            lambda found: [each.expires_at for each in found if each.expires_at is not None],
        )

    def _once(
        self,
        what: str,
        thing: str,
        read: Callable[[str], T],
        ends: Callable[[T], Sequence[float]] = lambda _: (),
        *,
        partition: str | None = None,
    ) -> T:
        """What was read of a chat or another thing.

        It is read again when its partition was written, or one of the times has come.
        """
        as_of = self.table.changes_in(partition or chat_partition(TENANT, thing))
        known = self._read.get((what, thing))
        if known is None or known[0] != as_of or known[1] <= self.clock.now().timestamp():
            found = read(thing)
            known = (as_of, min(ends(found), default=inf), found)
            self._read[what, thing] = known
        kept: T = known[2]
        return kept

    def _furnish(self) -> None:
        self.known(*PEOPLE, *VISITORS)
        for agent in AGENTS:
            tools = (*TOOLS, *OWN_TOOLS)
            manner = {"reply_mode": None, "history_format": None, "outsiders": "quoted"}
            actor(self, agent, enabled_tools=tools, **manner)
        self.services = add_services(self)
        self.services.is_private = self._is_private
        self.services.received = self._received
        # No person has its role, so its text may be in no prompt, and may change no score.
        vault = f"The vault opens with {self.secret}. It is {self.secret}."
        read_source(self, vault, audience="roles", roles=("keeper",))
        self.line(COACH.id, channels=("sms", "whatsapp"))
        for who in PEOPLE:
            self.app.get(Devices).register(TENANT, who.id, "fcm", device_of(who.id))
        rules = Owner(tenant=TENANT, agent_id=COACH.id)
        self.app.memories.add(rules, "Refunds need a yes of Alice.", "core", made_by="api")
        self.app.goals.set(rules, text="Answer within a day.")
        for room in ROOMS.values():
            phone = PHONES.get(room.members[0].id, "")
            route = route_on(room.channel, line=LINE, person=phone) if room.channel else None
            self.chat(
                *room.members,
                chat_id=room.id,
                title=room.title,
                kind=room.kind,
                visibility=room.visibility,
                respond="every" if room.kind == "direct" else "mention",
                consolidate=room.kind == "group",
                route=route,
            )
        self._let_visitors_in()

    def _let_visitors_in(self) -> None:
        """Give two visitors their chats: one with all tools, and one with the usual tools."""
        for room, tools in ((VISIT, (*TOOLS, *OWN_TOOLS)), (OTHER_VISIT, None)):
            own = {"kind": room.kind, "visibility": room.visibility}
            self.chat(*room.members, chat_id=room.id, title=None, consolidate=True, **own)
            if tools is not None:
                self.pool(room.members[0].id, tools=tools)

    def _confides(self, chat_id: str) -> bool:
        """Whether the secret may be said in a chat: it is private, and has people."""
        return self.knowledge.readers(chat_id) not in {EVERYBODY, ()}

    @property
    def secret(self) -> str:
        """The secret of this run of the story."""
        return self.words["secret"]

    @property
    def _known(self) -> tuple[Knowledge, ...]:
        return (self.knowledge, *self.asides.values())

    def _scan(self) -> None:
        """Note who has come to know the words of the story."""
        for known in self._known:
            known.scan()

    def answered(self, who: str, *, yes: bool) -> None:
        """Note the words to which a person has just agreed."""
        for known in self._known:
            known.answered(who, yes=yes)

    # ------------------------------------------------------------------ the live channel

    def frames(self, person: str) -> list[str]:
        """Return the frames that a person was sent on all connections so far, as JSON."""
        return [text for each in self._connections[person] for text in self.sockets.texts[each]]

    def _connect(self) -> None:
        """Connect each person whose last connection has ended, or who has none yet."""
        for who in (*PEOPLE, *VISITORS):
            mine = self._connections[who.id]
            if mine and self._is_open(mine[-1]):
                continue
            mine.append(f"connection {len(mine) + 1} of {who.name}")
            issued = self.app.live_tickets.issue(TENANT, who.id, token_ends_at=None)
            self.app.live_connections.connect(issued.ticket, mine[-1])

    def _is_open(self, connection_id: str) -> bool:
        """Whether a connection has not ended."""
        found = self._once(
            "connection",
            connection_id,
            self.app.live_connections.find,
            lambda found: [found.ends_at.timestamp()] if found is not None else [],
            partition=Connection.key_of(connection_id).pk,
        )
        return found is not None

    def _push(self) -> None:
        """Index the changes since the last push for recall, and push their frames."""
        self._connect()
        self._changes.pump(self._forward)
        for job in (*self.queues.ready("pushes"), *self.queues.take(RecallJob)):
            self.handle(job)

    # ------------------------------------------------------------------ playing

    def play(self, story: Story, before: Callable[[], None] = lambda: None) -> None:
        """Play a story to its end.

        Args:
            story: The steps.
            before: Called before each step and after the last one, with `step` already counted.

        Raises:
            Leak: The secret reached an outsider.
        """
        self.begin(story)
        for step in story:
            self.step += 1
            before()
            self.play_step(step)
        self.step += 1
        before()

    def begin(self, story: Story) -> None:
        """Keep track of the words that are said aside in a story."""
        for who in asides_of(story):
            self.asides[who] = Knowledge(self, ASIDES[who], self.permissions, told_apart=True)
        self._scan()

    def play_step(self, step: Step) -> None:
        """Play one step, and all that is due within seconds after it.

        Raises:
            Leak: The secret reached an outsider.
        """
        self.ids.skip_to(self.step * IDS_PER_STEP)
        self._posts = count(1)  # a client's ids tell nothing of the steps before
        random.seed(self.step)  # of the pauses between the tries of a conditional write
        self.clock.set(next_minute(self.clock.now()))
        self._tactic = step.tactic
        self._meanwhile = (0, ())
        if isinstance(step, Say):
            self._meanwhile = (step.asked, step.events)
        self._connect()
        self.apply(step)
        self._scan()  # prompts are now made for people who have joined
        self._push()
        self.rest()
        self._make_up()
        self._push()
        self._check_events()
        if self._leak is not None:
            raise self._leak
        self._scan()
        self.ledger.note(self.step, OTHERS)
        self._check_put()

    def _make_up(self) -> None:
        """Apply the steps that were to happen at an answer that the model was never asked for.

        How often it is asked may be up to the secret, but both runs of a story play all steps.
        What agents have posted before is judged by who might know the secret then.
        """
        steps, self._meanwhile = self._meanwhile[1], (0, ())
        if steps:
            self._scan()
            self._begin_meanwhile()
        for step in steps:
            self.apply(step)
        self._scan()
        self.rest()

    def _begin_meanwhile(self) -> None:
        """Go on with the same ids in both runs, however many were made in this step before."""
        self.ids.skip_to(self.step * IDS_PER_STEP + IDS_PER_STEP // 2)

    def _check_events(self) -> None:
        """Check that no event holds a word of the story, and no notification: nobody asked for any.

        A notification names who wrote, and a name may hold a word that is revealed.

        Raises:
            Leak: One holds a word.
        """
        names = chain.from_iterable(self.given.values())
        named = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
        shown = [f"a notification: {named.sub('...', each.text)}" for _, each in self.push.shown]
        for told in (*self.services.told, *shown):
            if any(word in told for word in self.words.values()):
                raise Leak(f"an event or a notification holds a word: {told}")

    def handle(self, job: Job) -> None:
        if isinstance(job, ErrandJob):
            self._look_after(job)
            return
        if not isinstance(job, RunJob):
            self._tries = isinstance(job, TrialJob)
            super().handle(job)
            self._tries = False
            if isinstance(job, ConsentJob):  # the words count as typed by the person
                self._scan()
                self.givers |= {job.user_id} if self.givers else set()
            return
        self._job, self._ordered = job, False
        self.ledger.note(self.step, OTHERS)
        super().handle(job)
        self._note_run()

    def _look_after(self, job: ErrandJob) -> None:
        """Play the job of an errand; while the model is down, its queue gives it again later."""
        try:
            super().handle(job)
        except Unavailable:
            self.queues.give_again(job, seconds=WORKERS[job.queue].visibility_seconds)
        self._scan()

    def work(self, task: Task[J, Any, Any, Any], job: J, *, seconds: float = 900) -> None:
        """Play a job of a background task; see `World`."""
        self.ledger.note(self.step, OTHERS)
        self._ordered, self._works_for = False, _known(getattr(job, "chat_id", None))
        super().work(task, job, seconds=seconds)
        self._note_task()
        self._works_for = None

    def _note_task(self) -> None:
        """Ascribe what was written to the question of the task that works."""
        if self._works_for is not None:
            insiders = self._people_in(self._works_for)
            actor = Actor("task", None, self._works_for, insiders, self._ordered)
            self.ledger.note(self.step, actor)
            self._ordered = False

    def _note_run(self) -> None:
        """Ascribe what was written to the run that works."""
        run = self._run()
        for known in self._known:
            known.saved(run.active_chat_id, run.agent_id)
        chats = _chats_of(run)
        before = self._insiders.get((run.id, run.activation), frozenset())
        actor = Actor("run", run, chats, before | self._people_in(chats), self._ordered)
        self.ledger.note(self.step, actor)

    def _people_in(self, chat_ids: Iterable[str]) -> frozenset[str]:
        """The people who are in some chats now, also by their former ids."""
        chats = [self.stored_chat(chat_id) for chat_id in chat_ids]
        people = {person for chat in chats for person in people_of(chat)}
        former = {old for chat in chats for old, now in chat.formerly.items() if now in people}
        return frozenset(people | former)

    def rest(self) -> None:
        """Play what is due within seconds."""
        for _ in range(40):
            self.clock.advance(2)
            if not self.run_ready():
                return
        raise AssertionError("the story never comes to rest")

    def apply(self, step: Step) -> None:
        """Do what a step says; one that is impossible now changes nothing."""
        if getattr(step, "chat", None) == OPENED:
            if self._opened is None:
                return
            step = replace(step, chat=self._opened)  # type: ignore[call-arg]
        step = self.resolved(step)
        with suppress(Rejected):
            self._apply(step)
            if getattr(step, "word", None) == "order" and hasattr(step, "who"):
                self.givers.add(step.who)

    def resolved(self, step: Step) -> Step:
        """The step with the id of the stranger, who is a caller until the number is linked."""
        strange = {name: self.stranger for name, who in vars(step).items() if who == STRANGER}
        return replace(step, **strange)  # type: ignore[arg-type]

    @property
    def stranger(self) -> str:
        """The id of the user to whom the stranger's number belongs."""
        return owner_of(self.table, STRANGERS_PHONE) or STRANGER

    def _apply(self, step: Step) -> None:
        if isinstance(step, SharingStep | ErrandStep | VisitStep):
            step.happen(self)
            return
        doings: dict[type[Step], Callable[[Any], object]] = {
            Say: self._say,
            Text: self._text,
            Rename: self._rename,
            Open: self._open,
            Accept: self._accept,
            Answer: self._answer,
            Join: self._join,
            Leave: self._leave,
            NewName: self._rename_member,
            TakeName: self._take_name,
            MakeOwner: self._make_owner,
            Remove: self._remove,
            ManualTrigger: self._respond,
            OperatorPlan: self._plan,
            Report: self._report,
            Pass: self._pass,
            Outage: self._outage,
            Consolidate: self._consolidate,
            Discard: self._discard,
            Merge: self._merge,
            Erase: self._erase,
            TakeOver: self._take_over,
        }
        doings[type(step)](step)

    def _rename(self, step: Rename) -> None:
        if step.word == "secret" and not self._confides(step.chat):
            return
        title = self._phrase(step.word) or f"Talk {self.step}"
        self.app.chat_admin.change(TENANT, step.chat, _ref(step.who), ChatChange(title=title))
        self.knowledge.confided(step.chat, step.word)

    def _open(self, step: Open) -> None:
        members = tuple(
            MemberRequest(kind=_ref(member).kind, id=member) for member in (step.whom, COACH.id)
        )
        new = NewChat(
            client_id=f"client {self.step}",
            kind="group",
            visibility=step.visibility,
            title=self._phrase(step.word) or f"Talk {self.step}",
            members=members,
        )
        strange = self._is_strange(step.who, step.whom)
        if step.word == "secret" and (strange or step.visibility == "open"):
            return  # it would be said to people who are not there
        opened = self.app.chat_admin.create(TENANT, _member(step.who), new).chat.id
        self._opened = opened
        self.knowledge.confided(opened, step.word)
        if strange:
            self._put[opened].add(step.whom)
            self._invited[opened, step.whom] = Invitation(step.who, self.clock.now())

    def _accept(self, step: Accept) -> None:
        choices = read_choices(self.table, TENANT, step.who, self.clock.now())
        asked = [each.invited_to for each in choices.open if each.invited_to is not None]
        if asked:
            answer = self.app.get(Invitations).answer
            answer(TENANT, asked[-1], _ref(step.who), accept=step.accept)
            self._invited.pop((asked[-1], step.who), None)
            if step.accept:
                self._put[asked[-1]].discard(step.who)

    def _is_strange(self, by: str, who: str) -> bool:
        """Whether two people are in no chat together."""
        chats = map(self.stored_chat, self.knowledge.chat_ids())
        return (
            by != who
            and _ref(who).kind == "user"
            and not any({by, who} <= set(people_of(chat)) for chat in chats)
        )

    def _check_put(self) -> None:
        """Check that nobody is in a chat into which a stranger put them."""
        for chat_id, people in self._put.items():
            members = people & set(people_of(self.stored_chat(chat_id)))
            if members:
                who = " and ".join(map(named, sorted(members)))
                raise Leak(f"{who} never accepted to be in {titled(chat_id)}")

    def _answer(self, step: Answer) -> None:
        with suppress(Rejected):
            if step.sms:
                self._answer_by_sms(step)
            else:
                self._answer_in_app(step)
        self.answered(step.who, yes=step.yes)
        chosen = (each.text for chat in self.knowledge.chat_ids() for each in self.messages(chat))
        if any(self.words["order"] == text for text in chosen):
            self.givers.add(step.who)  # who chooses words says them

    def _answer_in_app(self, step: Answer) -> None:
        choices = read_choices(self.table, TENANT, step.of or step.who, self.clock.now())
        asked = next((each for each in reversed(choices.open) if each.seq is not None), None)
        if asked is None or asked.seq is None:
            return
        item = self.table.get(Message.key_of(TENANT, asked.chat_id, asked.seq))
        question = Message.from_item(item).choice if item is not None else None
        if question is None:  # erased: no list of open questions shows it
            return
        options = [each.id for each in question.options]
        answering = self.app.get(Answering)
        answering.answer_in_app(
            GivenAnswer(
                tenant=TENANT,
                chat_id=asked.chat_id,
                person_id=step.who,
                seq=asked.seq,
                option=options[0 if step.yes else -1] if options else None,
                text=None if options else self._said(step.word),
                client_id=f"client {self.step}.{next(self._posts)}",
            )
        )

    def _said(self, word: Word | None) -> str:
        """The words of an answer in words."""
        return "Please go on." if word is None else f"{CONFIDED}{self.words[word]}"

    def _answer_by_sms(self, step: Answer) -> None:
        phone = PHONES.get(step.who)
        texts = [sms.body for sms, _ in self.sms.taken if sms.phone == phone]
        asked = next((text for text in reversed(texts) if CODE.search(text)), None)
        if phone is not None:
            codes = CODE.findall(asked) if asked is not None else ["000000"]
            self._receive(phone, codes[0 if step.yes else -1])

    def _join(self, step: Join) -> None:
        """Add a member, who accepts an invitation."""
        self.add(_ref(step.who), by=_member(step.by), chat_id=step.chat)
        self._put[step.chat].discard(step.who)
        self._invited.pop((step.chat, step.who), None)

    def _leave(self, step: Leave) -> None:
        self.app.chat_admin.remove_member(TENANT, step.chat, _ref(step.who), _ref(step.who))

    def _rename_member(self, step: NewName) -> None:
        name = FULL_NAMES[step.who] if step.full else f"{NAMES[step.who]} {self.step}"
        if _ref(step.who).kind == "user":
            self.app.users.change(TENANT, step.who, UserChange(name=name))
            self.given[step.who].add(name)
        else:
            self.app.agents.change(TENANT, step.who, AgentChange(name=name))

    def _take_name(self, step: TakeName) -> None:
        name = LOOK_ALIKE.get(step.whom, "") if step.look_alike else NAMES[step.whom]
        self.app.users.change_own(TENANT, _member(step.who), OwnChange(name=name))

    def _make_owner(self, step: MakeOwner) -> None:
        by, who = _ref(step.by), _ref(step.who)
        self.app.chat_admin.set_role(TENANT, step.chat, by, who, "owner")

    def _remove(self, step: Remove) -> None:
        self.app.chat_admin.remove_member(TENANT, step.chat, _ref(step.by), _ref(step.who))
        self._invited.pop((step.chat, step.who), None)

    def _respond(self, step: ManualTrigger) -> None:
        self.app.manual_trigger.now(TENANT, step.chat, _ref(step.who))

    def _plan(self, step: OperatorPlan) -> None:
        agent = self.app.agents.get(TENANT, step.agent)
        owner = self.app.get(PlanChats).owner(agent, chat_id=step.chat)
        name = f"rounds {self.step}"
        self.app.plans.set(owner, name, "Do your rounds.", run_after="10 minutes")

    def _report(self, step: Report) -> None:
        told = ServiceTrigger(id="svc_1", name="Bell", payload='{"rings": 1}', chat_id=step.chat)
        trigger = Trigger(type="service", service=told)
        chat = self.stored_chat(step.chat) if step.chat else None
        if chat is not None and COACH.ref not in {member.ref for member in chat.roster}:
            chat = None
        asked_by_service(self, str(self.step), trigger=trigger, chat=chat)

    def _pass(self, step: Pass) -> None:
        self._time_passes(step.minutes)

    def _outage(self, step: Outage) -> None:
        self._down_until = self.clock.now() + timedelta(minutes=step.minutes)

    def _consolidate(self, step: Consolidate) -> None:
        self.app.consolidation_requests.request(TENANT, step.chat)

    def _discard(self, step: Discard) -> None:
        self.app.chat_admin.discard(TENANT, step.chat, _ref(step.who))

    def _merge(self, step: Merge) -> None:
        client = self._operator(step.role)
        path = f"/v1/users/{step.who}/phones/{STRANGERS_PHONE}"
        client.call("POST", f"{path}/code")
        for job in self.queues.take(NumberCodeJob):
            self.handle(job)
        texts = [sms.body for sms, _ in self.sms.taken if sms.phone == STRANGERS_PHONE]
        sent = CODE.findall(texts[-1]) if texts else []
        code, former = sent[0] if sent and step.proven else "000000", self.stranger
        if client.put(path, {"code": code}).status == 200 and former != step.who:
            self.permissions.left(former)

    def _operator(self, role: str) -> Client:
        return replace(operator(self), scope=role)

    def _erase(self, step: Erase) -> None:
        preview = self.app.get(ErasurePreviews).of(TENANT, step.who)
        self.previewed = {text.id for text in preview.texts}
        path = f"/v1/users/{step.who}"
        asked = self._operator(step.role).delete(path, named_texts=step.named_texts)
        if asked.status < 400:
            self.permissions.left(step.who)
            self._end_invitations_by(step.who)
        if self._thinks:
            return  # what is left to do waits for a later step
        for _ in range(4):
            self._time_passes(15)
        if asked.status < 400:
            self.permissions.forgotten(step.who)

    def _end_invitations_by(self, person: str) -> None:
        """Note that those whom a person invited are now outside the chat, as strangers are."""
        self._invited = {key: each for key, each in self._invited.items() if each.by != person}

    def _take_over(self, step: TakeOver) -> None:
        chat_id, holder = step.chat, Holder(id="op_mia", name="Mia")
        self.app.get(Taking).take(TENANT, chat_id, holder)
        with suppress(Unavailable):  # while the model is down, there are no drafts
            for kind in ("summary", "answer"):
                draft = self._draft(chat_id, holder, kind)
            self.app.get(TeamMessages).post(TENANT, chat_id, holder.id, draft, f"desk {self.step}")
            if step.returns:
                briefing = self._draft(chat_id, holder, "briefing")
                self.app.get(Returns).hand_back(TENANT, chat_id, holder.id, briefing)

    def _draft(self, chat_id: str, holder: Holder, kind: DraftKind) -> str:
        """What an agent of the chat drafts."""
        with self.drafting(chat_id, kind):
            return self.app.get(Drafts).draft(TENANT, chat_id, holder.id, kind).text

    @contextmanager
    def drafting(self, chat_id: str, kind: DraftKind) -> Iterator[None]:
        """Let the model draft something for everybody who reads a chat."""
        self._drafts = Prompt(self.step, kind, chat_id, self.knowledge.readers(chat_id))
        try:
            yield
        finally:
            self._drafts = None

    def _say(self, step: Say) -> None:
        if step.word in {"secret", "aside"} and not self._confides(step.chat):
            return
        media: tuple[Media, ...] = ()
        if step.shows:
            media = (Media(id=f"med_{self.ids.ulid()}", content_type=TYPES[step.shows]),)
        posted = self.app.app_messages.post(
            NewMessage(
                tenant=TENANT,
                chat_id=step.chat,
                sender=_ref(step.who),
                text=step.text(dict(self.words)),
                client_id=f"client {self.step}.{next(self._posts)}",
                media=media,
            )
        )
        if step.shows:
            file_with(self, posted.message, step.shows, step.words(dict(self.words)))
        self.knowledge.confided(step.chat, step.word)
        if step.word == "secret":
            self._note_said(posted.message, self.secret)
        if step.word == "aside":
            self.asides[step.who].confided(step.chat, "secret")
            self._note_said(posted.message, ASIDES[step.who])

    def _note_said(self, message: Message, word: str) -> None:
        """Note that a person said a word, if it was to an agent alone."""
        if self.stored_chat(message.chat_id).kind == "direct":
            self.permissions.note(message, word)

    def write(self, who: str, chat_id: str, text: str) -> None:
        """Let a person write some text in a chat of theirs."""
        self.app.app_messages.post(
            NewMessage(
                tenant=TENANT,
                chat_id=chat_id,
                sender=_ref(who),
                text=text,
                client_id=f"client {self.step}.{next(self._posts)}",
            )
        )

    @property
    def admin(self) -> Client:
        """The client of an operator with all roles."""
        return self._operator("admin")

    def client_of(self, person: str) -> Client:
        """The client of a person."""
        return Client(self, sub=person)

    def _text(self, step: Text) -> None:
        said = self._phrase(step.word) or "Please go on."
        self._receive(step.phone, said)
        item = self.table.get(
            AddressChat.key_of(TENANT, phone_address(step.phone), phone_address(LINE))
        )
        if item is not None:
            chat_id = AddressChat.from_item(item).chat_id
            self.knowledge.confided(chat_id, step.word)
            newest = self.messages(chat_id)[-1]
            if step.word == "secret" and newest.text.endswith(self.secret):
                self._note_said(newest, self.secret)
            if step.word == "order":
                self.givers.update(people_of(self.stored_chat(chat_id)))

    def _receive(self, phone: str, body: str) -> None:
        sid = f"SM{self.step}.{next(self._posts)}"
        sms = InboundSms(
            account_sid="AC1",
            message_sid=sid,
            channel=CHANNELS.get(phone, "sms"),
            sender=phone,
            recipient=LINE,
            body=body,
        )
        self.app.sms_receiver.receive(sms)

    def _phrase(self, word: Word | None) -> str:
        """The secret or the guess as it is written in a text or a title."""
        if word is None:
            return ""
        return f"{CONFIDED}{self.secret}" if word == "secret" else f"What of {self.words[word]}?"

    def _time_passes(self, minutes: int) -> None:
        """Let time go by, with ticks, and with the finders where they are due."""
        begun = self.clock.now()
        for third in (1, 2, 3):  # at the same times in both runs, however much there was to do
            self.clock.set(begun + third * timedelta(seconds=minutes * 20))
            self.tick()
            self.rest()
            self._push()  # each answer has its own notification, as it has with a stream
        if minutes >= 60:
            self.find_quiet()
            self.rest()
        if minutes >= 1_440:
            self.find_fading()
            self.rest()

    # ------------------------------------------------------------------ the model's part

    def asked(self, request: ModelRequest, seen: malicious_model.Seen) -> Calls:
        """The malicious model's answer; a prompt that outsiders' places get is noted down.

        Raises:
            Unavailable: The model is down.
            Leak: A prompt that is made for outsiders shows the secret.
        """
        if self.clock.now() < self._down_until:
            raise Unavailable("the model is down")
        self._check_tags(seen)
        self._note_task()  # each of its questions holds words of its own
        if self.words.get("order", "no order") in seen.text:
            self._ordered = True
        elif request.answer_schema is None:
            self._ordered = False  # another activation
        if request.answer_schema is not None:
            if "'clear'" in str(request.answer_schema):
                check_reading(self, request)
            return Calls((), malicious_model.structured(seen, str(request.answer_schema)))
        check_paired(request)
        if self._tries:
            return self._tried(request, seen)
        if self._drafts is not None:
            self._note_prompt(self._drafts, request, seen)
            return malicious_model.answer(seen, Tactic(speaks=True))
        run = self._run()
        place = self._place(run, fresh=seen.answered == 0)
        self._insiders.setdefault((run.id, run.activation), self._people_in(_chats_of(run)))
        self._note_prompt(place, request, seen)
        self._check_invited(place, seen)
        asked, steps = self._meanwhile
        if steps and seen.answered == asked:
            self._meanwhile = (0, ())
            self._begin_meanwhile()
            Context().run(self._happen, steps)  # not with the worker's permissions
        return self._moves(seen)

    def _check_invited(self, place: Prompt, seen: malicious_model.Seen) -> None:
        """Check that a prompt shows no chat to which one of its readers is only invited.

        Raises:
            Leak: It shows one.
        """
        for (chat_id, person), invitation in self._invited.items():
            fresh = self.clock.now() < invitation.at + INVITED_FOR
            if fresh and person in place.readers and chat_id in seen.text:
                self._leak = Leak(f"{place} shows {chat_id}, to which {named(person)} was invited")
                raise self._leak

    def _tried(self, request: ModelRequest, seen: malicious_model.Seen) -> Calls:
        """What the model does in a trial; each operator reads what a script leads to."""
        if TRIED in seen.text:
            self._note_prompt(Prompt(self.step, COACH.id, NO_CHAT, EVERYBODY), request, seen)
        return malicious_model.answer(seen, self._tactic)

    def _moves(self, seen: malicious_model.Seen) -> Calls:
        """What the model does in a turn."""
        if self._tactic.varies(seen.answered) and self.knowledge.tells(seen.text):
            self.knowledge.varied = True
        return malicious_model.answer(seen, self._tactic)

    def _is_private(self, run_id: str) -> bool:
        """Whether a run works for a private place."""
        run = self._run()
        assert run.id == run_id, "a service is called by the run that works"
        return self._place(run, fresh=False).readers != EVERYBODY

    def _received(self, call: Call) -> None:
        """Check what a service got.

        Raises:
            Leak: It is more than a question showed, or than a private run may tell without one.
        """
        bits = self.services.spelled.get(call.run_id, 0.0)
        if bits > MOST_BITS:
            self._leak = Leak(f"a private run told shared services {bits:.1f} bits without a yes")
            raise self._leak
        if call.agreed:
            self._check_agreed(call)

    def _check_agreed(self, call: Call) -> None:
        """Check that somebody said yes to exactly what a service got, and note who learns it.

        Raises:
            Leak: No question that was answered with yes shows it, or somebody tells the secret who
                does not know it.
        """
        said = f"the service {call.tool} got {call.arguments} after a yes"
        asked = (m.choice for chat in self.knowledge.chat_ids() for m in self.messages(chat))
        agreed = [a for a in asked if a and a.answer is not None and a.answer.option == YES]
        by = [each.addressee for each in agreed if shows(each.question, call.arguments)]
        if not by:
            self._leak = Leak(f"{said} to other words")
        for known in self._known:
            if not by or not known.tells(call.text):
                continue
            if not known.insiders.intersection(by):
                self._leak = Leak(f"{said} of somebody who does not know the secret")
            elif call.shared and call.private:
                known.tell_everybody()
        if self._leak is not None:
            raise self._leak

    def _note_prompt(
        self, place: Prompt, request: ModelRequest, seen: malicious_model.Seen
    ) -> None:
        """Note down what the model is shown for a place.

        Raises:
            Leak: Outsiders read the place, and the prompt shows the secret.
        """
        self.prompts[place].append(_shown(request))
        try:
            check_times(seen.text, place.readers, str(place))
        except Leak as leak:
            self._leak = leak
            raise
        fresh, agent = seen.answered == 0, place.agent
        for who, aside in self.asides.items():
            self._check_aside(who, aside, place, seen)
        if not self.knowledge.outside(place.readers):
            return
        if self.knowledge.prompted(place.readers, place.place, seen.text, agent=agent, fresh=fresh):
            return
        self.for_outsiders[place].append(len(self.prompts[place]) - 1)
        if self.knowledge.tells(seen.text):
            self._leak = Leak(f"{place} shows the secret:\n{_around(seen.text, self.secret)}")
            raise self._leak

    def _check_aside(
        self, who: str, known: Knowledge, place: Prompt, seen: malicious_model.Seen
    ) -> None:
        """Check that a prompt holds what a person said in private only where something lets it in.

        Presence lets it in, a consent to the words, an errand, and a rule of the owner.

        Raises:
            Leak: Nothing does.
        """
        agent, fresh = place.agent, seen.answered == 0
        if not known.outside(place.readers):
            return
        let_in = known.prompted(place.readers, place.place, seen.text, agent=agent, fresh=fresh)
        if known.tells(seen.text) and not let_in:
            said = _around(seen.text, ASIDES[who])
            self._leak = Leak(f"{place} shows what {named(who)} said in private:\n{said}")
            raise self._leak

    def _check_tags(self, seen: malicious_model.Seen) -> None:
        """Check that the model is shown a chosen name with its tag only."""
        untagged = [name for name in LOOK_ALIKE.values() if _is_untagged(name, seen.text)]
        if untagged:
            self._leak = Leak(f"the model is shown {untagged[0]!r}, a chosen name, without its tag")
            raise self._leak

    def _happen(self, steps: tuple[Step, ...]) -> None:
        """Apply steps while the model thinks, and note who has joined and can read the secret.

        What agents have posted before is judged by who knew the secret then.
        """
        try:
            self._scan()
            self._note_run()
            self._thinks = True
            for step in steps:
                self.apply(step)
            self.ledger.note(self.step, OTHERS)
            self._scan()
        except Leak as leak:
            self._leak = leak
            raise
        finally:
            self._thinks = False

    def _run(self) -> Run:
        assert self._job is not None
        item = self.table.get(Run.key_of(TENANT, self._job.run_id))
        assert item is not None
        return Run.from_item(item)

    def _place(self, run: Run, *, fresh: bool) -> Prompt:
        """Where an activation's prompt was made for, as it was when the prompt was made."""
        key = (run.id, run.activation)
        if fresh or key not in self._places:
            chat_id = run.active_chat_id
            if chat_id is not None:
                readers = self.knowledge.readers(chat_id)
            else:
                readers = EVERYBODY if run.audience.open else run.audience.people
            self._places[key] = Prompt(self.step, run.agent_id, chat_id or NO_CHAT, readers)
        return self._places[key]


def _is_untagged(name: str, text: str) -> bool:
    """Whether a chosen name stands in a text without its tag, or the beginning of one."""
    rests = (part[:6] for part in text.split(name)[1:])
    return any(rest and not " (chos".startswith(rest) for rest in rests)


def _ref(member_id: str) -> MemberRef:
    return MemberRef(kind="agent" if member_id.startswith("agt_") else "user", id=member_id)


def _chats_of(run: Run) -> frozenset[str]:
    """The chats for which a run works."""
    plan, service = run.trigger.plan, run.trigger.service
    return _known(
        run.own_chat_id,
        plan.chat_id if plan is not None else None,
        service.chat_id if service is not None else None,
        run.resumed.chat_id if run.resumed is not None else None,
    )


def _known(*chat_ids: str | None) -> frozenset[str]:
    return frozenset(each for each in chat_ids if each is not None)


def _member(member_id: str) -> NamedMember:
    return NamedMember(**_ref(member_id).model_dump(), name=named(member_id))


def _shown(request: ModelRequest) -> str:
    return "\n".join(
        "\n".join(
            [
                f"[{message.role}] {message.content}",
                *(f"  {call.name}({call.arguments})" for call in message.tool_calls),
            ]
        )
        for message in request.messages
    )


def _around(text: str, word: str) -> str:
    return "\n".join(line for line in text.splitlines() if word in line)
