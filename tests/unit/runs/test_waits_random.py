"""Whatever happens in whatever order, every run ends and every message is shown to the agent."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skein.errors import Unprocessable
from skein.models.common.reason import Reason
from skein.models.outbox.jobs import RunJob
from skein.models.runs.completion import ModelRequest
from tests.support.agents import AHMAD, COACH, DESIGNER, END, FREE, HUSAM, actor, slots, stage
from tests.support.builders import TENANT, World
from tests.support.examples import examples
from tests.support.fakes import says

CHATS = ("chat_1", "chat_2")


class Life:
    """Two chats with two agents, and a chance that decides what comes next.

    Attributes:
        unrest: Runs are stopped, and agents sent away and let in again.
    """

    def __init__(self, seed: int, *, unrest: bool = False) -> None:
        self.unrest = unrest
        self.chance = random.Random(seed)
        self.world: World = stage(max_concurrent_runs=self.chance.choice([None, 1, 2]))
        actor(self.world, DESIGNER)
        self.world.chat(HUSAM, AHMAD, COACH, DESIGNER)
        self.world.chat(HUSAM, AHMAD, COACH, DESIGNER, chat_id="chat_2")
        self.world.model.default = self.answer
        self.jobs: list[RunJob] = []
        self.interrupted = 0

    def answer(self, _: ModelRequest) -> Any:
        """What the agent does; while it thinks, the world goes on."""
        if self.interrupted < 2 and self.chance.random() < 0.3:
            self.interrupted += 1
            self.happen()
            self.interrupted -= 1
        if self.chance.random() < 0.1:
            raise RuntimeError("a bug")
        return self.chance.choice(
            [
                END,
                END,
                says("I see"),
                says("Shall I?", wait=True),
                *(says("Well?", wait=True, chat_id=chat_id) for chat_id in CHATS),
                *(says("By the way", chat_id=chat_id) for chat_id in CHATS),
            ]
        )

    def happen(self) -> None:
        """One thing out of those that can happen."""
        acts: list[Callable[[], object]] = [self.post, self.post, self.play, self.play]
        acts += [self.lose, self.wait, self.world.tick, self.respond]
        if self.unrest:
            acts += [self.stop, self.send_away, self.let_in]
        self.chance.choice(acts)()

    def post(self) -> None:
        chat_id, who = self.chance.choice(CHATS), self.chance.choice([HUSAM, AHMAD])
        self.world.post("Hello", who, chat_id=chat_id)

    def respond(self) -> None:
        with suppress(Unprocessable):  # there may be no agent left
            self.world.app.manual_trigger.now(TENANT, self.chance.choice(CHATS), HUSAM.ref)

    def wait(self) -> None:
        self.world.clock.advance(self.chance.choice([1, 5, 70, 310]))

    def lose(self) -> None:
        """A job is lost; the tick must find its run."""
        ready = list(self.world.queues.ready("turns"))
        self.jobs += [job for job in ready[1:] if isinstance(job, RunJob)]

    def play(self) -> None:
        """A job is played, perhaps a second time."""
        self.jobs += [job for job in self.world.queues.ready("turns") if isinstance(job, RunJob)]
        if self.jobs:
            job = self.chance.choice(self.jobs)
            if self.chance.random() < 0.8:
                self.jobs.remove(job)
            self.world.take(job)

    def stop(self) -> None:
        alive = [run for chat_id in CHATS for run in self.world.runs(chat_id) if not run.ended]
        if alive:
            self.world.app.completion.cancel(
                self.chance.choice(alive), reason=Reason.STOPPED_BY_AGENT, error="stopped"
            )

    def send_away(self) -> None:
        chat_admin, chat_id = self.world.app.chat_admin, self.chance.choice(CHATS)
        chat_admin.remove_member(
            TENANT, chat_id, HUSAM.ref, self.chance.choice([COACH, DESIGNER]).ref
        )

    def let_in(self) -> None:
        chat_admin, chat_id = self.world.app.chat_admin, self.chance.choice(CHATS)
        for agent in (COACH, DESIGNER):
            chat_admin.add_member(TENANT, chat_id, HUSAM, agent.ref)

    def come_to_rest(self) -> None:
        """People fall silent, the model has nothing more to say, and time goes by."""
        self.world.model.default = END
        for _ in range(30):
            self.world.run_ready()
            self.world.tick()
            self.world.run_ready()
            self.world.clock.advance(122)


@pytest.mark.check
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(24), deadline=None, suppress_health_check=list(HealthCheck))
def test_every_run_ends_and_every_message_is_shown(seed: int) -> None:
    life = Life(seed)
    world = life.world
    for _ in range(40):
        life.happen()
    life.come_to_rest()
    for chat_id in CHATS:
        runs = world.runs(chat_id)
        assert all(run.ended for run in runs), [(run.id, run.status) for run in runs]
        said = [m.seq for m in world.messages(chat_id) if m.sender.kind == "user"]
        for agent in (COACH, DESIGNER):
            assert slots(world, agent, chat_id) == FREE
            failed = any(r.agent_id == agent.id and r.status == "failed" for r in runs)
            seen = world.membership(agent, chat_id).seen_seq
            assert failed or not said or seen >= said[-1]
    asked = [m for c in CHATS for m in world.messages(c) if m.expects_reply]
    assert len({message.client_id for message in asked}) == len(asked)


@pytest.mark.check
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(16), deadline=None, suppress_health_check=list(HealthCheck))
def test_every_run_ends_even_if_runs_are_stopped_and_agents_come_and_go(seed: int) -> None:
    life = Life(seed, unrest=True)
    for _ in range(50):
        life.happen()
    life.come_to_rest()
    for chat_id in CHATS:
        assert all(run.ended for run in life.world.runs(chat_id))
        for agent in (COACH, DESIGNER):
            assert slots(life.world, agent, chat_id) == FREE
    for chat_id in CHATS:
        life.let_in()
        life.world.post("Still there?", HUSAM, chat_id=chat_id)
    life.come_to_rest()
    for chat_id in CHATS:
        present = [m.ref for m in life.world.stored_chat(chat_id).roster if m.kind == "agent"]
        last = life.world.stored_chat(chat_id).last_seq
        assert all(life.world.membership(ref, chat_id).seen_seq == last for ref in present)
