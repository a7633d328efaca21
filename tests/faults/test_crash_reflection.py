"""Reflection, with a death at every single call to the outside on the way."""

import re
from datetime import timedelta

import background_finder
from skein.memory.models.memory import Memory
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.settings import Settings
from tests.faults.deployment import Deployment, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import NOON, TENANT
from tests.support.fakes import ScriptedModel

PAIRS = 40
KEPT = ("Ana is allergic to nuts", "Ben leads the team")
LET_GO = ("The lift is broken", "Lunch was late")
SCOPES = {None: Audience(open=True), "user:usr_husam": Audience(open=False, people=("usr_husam",))}


class Fading(Deployment):
    """An agent has four journal entries openly and four for one person; it keeps two of each."""

    def __init__(self) -> None:
        super().__init__(Settings(), ScriptedModel())
        self.model.reflections.extend([self._choose] * 400)
        self.agent()
        for scope, audience in SCOPES.items():
            owner = Owner(tenant=TENANT, agent_id="agt_a", scope=scope, audience=audience)
            for text in (*KEPT, *LET_GO):
                self.app.memories.add(owner, f"{text} ({scope})", "journal", made_by="tool")

    def _choose(self, request: ModelRequest) -> str:
        entries = re.findall(
            r'^(\d+)\. \[[\d-]+\] "(.*) \(.*\)"$', request.messages[1].content, re.M
        )
        return str({"promote": [int(n) for n, text in entries if text in KEPT]}).replace("'", '"')

    def play(self) -> None:
        for day in (4, 5, 6):
            self.clock.set(NOON + timedelta(days=day))
            self.invoke(background_finder, {}, seconds=120)
            self.live(until=lambda: not self.queued)

    def check(self) -> None:
        for scope, audience in SCOPES.items():
            memories = self.memories(scope=scope)
            core = {_words(memory): memory for memory in memories if memory.kind == "core"}
            journal = {_words(memory): memory for memory in memories if memory.kind == "journal"}
            assert len(memories) == len(core) + len(journal) == len(KEPT) * 2 + len(LET_GO)
            assert sorted(core) == sorted(KEPT)
            for text in KEPT:
                assert core[text].promoted_from == journal[text].id
                assert journal[text].superseded_by == core[text].id
                assert core[text].audience == audience
            assert all(journal[text].live for text in LET_GO)
        assert not self.queued
        assert not [item for item in self.due if "fading" in item["gsi2pk"]]


def _words(memory: Memory) -> str:
    return memory.text.rsplit(" ", 1)[0]


SWEEP = Sweep(Fading, Fading.play, Fading.check)


def test_reflection_without_fault_asks_once_for_each_scope() -> None:
    assert len(SWEEP.undisturbed().model.reflection_requests) == len(SCOPES)


def test_reflection_death_keeps_each_entry_once_or_fades_it(share: FaultShare) -> None:
    SWEEP.one_death(share)


def test_reflection_second_death_keeps_each_entry_once_or_fades_it(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="reflection", of=every_death)
