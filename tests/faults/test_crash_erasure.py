"""A person is erased, with a death at every call to the outside on the way."""

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from skein.errors import NotFound
from skein.models.api.directory import NewUser
from skein.models.common.storage import Key
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import ErasureJob
from skein.models.privacy.erasure import Erasure
from tests.fakes.table import MemoryTable
from tests.faults.deployment import Strike, deaths, named
from tests.support.agents import COACH, actor
from tests.support.api_client import everything
from tests.support.builders import LINE, LONG_INVOCATION, TENANT, World
from tests.support.erasure import BEN, MARK, NUMBER, OPEN, ZOE, settle, traces
from tests.support.fakes import Fuse, Killed, ScriptedModel, calls

METHODS = ("get", "get_many", "query", "query_index", "write", "transact")
MINUTES = 200
PAIRS = 25


class Erasing(World):
    """A person with a chat by text, one in a group, and a goal made of their words."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        self.model = ScriptedModel.saying(
            calls(("set_goal", {"text": f"Find {MARK}"}), ("send_message", {"text": "Noted"})),
            default=calls("end_run"),
        )
        super().__post_init__()
        self.table = inner
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
        self.app.ingest.receive(sms)
        settle(self)
        self.post(f"@Coach and {MARK}, too", ZOE, chat_id=OPEN)  # a run that has not begun
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
        page = self.table.query(f"{TENANT}#ERASURES")
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


def undisturbed() -> Erasing:
    world = Erasing()
    world.play()
    return world


CLEAN = undisturbed()
LEFT = CLEAN.left()
DEATHS = deaths(CLEAN.calls)


def test_what_is_played_leaves_nothing_and_is_worth_dying_in() -> None:
    assert traces(Erasing())
    CLEAN.check(LEFT)
    assert len(DEATHS) > 50


@pytest.mark.parametrize("strike", DEATHS, ids=str)
def test_whoever_dies_while_erasing_is_followed_by_another(strike: Strike) -> None:
    world = Erasing()
    with named(strike, calls=CLEAN.calls):
        world.play(strike)
        assert world.deaths == 1
        world.check(LEFT)


@pytest.mark.parametrize("seed", range(PAIRS))
def test_two_deaths_do_no_more_harm_than_one(seed: int) -> None:
    chance = random.Random(seed)
    pair = (chance.choice(DEATHS), Strike(chance.randrange(1, 200), chance.random() < 0.5))
    world = Erasing()
    with named(*pair, calls=CLEAN.calls):
        world.play(*pair)
        world.check(LEFT)
