"""An erased person's words leave the index of recall, as a scan of the table shows."""

from collections.abc import Sequence

import pytest

from skein.models.chats.chat import chat_partition
from skein.models.common.storage import Put, Query, Write
from skein.models.outbox.jobs import RecallJob
from skein.recall.models.stored import Posting, PostingRef, RecallPassage
from tests.fakes.table import MemoryTable
from tests.support.agents import COACH
from tests.support.builders import LONG_INVOCATION, TENANT, World
from tests.support.erasure import (
    BEN,
    MARK,
    OPEN,
    PRIVATE,
    ZOE,
    end,
    erase,
    group,
    indexed,
    plant,
    settle,
    text,
    traces,
    world_of,
)

WORDS = ("quill", MARK)


def stems(world: World, chat_id: str) -> set[str]:
    """The stems of all messages of a chat in the index of Coach."""
    prefix = RecallPassage.prefix_of(COACH.id)
    page = world.table.query(Query.under(chat_partition(TENANT, chat_id), prefix))
    return {stem for item in page.items for stem in RecallPassage.from_item(item).stems}


def postings(world: World, scope: str | None = None) -> set[str]:
    page = world.table.query(Query(Posting.partition_of(TENANT, COACH.id, scope)))
    return {Posting.from_item(item).stem for item in page.items}


def index(world: World, chat_id: str) -> None:
    deadline = world.clock.now() + LONG_INVOCATION
    job = RecallJob(tenant=TENANT, chat_id=chat_id)
    world.app.recall_worker.take(job, deadline=deadline)


def test_words_that_were_indexed_everywhere_are_erased_everywhere() -> None:
    world = plant()
    indexed(world)
    found = traces(world, *WORDS)
    assert {"RECALL", "WORD"} <= {key.split("sk='")[1].split("#")[0] for key in found}
    assert MARK in postings(world, f"chat:{PRIVATE}")
    assert MARK in postings(world, f"user:{ZOE.id}")
    erasure = erase(world)
    assert traces(world, *WORDS) == {}
    assert erasure.sweeps[0].counts["recall_lines"] > 0
    assert "morn" in stems(world, OPEN)


def test_posting_whose_passage_has_expired_is_erased() -> None:
    world = plant()
    left = Posting(
        tenant=TENANT,
        agent_id=COACH.id,
        scope=f"user:{ZOE.id}",
        stem=MARK,
        refs=(PostingRef("chat_gone", 1, 1),),
    )
    world.table.write(Put(left.key, left.to_item()))
    erasure = erase(world)
    assert traces(world, *WORDS) == {}
    assert erasure.sweeps[0].counts["postings"] == 1


def test_index_that_follows_an_erasure_holds_nothing_of_the_person() -> None:
    world = plant()
    erase(world)
    indexed(world)
    assert traces(world, *WORDS) == {}
    assert "morn" in stems(world, OPEN)


def test_message_of_others_that_the_person_shares_a_word_with_stays() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.post("I grow kohlrabi", ZOE, chat_id=OPEN)
    world.post("My kohlrabi is blue", BEN, chat_id=OPEN)
    settle(world)
    indexed(world)
    erase(world)
    assert "kohlrabi" in postings(world)
    assert "blue" in stems(world, OPEN)
    assert "grow" not in stems(world, OPEN)


def test_word_that_became_common_is_erased_too() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    for number in range(70):
        world.post(f"{MARK} {number}", ZOE, chat_id=OPEN)
        world.clock.advance(60)
    settle(world)
    indexed(world)
    assert MARK in postings(world)
    erase(world)
    assert traces(world, *WORDS) == {}


class SlowIndex(World):
    """A worker reads all and writes only after the first sweep of the erasure."""

    def play(self, chat_id: str) -> None:
        assert isinstance(self.table, MemoryTable)
        transact = self.table.transact

        def late(writes: Sequence[Write]) -> None:
            self.table.transact = transact  # type: ignore[method-assign]
            self.erasure = self.app.erasures.request(TENANT, ZOE.id, by="usr_op")
            settle(self)
            assert self.app.erasures.get(TENANT, self.erasure.id).stage == "resting"
            transact(writes)

        self.table.transact = late  # type: ignore[method-assign]
        index(self, chat_id)


def slow(*texts: str) -> tuple[SlowIndex, str]:
    made = world_of()
    world = SlowIndex(model=made.model)
    world.table.copy(made.table)
    for number, said in enumerate(texts, start=10):
        chat_id = text(world, said, sid=f"SM{number}")
        settle(world)
    return world, chat_id


@pytest.mark.parametrize("before", [False, True])
def test_worker_that_read_before_the_erasure_leaves_nothing(before: bool) -> None:
    """Whether or not the chat had passages before, which the first sweep prunes."""
    world, chat_id = slow(f"I love {MARK}")
    if before:
        index(world, chat_id)
        text(world, f"More {MARK}", sid="SM2")
        settle(world)
    world.play(chat_id)
    end(world, world.erasure)
    assert traces(world, *WORDS) == {}
