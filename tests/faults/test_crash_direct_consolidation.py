"""Consolidation of a direct chat, with a death at every call that changes something."""

import json

from skein.models.runs.completion import ModelRequest
from skein.settings import Settings
from tests.faults.deployment import Deployment, Phone, deaths, named
from tests.faults.sampling import Share, pairs
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
        super().__init__(Settings(direct_consolidation_idle_seconds=60), ScriptedModel())
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


def undisturbed() -> list[str]:
    """The calls to the outside if nothing fails, in order."""
    world = DirectChat()
    world.play()
    world.check()
    assert world.asked == len(FACTS)
    return list(world.fuse.calls)


def test_direct_consolidation_death_makes_each_memory_once(share: Share) -> None:
    calls = undisturbed()
    for strike in share.of(deaths(calls)):
        with named(strike, calls=calls):
            world = DirectChat()
            world.plan(strike)
            world.play()
            assert world.deaths == 1
            world.check()


def test_direct_consolidation_second_death_makes_each_memory_once(share: Share) -> None:
    calls = undisturbed()
    for first, second in share.of(pairs(deaths(calls), PAIRS, seed="direct consolidation")):
        with named(first, second, calls=calls):
            world = DirectChat()
            world.plan(first, second)
            world.play()
            world.check()
