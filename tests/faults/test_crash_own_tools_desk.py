"""Tools of a tenant and the desk: a person of the team takes over and hands back at each point.

The service is not idempotent. Whatever dies or is held up meanwhile, it does each thing once, or
Skein says that the outcome is unknown.
"""

from typing import Any

import pytest

from skein.desk.returning import Returns
from skein.desk.taking import Taking
from skein.models.chats.choice import YES
from skein.models.chats.desk import Holder
from skein.models.runs.completion import ModelRequest
from skein.own_tools.models.recorded_call import RecordedCall
from tests.faults.deployment import CHANGING, Strike, named
from tests.faults.desk_story import DESK, Handed
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.agents import results_of
from tests.support.builders import TENANT
from tests.support.fakes import Said, calls
from tests.support.own_tools import BOOK, own_tool

WANTED = ("book_table", {"day": "Tuesday"})


class Booking(Handed):
    """Alice wants a table, and the agent books it, as often as it is shown no result."""

    approval = "none"
    silent = False
    taken_in_sentence = True  # else a delayed call is the moment of the take-over

    def __init__(self) -> None:
        super().__init__()
        self.taken = False
        self.model.default = self.answer
        self.agent(enabled_tools=("book_table",))
        own_tool(self, BOOK, approval=self.approval)

    def answer(self, request: ModelRequest) -> Said:
        """Book, then speak about it; meanwhile, Mia takes the chat over once."""
        results = [message for message in request.messages if message.role == "tool"]
        if not results:
            return calls(WANTED)
        asked = any("not done yet" in message.content for message in results)
        if self.taken_in_sentence and not self.taken and not asked:
            self.take_over()
        return "That is all"

    def take_over(self) -> None:
        """Take the chat over, beside the function that is at work."""
        self.taken = True
        self.app.get(Taking).take(TENANT, "chat_1", Holder(id="mia", name="Mia"))

    def give_back(self) -> None:
        if not self.silent:
            self.mia.call("DELETE", DESK, {"briefing": "I did not write"})
        self.live()

    def meanwhile(self) -> None:
        """Take the chat over and hand it back beside the function that is held up."""
        self.take_over()
        self.app.get(Returns).hand_back(TENANT, "chat_1", "mia")
        self.live()

    def play(self) -> None:
        self.phone.say("Book Tuesday")
        if self.approval == "person":
            self.live()
            self.agree()
        if self.taken_in_sentence:
            self.live(until=lambda: self.stored_chat().held and not self.queued)
            self.give_back()
        self.live()

    def agree(self) -> None:
        """Say yes to the newest question."""
        asked = [message for message in self.messages() if message.choice is not None]
        body = {"choice": {"seq": asked[-1].seq, "option": YES}, "client_id": "yes"}
        self.phone.post("/v1/chats/chat_1/messages", body)

    def check(self) -> None:
        """The table was booked once, or the agent was told that this is unknown."""
        results = [one for run in self.runs() for one in results_of(self, run)]
        made = [one.status for one in results if one.status != "asked"]
        booked = len(self.service.requests)
        assert booked <= 1
        assert {*made} <= {"done", "unknown"}
        assert booked or "unknown" in made
        assert {record.state for record in self.recorded()} <= {"begun", "done", "unknown"}
        assert self.deaths or (booked, {*made}) == (1, {"done"})
        assert len(self.stays()) == self.taken
        assert self.stored_chat().desk is None
        assert self.texts()[-1] == "That is all"
        assert self.at_rest

    def recorded(self) -> list[RecordedCall]:
        items = self.table.all_items().items()
        return [RecordedCall.from_item(item) for key, item in items if key.sk.startswith("CALL#")]


class Agreed(Booking):
    """Alice agrees first, and Mia takes over after the call."""

    approval = "person"


class Silent(Booking):
    """Mia says nothing, so that the chat goes back by itself."""

    silent = True

    def check(self) -> None:
        texts = [text for text in self.texts() if not text.startswith("Mia has left")]
        assert texts[-1] == "That is all"
        assert len(self.service.requests) <= 1
        assert len(self.stays()) == self.taken


class Held(Booking):
    """Mia takes over and hands back while a call to the outside is held up."""

    taken_in_sentence = False

    def check(self) -> None:
        results = [one for run in self.runs() for one in results_of(self, run)]
        made = [one.status for one in results if one.status != "asked"]
        booked = len(self.service.requests)
        assert booked <= 1
        assert {*made} <= {"done", "unknown"}
        assert booked or "unknown" in made
        assert len(self.stays()) == self.taken
        assert self.stored_chat().desk is None
        assert self.at_rest


class HeldAgreed(Held):
    """The same, and Alice agrees first."""

    approval = "person"


DEATHS = {
    story.__name__: Sweep(story, play=story.play, check=story.check)
    for story in (Booking, Agreed, Silent)
}
DELAYS = {
    story.__name__: Sweep(story, play=story.play, check=story.check) for story in (Held, HeldAgreed)
}


@pytest.mark.parametrize("sweep", DEATHS.values(), ids=DEATHS)
def test_calls_and_the_desk_death_takes_effect_once(sweep: Sweep[Any], share: FaultShare) -> None:
    sweep.one_death(share)


@pytest.mark.parametrize("sweep", DELAYS.values(), ids=DELAYS)
def test_calls_take_over_and_return_at_each_point_take_effect_once(
    sweep: Sweep[Any], share: FaultShare
) -> None:
    calls = sweep.fuse.calls
    strikes = [
        Strike(number, after=after, holds_up=True)
        for number, call in enumerate(calls, 1)
        if call in CHANGING
        for after in (False, True)
    ]
    for strike in share.of(strikes):
        with named(strike, calls=calls):
            world = sweep.story()
            world.plan(strike)
            sweep.play(world)
            sweep.check(world)
