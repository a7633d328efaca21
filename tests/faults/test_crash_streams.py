"""An answer is streamed to people while its worker dies at every call."""

from typing import Any

from skein.models.runs.completion import ModelRequest
from tests.faults.deployment import Deployment, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import bot, person
from tests.support.fakes import Killed
from tests.support.live import connect

DANA, TOM, COACH = person("usr_dana", "Dana"), person("usr_tom", "Tom"), bot()
PAIRS = 12


class Client:
    """A client that applies frames as docs/clients.md says.

    Attributes:
        drafts: All that it has shown of unfinished answers.
        draft: What it shows now; empty without an unfinished answer.
    """

    def __init__(self, frames: list[dict[str, Any]]) -> None:
        self.drafts: list[str] = []
        self.draft, last = "", 0
        for frame in frames:
            void = frame["type"] == "retract" or frame.get("status") in {"done", "failed"}
            message = frame.get("message") or {}
            if void or message.get("sender", {}).get("kind") == "agent":
                self.draft, last = "", 0
            elif frame["type"] == "delta" and frame["n"] in {1, last + 1}:
                before = self.draft if frame["n"] > 1 else ""
                self.draft, last = before + frame["text"], frame["n"]
                self.drafts.append(self.draft)


class Streaming(Deployment):
    """Two people of a private group are connected, and an agent answers."""

    def __init__(self) -> None:
        super().__init__()
        self.agent()
        self.known(DANA, TOM)
        self.chat(DANA, TOM, COACH, visibility="private")
        for who in (DANA, TOM):
            connect(self, who.id, who.id)
        self.answers: list[str] = []
        self.model.default = self._answer
        self.model.between = self._passes
        self.attach_feed()

    def _answer(self, _: ModelRequest) -> str:
        self.answers.append(f"{len(self.answers)} days of rest, and then a run.")
        return self.answers[-1]

    def _passes(self, _: str) -> None:
        self.clock.advance(4.5)  # longer than the longest pause between frames
        self.background.finish(0)

    def play(self) -> None:
        """Post a message and wait for its answer."""
        self.post("What shall I do?", DANA)
        self.live()

    def clients(self) -> list[Client]:
        """Return what both people were shown."""
        return [Client(self.sockets.frames(who.id)) for who in (DANA, TOM)]

    def check(self) -> None:
        """One answer was posted, and nobody is left with words of another one."""
        _, answer = self.messages("chat_1")
        assert answer.text in self.answers
        assert len(self.answers) <= 1 + self.deaths
        for client in self.clients():
            assert client.draft == ""
            assert all(any(each.startswith(one) for each in self.answers) for one in client.drafts)
        assert self.at_rest


SWEEP = Sweep(Streaming, play=lambda world: world.play(), check=lambda world: world.check())


def test_streamed_answer_without_death_is_shown_word_by_word() -> None:
    world = SWEEP.undisturbed()
    assert "model.stream" in world.fuse.calls
    assert [len(client.drafts) > 3 for client in world.clients()] == [True, True]


def test_streamed_answer_death_leaves_no_words(share: FaultShare) -> None:
    SWEEP.one_death(share, of=every_death)


def test_streamed_answer_second_death_leaves_no_words(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="streaming", of=every_death)


def test_streamed_answer_death_in_each_attempt_leaves_no_words() -> None:
    world = Streaming()

    def dies(said: str) -> None:
        world._passes(said)
        if len(said) > 10:
            raise Killed("while the model writes")

    world.model.between = dies
    world.play()
    [run] = world.runs("chat_1")
    assert run.status == "failed"
    assert len(world.answers) == 3
    for client in world.clients():
        assert len(client.drafts) > 3
        assert client.draft == ""
