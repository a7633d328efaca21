"""A world whose erasure worker dies at given calls, so that others have to carry on."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import ClassVar

from skein.errors import NotFound
from skein.models.api.directory import NewUser
from skein.models.common.storage import Key, Query
from skein.models.outbox.jobs import ErasureJob
from skein.privacy.erasure_register import ErasureRegister
from skein.privacy.models.erasure import Erasure
from tests.fakes.table import MemoryTable
from tests.faults.deployment import Strike
from tests.support.agents import COACH, actor
from tests.support.api_client import everything
from tests.support.builders import LONG_INVOCATION, TENANT, World
from tests.support.erasure import BEN, BENS, MARK, NUMBER, OPEN, ZOE, indexed, settle, text, traces
from tests.support.fakes import Fuse, Killed, ScriptedModel, calls

METHODS = ("get", "get_many", "query", "write", "transact")


class StruckWorld(World):
    """A world in which something is erased, with deaths at calls of the table.

    Attributes:
        MINUTES: How many minutes may pass until the work is done.
    """

    MINUTES: ClassVar = 60

    def __post_init__(self) -> None:
        self.fuse, inner, register = Fuse(), MemoryTable(), MemoryTable()
        self.overrides = {
            "table": self.fuse.guard(inner, "table", METHODS),
            "erasure_register": self.fuse.guard(register, "erasure_register", METHODS),
        }
        self.model = self.script()
        super().__post_init__()
        self.table, self.register = inner, register
        self.plant()
        self.fuse.disarm()
        self.deaths = 0
        self.calls: list[str] = []

    def script(self) -> ScriptedModel:
        """Return the model of the agents."""
        raise NotImplementedError

    def plant(self) -> None:
        """Store what the erasure is to find."""
        raise NotImplementedError

    def ask(self) -> None:
        """Request the erasure; a client repeats the request until it is answered."""
        raise NotImplementedError

    @property
    def done(self) -> bool:
        """Whether no more minutes need to pass."""
        return False

    def play(self, *strikes: Strike) -> None:
        """Ask until the request is answered; then minutes pass."""
        coming = list(strikes)
        self._arm(coming)
        while not self._survives(self.ask, coming):
            pass
        for _ in range(self.MINUTES):
            for job in self.queues.take(ErasureJob):
                deadline = self.clock.now() + LONG_INVOCATION
                self._survives(
                    partial(self.app.eraser.continue_erasure, job, deadline=deadline), coming
                )
            self._survives(self.tick, coming)
            if self.done:
                break
            self.clock.advance(60)
        self.calls = list(self.fuse.calls)
        self.fuse.disarm()
        settle(self)

    def _arm(self, coming: list[Strike]) -> None:
        if coming:
            strike = coming.pop(0)
            self.fuse.arm(strike.call, after=strike.after)
        else:
            self.fuse.disarm()

    def _survives(self, work: Callable[[], object], coming: list[Strike]) -> bool:
        try:
            work()
        except Killed:
            self.deaths += 1
            self._arm(coming)
            return False
        return True


SAID = "I have never liked the blue car"
HELD = f"{ZOE.id}: {SAID}"
LEFT = "[erased]: [erased]"


class Erasing(StruckWorld):
    """A person with a chat by text, one in a group, and what agents made of their words."""

    MINUTES = 200

    def script(self) -> ScriptedModel:
        return ScriptedModel.saying(
            calls(("set_goal", {"text": f"Find {MARK}"}), ("send_message", {"text": "Noted"})),
            calls(("set_goal", {"text": HELD}), ("send_message", {"text": HELD})),
            calls(("read_messages", {"chat_id": OPEN})),
            calls(("set_goal", {"text": HELD}), ("send_message", {"text": HELD})),
            default=calls("end_run"),
        )

    def plant(self) -> None:
        actor(self)
        self.line()
        self.app.users.create(TENANT, NewUser(id=ZOE.id, name=ZOE.name, phones=(NUMBER,)))
        self.chat(ZOE, BEN, COACH, chat_id=OPEN, respond="mention", consolidate=True)
        self.post("Good morning", BEN, chat_id=OPEN)
        self.post(f"@Coach remember {MARK}", ZOE, chat_id=OPEN)
        settle(self)
        self.post(SAID, ZOE, chat_id=OPEN)
        self.post("@Coach what did she say?", BEN, chat_id=OPEN)
        settle(self)
        self.chat(BEN, COACH, chat_id=BENS, kind="direct", visibility="private")
        self.post("What is up in the group?", BEN, chat_id=BENS)
        settle(self)
        text(self, MARK)
        settle(self)
        self.post(f"@Coach and {MARK}, too", ZOE, chat_id=OPEN)  # a run that has not begun
        indexed(self)

    def ask(self) -> None:
        with suppress(NotFound):  # it was done before the answer got lost
            self.app.erasures.request(TENANT, ZOE.id, by="usr_op")

    @property
    def erasures(self) -> list[Erasure]:
        page = self.table.query(Query(f"{TENANT}#ERASURES"))
        return [Erasure.from_item(item) for item in page.items if item["sk"].count("#") == 1]

    @property
    def done(self) -> bool:
        return any(erasure.stage == "done" for erasure in self.erasures)

    def left(self) -> set[Key]:
        """What is stored once it is over, but for the record of the erasure."""
        return {key for key in everything(self) if "#ERASURES" not in key.pk}

    def check(self, expected: set[Key]) -> None:
        [erasure] = self.erasures
        assert erasure.stage == "done"
        assert traces(self, "blue car") == {}
        left = [message.text for message in self.messages(OPEN) if message.kind == "text"]
        assert left == ["Good morning", "Noted", "@Coach what did she say?", LEFT]
        goals = [item for key, item in self.table.all_items().items() if key.sk.startswith("GOAL#")]
        assert [goal["text"] for goal in goals] == [LEFT, LEFT]
        assert self.messages(BENS)[-1].text == LEFT
        assert self.left() == expected
        [entry] = ErasureRegister(table=self.register).entries()
        assert (entry.erasure_id, entry.user_ids) == (erasure.id, (ZOE.id,))
