"""A person has messages forgotten, with a death at every call: one question, one yes, no trace."""

from functools import cache

from skein.models.chats.choice import YES
from skein.models.outbox.jobs import ForgettingJob
from skein.services.choices.answering import Answering
from skein.services.choices.effect import GivenAnswer
from tests.faults.deployment import Strike, deaths, named
from tests.faults.erasures import StruckWorld
from tests.faults.sampling import FaultShare
from tests.support.agents import COACH, actor
from tests.support.builders import TENANT
from tests.support.erasure import MARK, ZOE, indexed, lines_of, settle
from tests.support.fakes import ScriptedModel, calls

SAVED = ("save_memory", {"text": f"She loves {MARK}", "kind": "core"})
QUESTION = 4


class Forgotten(StruckWorld):
    """Zoë's words, an answer and a memory from them, and the question whether to forget them."""

    def script(self) -> ScriptedModel:
        found = calls(("forget", {"query": MARK}))
        return ScriptedModel.saying(calls(SAVED), f"I keep {MARK}", found, default=calls("end_run"))

    def plant(self) -> None:
        actor(self, reply_mode="text")
        self.known(ZOE)
        self.chat(ZOE, COACH, kind="direct", visibility="private")
        self.post(f"I love {MARK}", ZOE)
        settle(self)
        indexed(self)
        self.post(f"Forget {MARK}", ZOE)
        settle(self)

    def ask(self) -> None:
        given = GivenAnswer(
            tenant=TENANT,
            chat_id="chat_1",
            person_id=ZOE.id,
            seq=QUESTION,
            option=YES,
            client_id="yes",
        )
        self.app.get(Answering).answer(given)

    def tick(self) -> int:
        for job in self.queues.take(ForgettingJob):
            self.handle(job)
        return super().tick()

    def check(self) -> None:
        assert [key for key, text in lines_of(self) if MARK in text] == []
        rest = ("#ERASURES", "FORGETTING")
        assert [key for key in self.table.all_keys() if any(r in str(key) for r in rest)] == []
        kinds = [message.kind for message in self.messages()]
        assert kinds == ["deleted"] * 4 + ["keyword", "notice"]


@cache
def undisturbed() -> Forgotten:
    """Forget without a fault."""
    world = Forgotten()
    world.play()
    return world


def strikes() -> list[Strike]:
    """List the deaths of a forgetting."""
    return deaths(undisturbed().calls)


def test_forgetting_death_is_completed_by_another_worker(share: FaultShare) -> None:
    undisturbed().check()
    for strike in share.of(strikes()):
        world = Forgotten()
        with named(strike, calls=undisturbed().calls):
            world.play(strike)
            assert world.deaths == 1
            world.check()
