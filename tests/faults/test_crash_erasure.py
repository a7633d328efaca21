"""A person is erased, with a death at every call to the outside on the way."""

from contextlib import suppress
from functools import cache

from skein.errors import NotFound
from skein.models.api.directory import NewUser
from skein.models.common.storage import Key, Query
from skein.privacy.erasure_register import ErasureRegister
from skein.privacy.models.erasure import Erasure
from tests.faults.deployment import Strike, deaths, named
from tests.faults.erasures import StruckWorld
from tests.faults.sampling import FaultShare, pairs
from tests.support.agents import COACH, actor
from tests.support.api_client import everything
from tests.support.builders import TENANT
from tests.support.erasure import BEN, BENS, MARK, NUMBER, OPEN, ZOE, indexed, settle, text, traces
from tests.support.fakes import ScriptedModel, calls

PAIRS = 25
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


def test_erasure_death_is_completed_by_another_worker(share: FaultShare) -> None:
    left = undisturbed().left()
    for strike in share.of(strikes()):
        world = Erasing()
        with named(strike, calls=undisturbed().calls):
            world.play(strike)
            assert world.deaths == 1
            world.check(left)


def test_erasure_second_death_during_recovery_is_completed(share: FaultShare) -> None:
    left = undisturbed().left()
    again = [Strike(call, after) for call in range(1, 200) for after in (False, True)]
    for first, second in share.of(pairs(strikes(), PAIRS, seed="erasure", then=again)):
        world = Erasing()
        with named(first, second, calls=undisturbed().calls):
            world.play(first, second)
            world.check(left)
