"""What a context costs: rounds and calls of the table, bytes, and calls of our own code."""

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from skein.adapters.parallel import map_threads
from skein.agent.sections.borrowed import BorrowedItems
from skein.agent.sections.other_conversations import OtherSummaries
from skein.agent.sections.your_chats import YourChats
from skein.agent.tools import enabled
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.memory.models.memory import Memory, MemoryKind
from skein.memory.sections import Memories
from skein.models.chats.borrowed import BorrowedContext, BorrowedMessage
from skein.models.chats.chat import Chat, LastMessage, Message
from skein.models.chats.membership import Membership
from skein.models.chats.summary import PinnedSummary, Summary
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import Item, Key, Page, Put, Query
from skein.models.config.overrides import TenantSettings
from skein.models.directory.agent import DEFAULT_TOOLS
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import private_scope
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.planning.sections import Goals, Plans
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel
from tools.reference.one_sms import Walk

HUSAM, COACH = person(), bot()
DIRECT = {"kind": "direct", "visibility": "private"}
ROUNDS = 2
CALLS = 6
BORROWED = 1  # the second batch, which only a prompt with borrowed messages needs here
SEARCHES = {"direct": 2, "group": 1}  # what recall adds to round two, besides its postings
POSTINGS = 1
FIRST_ROUND = {"direct": 5, "group": 3}


class Together(MemoryTable):
    """Answers no query before all those of a round have been asked: they must be asked at once."""

    def __init__(self) -> None:
        super().__init__()
        self.round: threading.Barrier | None = None
        self.singles = 0

    def expect(self, queries: int) -> None:
        self.log.clear()
        self.singles = 0
        self.round = threading.Barrier(queries)

    def query(self, query: Query) -> Page:
        self._wait()
        return super().query(query)

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        self.singles += 1
        return super().get_many(keys, consistent=consistent)

    def _wait(self) -> None:
        if self.round is not None:
            self.round.wait(timeout=30)


class Canned(MemoryTable):
    """Answers each question at once, the second time: what is left is the work of our own."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[Any, Any] = {}

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        return dict(self._known(tuple(keys), super().get_many, keys))

    def query(self, query: Query) -> Page:
        page: Page = self._known(repr(query), super().query, query)
        return page

    def _known(self, question: Any, ask: Callable[..., Any], request: Any) -> Any:
        if question not in self.answers:
            self.answers[question] = ask(request)
        return self.answers[question]


class Crowded:
    """An agent with much of everything, in a direct chat or in a group."""

    def __init__(
        self,
        kind: str,
        *,
        table: MemoryTable | None = None,
        settings: Settings | None = None,
        messages: int = 50,
        chats: int = 20,
        intents: int = 100,
        ended: int = 0,
    ) -> None:
        table = table or MemoryTable()
        model = ScriptedModel.saying(default="OK")
        self.world = World(
            settings or Settings(), model, overrides={"table": table, "parallel_map": map_threads}
        )
        self.world.table = table
        self.world.agent(system_prompt="You coach runners.", history_format=None, reply_mode=None)
        self.private = kind == "direct"
        fields = DIRECT if self.private else {}
        self.chat = self.world.chat(HUSAM, COACH, **fields)
        scope = private_scope(user_id=HUSAM.id) if self.private else None
        audience = Audience(open=False, people=(HUSAM.id,)) if self.private else OPEN
        self._messages(messages)
        self._summary(audience)
        self._borrowed(audience, newest=chats - 1)
        self._chats(chats, fields, audience)
        self._intents(intents, scope, audience)
        self._ended(ended, scope, audience)

    def _put(self, thing: Any, *arguments: Any) -> None:
        self.world.table.write(Put(thing.key, thing.to_item(*arguments)))

    def _messages(self, count: int) -> None:
        said = [
            Message(
                tenant=TENANT,
                chat_id="chat_1",
                id=f"msg_{seq:06d}",
                seq=seq,
                text="How far shall I run today, and how fast? " * 4,
                sender=HUSAM if seq % 2 else COACH,
                client_id=f"{seq:06d}",
                created_at=NOON + timedelta(seconds=seq),
            )
            for seq in range(1, count + 1)
        ]
        for message in said:
            self._put(message)
        changed = {"last_seq": count, "last_message": said[-1].preview() if said else None}
        self.chat = self.chat.model_copy(update=changed)
        self._put(self.chat)

    def _summary(self, audience: Audience) -> None:
        """A summary of what lies before the newest 50 messages."""
        seq = max(self.chat.last_seq - 50, 0)
        record = Summary(
            text="They spoke of running. " * 80, from_seq=1, seq=seq, audience=audience, at=NOON
        )
        pin = PinnedSummary(**record.model_dump(exclude={"at"}), start=seq + 1)
        self.chat = self.chat.model_copy(update={"summary": record, "pinned": pin})
        self._put(self.chat)

    def _borrowed(self, audience: Audience, *, newest: int) -> None:
        said = BorrowedMessage(
            seq=1, author="Somebody", sender=HUSAM.ref, text="How far shall I run today? " * 70
        )
        self._put(
            BorrowedContext(
                tenant=TENANT,
                chat_id="chat_1",
                agent_id=COACH.id,
                staging="run_1:1:1",
                source_chat_id=f"chat_x{newest:05d}",
                source_title="Sales",
                messages=(said,) * 10,
                audience=audience,
                last_message_at=NOON,
                created_at=NOON,
            )
        )

    def _chats(self, count: int, fields: dict[str, Any], audience: Audience) -> None:
        note = Summary(
            text=f"{'a' * 249}\n{'b' * 250}", from_seq=1, seq=9, audience=audience, at=NOON
        )
        spoken = LastMessage(seq=9, text="Hi", sender=HUSAM, created_at=NOON)
        others = [person(f"usr_{n}", f"Somebody {n}") for n in range(4)]
        direct = fields.get("kind") == "direct"
        for n in range(count):
            roster: tuple[NamedMember, ...] = (HUSAM, COACH, *(() if direct else others))
            chat = Chat(
                tenant=TENANT,
                id=f"chat_x{n:05d}",
                title=f"A chat about running, number {n:05d}",
                kind="group",
                visibility="private" if direct else "open",
                roster=roster,
                last_seq=9,
                last_message=spoken,
                activity_hour=NOON + timedelta(hours=n % 1_000),
                created_at=NOON + timedelta(minutes=n),
            )
            self._put(chat)
            for member in (HUSAM, COACH):
                membership = Membership(tenant=TENANT, chat_id=chat.id, member=member)
                noted = {"summary": note if member is COACH else None}
                self._put(membership.model_copy(update=noted), chat)

    def _intents(self, count: int, scope: str | None, audience: Audience) -> None:
        owned = {"tenant": TENANT, "agent_id": COACH.id, "scope": scope, "audience": audience}
        for n in range(count):
            goal = {"id": f"goal_{n:03d}", "text": f"Get Husam to run {n:03d} kilometres"}
            self._put(Goal(**owned, **goal, created_at=NOON))
            plan = {"id": f"plan_{n:03d}", "name": f"Check {n:03d}", "instruction": "Ask him."}
            times = {"cron": "0 9 * * *", "next_at": NOON + timedelta(hours=n + 1)}
            self._put(Plan(**owned, **plan, **times, created_at=NOON))
            self._put(self._memory(n, owned))

    def _memory(self, n: int, owned: dict[str, Any], **fields: Any) -> Memory:
        kind: MemoryKind = "journal" if n % 2 else "core"
        return Memory(
            **owned,
            id=f"mem_{n:05d}",
            kind=kind,
            text=f"On day {n:05d} Husam ran as far as he had promised, and was glad.",
            made_by="consolidation",
            fades_at=NOON + timedelta(days=7) if kind == "journal" else None,
            created_at=NOON,
            **fields,
        )

    def confide(self, people: int) -> None:
        """Let the agent remember something of so many others, each in private."""
        for n in range(people):
            owned = {
                "tenant": TENANT,
                "agent_id": COACH.id,
                "scope": private_scope(user_id=f"usr_x{n}"),
                "audience": Audience(open=False, people=(f"usr_x{n}",)),
            }
            self._put(self._memory(n, owned))

    def _ended(self, count: int, scope: str | None, audience: Audience) -> None:
        owned = {"tenant": TENANT, "agent_id": COACH.id, "scope": scope, "audience": audience}
        for n in range(count):
            goal = {"id": f"goal_e{n:03d}", "text": "ExceededLimit", "status": "completed"}
            self._put(Goal(**owned, **goal, created_at=NOON))
            plan = {"id": f"plan_e{n:03d}", "name": f"Over {n}", "instruction": "Over."}
            self._put(Plan(**owned, **plan, run_after="1 day", status="done", created_at=NOON))
            self._put(self._memory(90_000 + n, owned, status="removed"))
            trigger = Trigger(type="manual", by=HUSAM.ref)
            for home in ("chat_1", COACH.id):
                self._put(
                    Run(
                        tenant=TENANT,
                        id=run_id_in(home, f"e{n:03d}"),
                        agent_id=COACH.id,
                        chat_id="chat_1" if home == "chat_1" else None,
                        status="done",
                        trigger=trigger,
                        created_at=NOON,
                    ),
                    NOON,
                )

    def read(self) -> Reading:
        membership = self.world.membership(MemberRef(kind="agent", id=COACH.id))
        self.world.table.log.clear()
        if isinstance(self.world.table, Together):
            self.world.table.expect(FIRST_ROUND["direct" if self.private else "group"])
        claimed = {TenantSettings.key_of(TENANT): None}  # claims read it together with the run
        return self.world.app.reader.read(self.run, self.chat, membership, claimed)

    @property
    def run(self) -> Run:
        last = self.chat.last_seq
        trigger = Trigger(type="chat_message", seq=last, from_seq=last, by=HUSAM.ref)
        return Run(
            tenant=TENANT,
            id=run_id_in("chat_1", "1"),
            agent_id=COACH.id,
            chat_id="chat_1",
            trigger=trigger,
            created_at=NOON,
        )

    @property
    def calls(self) -> int:
        return len(self.world.table.log)

    @property
    def bytes(self) -> int:
        return sum(call.bytes for call in self.world.table.log)


@pytest.mark.parametrize("kind", ["direct", "group"])
def test_a_context_is_read_in_two_rounds_and_at_most_six_calls(kind: str) -> None:
    table = Together()
    crowded = Crowded(kind, table=table, chats=60)
    reading = crowded.read()
    assert table.singles == ROUNDS - 1 + POSTINGS + BORROWED
    assert crowded.calls == FIRST_ROUND[kind] + 1 + SEARCHES[kind] + POSTINGS + BORROWED
    assert FIRST_ROUND[kind] + 1 <= CALLS
    owned = reading.of(Goals).goals, reading.of(Plans).plans, reading.of(Memories).memories
    assert [len(items) for items in owned] == [100, 100, 100]
    assert len(reading.of(YourChats).listed) == 20
    assert reading.of(History).before is not None
    assert reading.of(BorrowedItems).context is not None
    assert len(reading.of(OtherSummaries).chats) == 10


@pytest.mark.check
@pytest.mark.parametrize("times", [1, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["direct", "group"])
def test_a_context_costs_the_same_however_much_lies_behind(kind: str, times: int) -> None:
    few, some = Crowded(kind, chats=10), Crowded(kind, messages=100, chats=60)
    many = Crowded(kind, messages=160 * times, chats=200 * times, ended=40 * times)
    many.confide(80 * times)
    assert len(few.read().of(YourChats).listed) == 11
    assert [len(one.read().of(YourChats).listed) for one in (some, many)] == [20, 20]
    assert many.calls == some.calls == few.calls
    assert many.bytes <= some.bytes * 1.01


@pytest.mark.parametrize(("kind", "most"), [("direct", 18), ("group", 15)])
def test_an_answer_costs_a_fixed_number_of_calls(kind: str, most: int) -> None:
    crowded = Crowded(kind, chats=60)
    world = crowded.world
    world.agent(reply_mode="text", history_format="roles")
    world.post("How far today?", HUSAM)
    world.clock.advance(2)
    [job] = world.queues.ready("turns")
    world.table.log.clear()
    world.take(job)  # type: ignore[arg-type]
    methods = [call.method for call in world.table.log]
    assert world.texts()[-1] == "OK"
    assert len(methods) <= most, f"claim, turn and answer took {len(methods)} calls: {methods}"


@pytest.mark.parametrize("kind", ["direct", "group"])
def test_a_context_takes_a_bounded_number_of_calls_of_our_own(kind: str) -> None:
    crowded = Crowded(kind, table=Canned(), settings=Settings(message_history_limit=50))
    world = crowded.world
    tools = [tool.spec for tool in enabled(DEFAULT_TOOLS)]
    membership = world.membership(COACH)

    def built() -> Reading:
        reading = world.app.reader.read(crowded.run, crowded.chat, membership)
        world.app.prompt_builder.build(crowded.run, reading, tools)
        return reading

    built()  # from now on, the table's answers are known
    world.clock.set(NOON + timedelta(minutes=1))  # what is left until a plan changes
    work = Walk()
    with work.recorded():
        reading = built()
    assert len(reading.of(History).messages) == 50
    calls = work.modules.total()
    assert calls < 40_000, f"{calls} calls, most of them in {work.modules.most_common(5)}"
