"""A person deletes a message, with a death at every call to the outside on the way."""

from functools import cache

from skein.models.common.storage import Key
from tests.faults.deployment import Strike, deaths, named
from tests.faults.erasures import StruckWorld
from tests.faults.sampling import FaultShare
from tests.support.agents import COACH, actor
from tests.support.api_client import everything
from tests.support.builders import TENANT
from tests.support.erasure import BEN, MARK, ZOE, indexed, lines_of, settle
from tests.support.fakes import ScriptedModel, calls

DELETED = 2


class Deleting(StruckWorld):
    """A message that an agent has answered, here and in another chat."""

    def script(self) -> ScriptedModel:
        elsewhere = {"text": "Zoë said something", "chat_id": "chat_else"}
        return ScriptedModel.saying(
            calls(("send_message", elsewhere), ("send_message", {"text": "Noted"})),
            default=calls("end_run"),
        )

    def plant(self) -> None:
        actor(self)
        self.known(ZOE, BEN)
        self.chat(ZOE, BEN, COACH, respond="mention")
        self.chat(ZOE, BEN, COACH, chat_id="chat_else", respond="manual")
        self.post("Good morning", BEN)
        self.post(f"@Coach remember {MARK}", ZOE)
        settle(self)
        indexed(self)

    def ask(self) -> None:
        self.app.message_deletion.delete(TENANT, ZOE.ref, "chat_1", DELETED)

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


def test_deletion_death_is_completed_by_another_worker(share: FaultShare) -> None:
    left = undisturbed().left()
    for strike in share.of(strikes()):
        world = Deleting()
        with named(strike, calls=undisturbed().calls):
            world.play(strike)
            assert world.deaths == 1
            world.check(left)
