"""Summaries and borrowed context, with a death at every single call to the outside on the way."""

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from skein.models.api.chats import MemberRequest, NewChat
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.summary import Summary
from skein.models.common.storage import Item
from skein.models.runs.completion import ModelRequest
from skein.settings import Settings
from tests.faults.deployment import Deployment, Phone
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import TENANT, bot, person
from tests.support.fakes import Said, ScriptedModel, calls

PAIRS = 40
COOLDOWN = timedelta(seconds=Settings().summary_cooldown_seconds)

HUSAM, AHMAD = person(), person("usr_ahmad", "Ahmad")
COACH, ANALYST = bot(), bot("agt_b", "Analyst")
PRIVATE = {"kind": "direct", "visibility": "private"}
PLANNED = json.dumps({"lines": ["They plan a run."], "summary": "They plan a run."})


class Story(Deployment):
    """Something that happens, and what must be true once it is over."""

    def play(self) -> None:
        raise NotImplementedError

    def check(self) -> None:
        raise NotImplementedError


class Talk(Story):
    """Some people talk fast, and once more a minute later; the agents only listen.

    Attributes:
        asked: When the model was asked for each summary.
        answers: All that it ever answered.
    """

    def __init__(self) -> None:
        super().__init__(Settings(summary_message_threshold=3), ScriptedModel())
        self.asked: dict[str, list[datetime]] = defaultdict(list)
        self.answers: list[str] = []
        self.model.summaries.extend([self._summarise] * 200)
        for agent in (COACH, ANALYST):
            self.agent(agent.id, agent.name, system_prompt=f"You are {agent.id}.")
            self.chat_elsewhere(HUSAM, agent)
        self.chat(HUSAM, COACH, ANALYST, respond="manual")

    def _summarise(self, request: ModelRequest) -> str:
        words = request.messages[0].content
        names = [agent.id for agent in (COACH, ANALYST) if f"You are {agent.id}." in words]
        [which] = names or ["the record"]
        self.asked[which].append(self.clock.now())
        answer = f"State {len(self.answers)} of {which}."
        self.answers.append(answer)
        return json.dumps({"lines": [answer, "Nothing else."], "summary": answer})

    def play(self) -> None:
        husam = Phone(self)
        for text in ("Hello", "The report is late", "Who has the numbers?"):
            husam.say(text)
        self.live(until=lambda: self.membership(COACH).summary is not None)
        self.clock.advance(60)
        husam.say("I have them")
        self.live()

    def check(self) -> None:
        chat = self.stored_chat()
        assert chat.last_seq == len(self.messages()) == 4
        notes = [self.membership(agent).summary for agent in (COACH, ANALYST)]
        for summary in (*notes, chat.summary):
            assert summary is not None
            assert (summary.from_seq, summary.seq) == (1, 4)
            assert self._said(summary)
        for times in self.asked.values():
            assert all(after - before >= COOLDOWN for before, after in pairwise(times))
        assert self.at_rest

    def _said(self, summary: Summary) -> bool:
        return summary.text.partition("\n")[0] in self.answers


class Arrival(Story):
    """Two people each talk to an agent in their only chat; then one of them opens another chat."""

    def __init__(self) -> None:
        super().__init__(model=ScriptedModel())
        self.model.summaries.extend([PLANNED] * 20)
        self.agent()
        self.known(HUSAM, AHMAD)
        for who, chat_id in ((HUSAM, "chat_1"), (AHMAD, "chat_2")):
            self.chat(who, COACH, chat_id=chat_id, respond="manual", **PRIVATE)

    def play(self) -> None:
        for who, chat_id in ((HUSAM, "chat_1"), (AHMAD, "chat_2")):
            for text in ("Hello", "I want to run"):
                self.post(text, who, chat_id=chat_id)
        self.live()
        assert self.membership(COACH).summary is None
        coach = MemberRequest(kind="agent", id=COACH.id)
        self.app.chat_admin.create(TENANT, HUSAM, NewChat(kind="direct", members=(coach,)))
        self.live()

    def check(self) -> None:
        made = self.membership(COACH).summary
        assert made is not None
        assert (made.from_seq, made.seq, made.text) == (1, 2, "They plan a run.")
        assert self.membership(COACH, "chat_2").summary is None
        assert self.at_rest


SALES, MARKETING = "chat_2", "chat_3"
LOOKED_AT = {"one": None, "two": "Sales", "three": "Marketing", "four": None}


class Lending(Story):
    """An agent borrows from one chat, then, as soon as that is shown to it, from another.

    Attributes:
        shown: What prompts held of borrowed context, by the message that they were to answer.
    """

    def __init__(self) -> None:
        super().__init__(model=ScriptedModel())
        self.model.default = self._think
        self.shown: dict[str, list[str | None]] = defaultdict(list)
        tools = ("send_message", "borrow_context", "end_run")
        self.agent(reply_mode="tools", history_format="timeline", enabled_tools=tools)
        self.chat(HUSAM, COACH)
        for chat_id, title in ((SALES, "Sales"), (MARKETING, "Marketing")):
            self.chat(HUSAM, COACH, chat_id=chat_id, title=title, respond="manual")
            self.post(f"The numbers of {title}", HUSAM, chat_id=chat_id)
        self.drain()
        self.clock.advance(60)

    def _think(self, request: ModelRequest) -> Said:
        prompt = request.messages[0].content
        [asked] = [line for line in prompt.splitlines() if line.endswith("← TRIGGER")]
        [word] = [word for word in LOOKED_AT if f'"{word}"' in asked]
        _, _, section = prompt.partition("\nBORROWED CONTEXT:\n  from ")
        self.shown[word].append(section.split('"')[1] if section else None)
        done = any(message.role == "tool" for message in request.messages)
        if done:
            return calls("end_run")
        if word in {"one", "two"}:
            chat_id = SALES if word == "one" else MARKETING
            return calls(("borrow_context", {"chat_id": chat_id}))
        return calls(("send_message", {"text": f"Thanks for {word}"}))

    def play(self) -> None:
        husam = Phone(self)
        for word in LOOKED_AT:
            husam.say(word)
            self.live(until=lambda: self._answered)
            assert (self.staged is None) == (word in {"three", "four"})
            if word == "one":
                self.app.chat_admin.discard(TENANT, SALES, HUSAM.ref)
        self.live()

    @property
    def _answered(self) -> bool:
        membership = self.membership(COACH)
        return membership.running_run is None and membership.queued_run is None

    @property
    def staged(self) -> Item | None:
        return self.table.get(BorrowedContext.key_of(TENANT, "chat_1", COACH.id))

    def check(self) -> None:
        for word, title in LOOKED_AT.items():
            assert set(self.shown[word]) == {title}, word
        assert [text for text in self.texts() if " " in text] == [
            "Thanks for three",
            "Thanks for four",
        ]
        assert [run.status for run in self.runs()] == ["done"] * 4
        assert self.staged is None
        assert self.at_rest


each_story = pytest.mark.parametrize("story", [Talk, Arrival, Lending])


def sweep(story: Callable[[], Story]) -> Sweep[Story]:
    return Sweep(story, play=lambda world: world.play(), check=lambda world: world.check())


def test_summaries_without_fault_are_made_at_once_and_again_later() -> None:
    world = Talk()
    world.play()
    world.check()
    assert {which: len(times) for which, times in world.asked.items()} == {
        COACH.id: 2,
        ANALYST.id: 2,
        "the record": 2,
    }


@each_story
def test_summaries_death_leads_to_the_same_end(
    story: Callable[[], Story], share: FaultShare
) -> None:
    sweep(story).one_death(share)


@each_story
def test_summaries_second_death_leads_to_the_same_end(
    story: Callable[[], Story], share: FaultShare
) -> None:
    sweep(story).two_deaths(share, PAIRS, seed=story.__name__)
