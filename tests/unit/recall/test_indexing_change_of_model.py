"""A change of the embeddings' model: messages lead to new vectors for their whole chat."""

from collections.abc import Sequence

from skein.models.common.embedding import Embedding
from skein.models.outbox.jobs import RecallJob
from tests.support.builders import TENANT, embeddings
from tests.support.recall import ANN, BEN, COACH, Indexed
from tests.support.recalling import recall_of, request_in, texts_of


class OtherEmbeddings:
    """The same vectors under the name of another model."""

    name = "other"
    dimensions = 256

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return embeddings().embed(texts)


def stage(*, joined_seq: int = 0) -> Indexed:
    """A chat of 20 indexed messages, whose index another model is to continue."""
    before = Indexed()
    before.agent()
    before.chat(ANN, BEN, COACH, kind="group", visibility="open")
    before.member(COACH, joined_seq=joined_seq)
    before.said(*(f"Room {4700 + seq}" for seq in range(1, 21)))
    before.index()
    world = Indexed(overrides={"embeddings": OtherEmbeddings(), "table": before.table})
    world.table = before.table
    return world


def models(world: Indexed) -> list[str]:
    return list(dict.fromkeys(passage.recall_model for passage in world.passages()))


def jobs(world: Indexed) -> list[RecallJob]:
    return [*world.queues.take(RecallJob)]


def test_new_message_after_a_change_of_model_reindexes_the_whole_chat() -> None:
    world = stage()
    old = embeddings().name
    assert models(world) == [old]
    world.said("Room 4800")
    world.index(21, 21)
    assert models(world) == [old, "other"]
    [job] = jobs(world)
    assert job == RecallJob(tenant=TENANT, chat_id="chat_1", hops=job.hops)
    world.index(1, None)
    assert models(world) == ["other"]
    assert world.seqs() == list(range(1, 22))


def test_reindexed_chat_is_not_reindexed_again() -> None:
    world = stage()
    world.index(1, None)
    assert not jobs(world)
    world.said("Room 4800")
    world.index(21, 21)
    assert not jobs(world)


def test_agent_that_joined_later_has_its_own_first_passage() -> None:
    world = stage(joined_seq=10)
    world.said("Room 4800")
    world.index(21, 21)
    assert len(jobs(world)) == 1


def test_same_model_sends_no_further_job() -> None:
    world = stage()
    same = Indexed(overrides={"table": world.table})
    same.table = world.table
    same.said("Room 4800")
    same.index(21, 21)
    assert not jobs(same)


def test_old_vectors_answer_nothing_until_the_chat_is_reindexed() -> None:
    world = stage()
    world.said("We want a trip to the sea in summer", "The printer is out of paper")
    request = request_in(world, "a summer trip to the sea")
    before = Indexed(overrides={"table": world.table})
    before.table = world.table
    before.index()
    trip = "We want a trip to the sea in summer"
    assert not texts_of(recall_of(world).find(request))
    world.index(1, None)
    assert trip in texts_of(recall_of(world).find(request))
