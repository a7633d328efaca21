"""Consolidation, with a death at every single call to the outside on the way."""

import json
import re

import background_finder
from skein.models.runs.completion import ModelRequest
from skein.settings import Settings
from tests.faults.deployment import Deployment, Operator, Phone, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import bot, person
from tests.support.fakes import ScriptedModel

PAIRS = 40
HOURS = 10
MESSAGES = "/v1/chats/chat_1/messages"
FILLER = "word " * 700

HUSAM = person()
COACH, ANALYST = bot(), bot("agt_b", "Analyst")
FACTS = ("The report is late", "Ann has the numbers", "The party is on Friday", "Bob is ill")


class ClockControl(Deployment):
    """Somebody tells four facts, a chunk each; two agents remember, and mend, what was said.

    Each answer is a core memory for every fact of the chunk, which takes the place of the one
    before, and a journal entry. The first also is a wrong core memory, which the next one removes.
    Attempts at the same chunk are worded differently, so that a
    memory that is stored twice shows.
    """

    def __init__(self) -> None:
        super().__init__(Settings(consolidation_chunk_tokens=1_000), ScriptedModel())
        self.asked = 0
        self.model.memories.extend([self._remember] * 400)
        for agent in (COACH, ANALYST):
            self.agent(agent.id, agent.name, system_prompt=f"You are {agent.id}.")
        self.chat(HUSAM, COACH, ANALYST, respond="manual", consolidate=True)

    def _remember(self, request: ModelRequest) -> str:
        self.asked += 1
        system, transcript = (message.content for message in request.messages)
        [fact] = [fact for fact in FACTS if fact in transcript]
        found = re.findall(r"^(\d+)\. \[[^]]+\] .*\"(core|wrong) ", system, flags=re.MULTILINE)
        shown = {kind: int(number) for number, kind in found}
        core: list[object] = [
            {"text": f"core {fact} {self.asked}", "replaces": shown.get("core", 0)},
            *([f"wrong {fact} {self.asked}"] if fact == FACTS[0] else []),
        ]
        wrong = [shown["wrong"]] if "wrong" in shown else []
        journal = [f"journal {fact} {self.asked}"]
        return json.dumps({"journal": journal, "core": core, "remove": wrong})

    def play(self) -> None:
        husam = Phone(self)
        for fact in FACTS[:3]:
            husam.post(MESSAGES, {"text": f"{fact}. {FILLER}", "client_id": fact})
        self.live(until=lambda: not self.queued)
        self.hours()
        husam.post(MESSAGES, {"text": f"{FACTS[3]}. {FILLER}", "client_id": FACTS[3]})
        self.live(until=lambda: not self.queued)
        Operator(self, sub="usr_op", scope="admin").post("/v1/chats/chat_1/consolidate", {})
        self.hours()

    def hours(self) -> None:
        """Let hours pass, until nothing is due in the end."""
        for _ in range(HOURS):
            self.clock.advance(3_600 - 120)
            self.invoke(background_finder, {}, seconds=120)
            self.live(until=lambda: not self.queued)

    def check(self) -> None:
        chat = self.stored_chat()
        assert chat.consolidation_at is None
        for agent in (COACH, ANALYST):
            membership = self.membership(agent)
            assert (membership.consolidated_seq, membership.consolidation_failures) == (4, 0)
            made = self.memories(agent.id)
            words = [memory.text.rsplit(" ", 1)[0] for memory in made]
            kinds = [f"{kind} {fact}" for fact in FACTS for kind in ("core", "journal")]
            assert sorted(words) == sorted([*kinds, f"wrong {FACTS[0]}"])
            [wrong] = [memory for memory in made if memory.text.startswith("wrong")]
            assert (wrong.status, wrong.superseded_by) == ("removed", None)
            core = [memory for memory in made if memory.text.startswith("core")]
            assert [memory.superseded_by for memory in core] == [
                *(memory.id for memory in core[1:]),
                None,
            ]
            records = [r for r in self.consolidations() if r.agent_id == agent.id]
            assert [(r.from_seq, r.to_seq) for r in records] == [(n, n) for n in range(1, 5)]
        assert not self.queued
        assert not [item for item in self.due if "fading" not in item["gsi2pk"]]


SWEEP = Sweep(ClockControl, ClockControl.play, ClockControl.check)


def test_consolidation_without_fault_asks_once_for_each_fact_and_agent() -> None:
    assert SWEEP.undisturbed().asked == 2 * len(FACTS)


def test_consolidation_death_makes_each_memory_once(share: FaultShare) -> None:
    SWEEP.one_death(share)


def test_consolidation_second_death_makes_each_memory_once(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="consolidation", of=every_death)
