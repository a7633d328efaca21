"""A person is erased, with a death at every call to the outside on the way."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial

from skein.errors import NotFound
from skein.models.api.directory import NewUser
from skein.models.common.storage import Key, Query
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import ErasureJob
from skein.models.privacy.erasure import Erasure
from skein.services.privacy.erasure_register import ErasureRegister
from tests.fakes.table import MemoryTable
from tests.faults.deployment import Strike, deaths, named
from tests.faults.sampling import Share, pairs
from tests.support.agents import COACH, actor
from tests.support.api_client import everything
from tests.support.builders import LINE, LONG_INVOCATION, TENANT, World
from tests.support.erasure import BEN, MARK, NUMBER, OPEN, ZOE, indexed, settle, traces
from tests.support.fakes import Fuse, Killed, ScriptedModel, calls

METHODS = ("get", "get_many", "query", "write", "transact")
MINUTES = 200
PAIRS = 25


class Erasing(World):
    """A person with a chat by text, one in a group, and a goal made of their words."""

    def __post_init__(self) -> None:
        self.fuse, inner, register = Fuse(), MemoryTable(), MemoryTable()
        self.overrides = {
            "table": self.fuse.guard(inner, "table", METHODS),
            "erasure_register": self.fuse.guard(register, "erasure_register", METHODS),
        }
        self.model = ScriptedModel.saying(
            calls(("set_goal", {"text": f"Find {MARK}"}), ("send_message", {"text": "Noted"})),
            default=calls("end_run"),
        )
        super().__post_init__()
        self.table, self.register = inner, register
        actor(self)
        self.line()
        self.app.users.create(TENANT, NewUser(id=ZOE.id, name=ZOE.name, phones=(NUMBER,)))
        self.chat(ZOE, BEN, COACH, chat_id=OPEN, respond="mention", consolidate=True)
        self.post("Good morning", BEN, chat_id=OPEN)
        self.post(f"@Coach remember {MARK}", ZOE, chat_id=OPEN)
        settle(self)
        sms = InboundSms(
            account_sid="AC1", message_sid="SM1", sender=NUMBER, recipient=LINE, body=MARK
        )
        self.app.sms_receiver.receive(sms)
        settle(self)
        self.post(f"@Coach and {MARK}, too", ZOE, chat_id=OPEN)  # a run that has not begun
        indexed(self)
        self.fuse.disarm()
        self.deaths = 0
        self.calls: list[str] = []

    def play(self, *strikes: Strike) -> None:
        """The operator asks until it is answered; then minutes pass until it is done."""
        coming = list(strikes)
        self._arm(coming)
        while not self._survives(self._ask, coming):
            pass
        for _ in range(MINUTES):
            for job in self.queues.ready("erasures"):
                assert isinstance(job, ErasureJob)
                deadline = self.clock.now() + LONG_INVOCATION
                carry_on = partial(self.app.eraser.carry_on, job, deadline=deadline)
                self._survives(carry_on, coming)
            self._survives(self.tick, coming)
            if self._done:
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

    def _ask(self) -> None:
        with suppress(NotFound):  # it was done before the answer got lost
            self.app.erasures.request(TENANT, ZOE.id, by="usr_op")

    def _survives(self, work: Callable[[], object], coming: list[Strike]) -> bool:
        try:
            work()
        except Killed:
            self.deaths += 1
            self._arm(coming)
            return False
        return True

    @property
    def erasures(self) -> list[Erasure]:
        page = self.table.query(Query(f"{TENANT}#ERASURES"))
        return [Erasure.from_item(item) for item in page.items if item["sk"].count("#") == 1]

    @property
    def _done(self) -> bool:
        return any(erasure.stage == "done" for erasure in self.erasures)

    def left(self) -> set[Key]:
        """What is stored once it is over, but for the record of the erasure."""
        return {key for key in everything(self) if "#ERASURES" not in key.pk}

    def check(self, expected: set[Key]) -> None:
        [erasure] = self.erasures
        assert erasure.stage == "done"
        assert traces(self) == {}
        assert [m.text for m in self.messages(OPEN) if m.sender.ref == BEN.ref] == ["Good morning"]
        assert self.left() == expected
        [entry] = ErasureRegister(table=self.register).entries()
        assert (entry.erasure_id, entry.user_ids) == (erasure.id, (ZOE.id,))


@cache
def undisturbed() -> Erasing:
    """Erase without a fault."""
    world = Erasing()
    world.play()
    return world


def strikes() -> list[Strike]:
    """List the deaths of an erasure."""
    return deaths(undisturbed().calls)


def test_erasure_without_fault_leaves_no_trace() -> None:
    assert {"RECALL", "WORD"} <= {key.split("sk='")[1].split("#")[0] for key in traces(Erasing())}
    undisturbed().check(undisturbed().left())
    assert len(strikes()) > 50


def test_erasure_death_is_completed_by_another_worker(share: Share) -> None:
    left = undisturbed().left()
    for strike in share.of(strikes()):
        world = Erasing()
        with named(strike, calls=undisturbed().calls):
            world.play(strike)
            assert world.deaths == 1
            world.check(left)


def test_erasure_second_death_during_recovery_is_completed(share: Share) -> None:
    left = undisturbed().left()
    again = [Strike(call, after) for call in range(1, 200) for after in (False, True)]
    for first, second in share.of(pairs(strikes(), PAIRS, seed="erasure", then=again)):
        world = Erasing()
        with named(first, second, calls=undisturbed().calls):
            world.play(first, second)
            world.check(left)
