"""A person deletes a message, with a death at every call to the outside on the way."""

from collections.abc import Callable
from functools import cache, partial

from skein.models.common.storage import Key
from skein.models.outbox.jobs import ErasureJob
from tests.fakes.table import MemoryTable
from tests.faults.deployment import Strike, deaths, named
from tests.faults.sampling import Share
from tests.support.agents import COACH, actor
from tests.support.api_client import everything
from tests.support.builders import LONG_INVOCATION, TENANT, World
from tests.support.erasure import BEN, MARK, ZOE, indexed, lines_of, settle
from tests.support.fakes import Fuse, Killed, ScriptedModel, calls

METHODS = ("get", "get_many", "query", "write", "transact")
MINUTES = 60
DELETED = 2


class Deleting(World):
    """A message that an agent has answered, here and in another chat."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        elsewhere = {"text": "Zoë said something", "chat_id": "chat_else"}
        self.model = ScriptedModel.saying(
            calls(("send_message", elsewhere), ("send_message", {"text": "Noted"})),
            default=calls("end_run"),
        )
        super().__post_init__()
        self.table = inner
        actor(self)
        self.known(ZOE, BEN)
        self.chat(ZOE, BEN, COACH, respond="mention")
        self.chat(ZOE, BEN, COACH, chat_id="chat_else", respond="manual")
        self.post("Good morning", BEN)
        self.post(f"@Coach remember {MARK}", ZOE)
        settle(self)
        indexed(self)
        self.fuse.disarm()
        self.deaths = 0
        self.calls: list[str] = []

    def play(self, *strikes: Strike) -> None:
        """The person asks until it is answered; then minutes pass."""
        coming = list(strikes)
        self._arm(coming)
        ask = partial(self.app.message_deletion.delete, TENANT, ZOE.ref, "chat_1", DELETED)
        while not self._survives(ask, coming):
            pass
        for _ in range(MINUTES):
            for job in self.queues.ready("erasures"):
                assert isinstance(job, ErasureJob)
                deadline = self.clock.now() + LONG_INVOCATION
                self._survives(partial(self.app.eraser.carry_on, job, deadline=deadline), coming)
            self._survives(self.tick, coming)
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

    def left(self) -> set[Key]:
        """The keys of all items, without those of limits, which depend on repeated calls."""
        return {key for key in everything(self) if "#LIMIT#" not in key.pk}

    def check(self, expected: set[Key]) -> None:
        assert not [key for key in self.left() if "#ERASURES" in key.pk]
        assert [key for key, text in lines_of(self) if MARK in text] == []
        kinds = [message.kind for message in self.messages()]
        assert kinds == ["text", "deleted", "text"]
        assert self.texts() == ["Good morning", "", "Noted"]
        assert [run.status for run in self.runs()] == ["done"]
        assert self.left() == expected


@cache
def undisturbed() -> Deleting:
    """Delete without a fault."""
    world = Deleting()
    world.play()
    return world


def strikes() -> list[Strike]:
    """List the deaths of a deletion."""
    return deaths(undisturbed().calls)


def test_deletion_without_fault_leaves_no_trace() -> None:
    found = [key for key, text in lines_of(Deleting()) if MARK in text]
    assert {"MSG", "RECALL", "WORD"} <= {key.split("sk='")[1].split("#")[0] for key in found}
    undisturbed().check(undisturbed().left())
    assert len(strikes()) > 15


def test_deletion_death_is_completed_by_another_worker(share: Share) -> None:
    left = undisturbed().left()
    for strike in share.of(strikes()):
        world = Deleting()
        with named(strike, calls=undisturbed().calls):
            world.play(strike)
            assert world.deaths == 1
            world.check(left)
