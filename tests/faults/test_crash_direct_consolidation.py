"""Consolidation of a direct chat, with a death at every call that changes something."""

import json

from skein.models.runs.completion import ModelRequest
from skein.settings import Settings
from tests.faults.deployment import Deployment, Phone
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import bot, person
from tests.support.fakes import ScriptedModel

PAIRS = 20
MESSAGES = "/v1/chats/chat_1/messages"
FACTS = ("My dog is called Rex", "He is three")

HUSAM, COACH = person(), bot()


class DirectChat(Deployment):
    """A person tells two facts in two sessions of a direct chat.

    The model remembers each fact that it is asked about, and words each memory differently. So a
    memory that is stored twice shows.
    """

    def __init__(self) -> None:
        super().__init__(Settings(consolidation_idle_seconds=60), ScriptedModel())
        self.asked = 0
        self.model.memories.extend([self._remember] * 100)
        self.agent()
        chat = {"kind": "direct", "visibility": "private", "respond": "manual"}
        self.chat(HUSAM, COACH, consolidate=None, **chat)

    def _remember(self, request: ModelRequest) -> str:
        self.asked += 1
        transcript = request.messages[1].content
        core = [f"{fact} {self.asked}" for fact in FACTS if fact in transcript]
        return json.dumps({"journal": [], "core": core})

    def play(self) -> None:
        for fact in FACTS:
            Phone(self).post(MESSAGES, {"text": fact, "client_id": fact})
            self.live()

    def check(self) -> None:
        chat, membership = self.stored_chat(), self.membership(COACH)
        assert (chat.consolidation_at, membership.consolidated_seq) == (None, len(FACTS))
        made = [
            memory.text.rsplit(" ", 1)[0] for memory in self.memories("agt_a", "user:usr_husam")
        ]
        assert made == list(FACTS)
        assert self.at_rest


SWEEP = Sweep(DirectChat, DirectChat.play, DirectChat.check)


def test_direct_consolidation_without_fault_asks_once_for_each_fact() -> None:
    assert SWEEP.undisturbed().asked == len(FACTS)


def test_direct_consolidation_death_makes_each_memory_once(share: FaultShare) -> None:
    SWEEP.one_death(share)


def test_direct_consolidation_second_death_makes_each_memory_once(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="direct consolidation")
