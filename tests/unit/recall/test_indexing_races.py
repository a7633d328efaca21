"""What changes while a worker is at work on an index leaves nothing there that should go."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from skein.models.chats.chat import chat_partition
from skein.models.common.embedding import Embedding
from skein.models.common.storage import Query, Update
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import RecallJob
from skein.recall.models.stored import RecallPassage
from tests.support.builders import LONG_INVOCATION, TENANT, embeddings
from tests.support.recall import ANN, BEN, CLERK, COACH, Indexed


@dataclass
class SlowEmbeddings:
    """Embeddings that take so long that something else happens meanwhile, once."""

    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    name = embeddings().name
    dimensions = 256

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        while self.meanwhile:
            self.meanwhile.pop()()
        return embeddings().embed(texts)


SLOW = SlowEmbeddings()


@pytest.fixture
def world() -> Indexed:
    SLOW.meanwhile.clear()
    world = Indexed(overrides={"embeddings": SLOW})
    world.agent()
    world.agent("agt_b", "Clerk")
    world.known(ANN, BEN)
    world.chat(ANN, BEN, COACH, respond="manual")
    world.said("Room 4711", "Room 4712")
    world.queues.sent.clear()
    return world


def jobs(world: Indexed) -> list[RecallJob]:
    return [*world.queues.take(RecallJob)]


def index_again(world: Indexed) -> None:
    """Take the jobs that the worker sent itself."""
    for job in jobs(world):
        deadline = world.clock.now() + LONG_INVOCATION
        world.app.recall_worker.take(job, deadline=deadline)


def leave(world: Indexed) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", ANN.ref, COACH.ref)


def join(world: Indexed) -> None:
    world.app.chat_admin.add_member(TENANT, "chat_1", ANN, COACH.ref)


def test_job_during_which_nothing_changes_sends_no_other(world: Indexed) -> None:
    world.index()
    assert world.seqs() == [1, 2]
    assert not jobs(world)


def test_agent_that_returns_during_a_job_keeps_no_earlier_message(world: Indexed) -> None:
    SLOW.meanwhile += [lambda: join(world), lambda: leave(world)]
    world.index()
    assert world.seqs() == [1, 2]
    index_again(world)
    assert world.seqs() == []
    assert world.postings() == {}


def test_agent_that_leaves_before_its_messages_are_read_gets_no_later_one(world: Indexed) -> None:
    """The worker knows the membership from before, and reads a later message."""

    def leave_and_talk() -> None:
        leave(world)
        world.said("Room 4713")
        world.said(*["Room 4714"] * 120)

    world.said(*["Room 4710"] * 120)
    SLOW.meanwhile.append(leave_and_talk)
    world.index(1, None)
    index_again(world)
    assert max(world.seqs()) == 122


def test_chat_that_is_discarded_during_a_job_leaves_the_index(world: Indexed) -> None:
    def discard() -> None:
        world.app.chat_admin.discard(TENANT, "chat_1", ANN.ref)
        world.queues.sent.clear()  # as if its own job was lost

    SLOW.meanwhile.append(discard)
    world.index()
    assert world.seqs() == [1, 2]
    index_again(world)
    assert world.seqs() == []


def test_deleted_agent_gets_no_messages_and_loses_those_of_the_range(world: Indexed) -> None:
    world.app.chat_admin.add_member(TENANT, "chat_1", ANN, CLERK.ref)
    world.said("Room 4713")
    world.index()
    assert (world.seqs("agt_a"), world.seqs("agt_b")) == ([1, 2, 3], [3])
    key = Agent.key_of(TENANT, "agt_a")
    world.table.write(Update(key, set={"deleted_at": "2026-02-18T13:00:00.000Z"}))
    world.said("Room 4714")
    world.index(1, 4)
    assert (world.seqs("agt_a"), world.seqs("agt_b")) == ([], [3, 4])
    assert world.postings() == {}


def test_agent_that_is_deleted_during_a_job_leaves_the_index(world: Indexed) -> None:
    def delete() -> None:
        world.app.agents.delete(TENANT, "agt_a")
        world.queues.sent.clear()  # as if its own job came before the passages were written

    SLOW.meanwhile.append(delete)
    world.index()
    assert world.seqs() == [1, 2]
    index_again(world)
    assert world.seqs() == []
    assert world.postings() == {}


def test_discard_whose_job_was_lost_leaves_the_index_by_the_feed(world: Indexed) -> None:
    world.index()
    world.attach_feed()
    world.app.chat_admin.discard(TENANT, "chat_1", ANN.ref)
    world.queues.sent.clear()
    world.drain()
    partition = chat_partition(TENANT, "chat_1")
    assert not world.table.query(Query.under(partition, RecallPassage.PREFIX)).items
