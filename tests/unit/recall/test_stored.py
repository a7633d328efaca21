"""Passages and postings come back from the table as they were stored."""

import pytest

from skein.models.common.storage import Key
from skein.models.visibility.ownership import shared_partition
from skein.recall.models.stored import (
    MAX_REFS,
    Posting,
    PostingRef,
    RecallPassage,
    newest_first,
    recall_partition,
)

PASSAGE = RecallPassage(
    tenant="acme",
    chat_id="chat_1",
    agent_id="agt_1",
    seq=7,
    scope="user:usr_ann",
    recall_scope="acme#AGENT#agt_1#AUD#user:usr_ann",
    recall_model="model",
    recall_author="usr_ann",
    recall_month="2026-02",
    vector=(0.6, -0.8),
    weight=12.5,
    name="Ann",
    stems=("tea", "4711"),
    posted=("4711",),
    characters=11,
    created_at=1_700_000_000,
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"stems": (), "posted": ()},
        {"expires_at": 5},
        {"memory_id": "own_1", "sources": ((3, 1_700_000_000), (7, 1_700_000_060))},
    ],
)
def test_passage_that_is_stored_comes_back_as_it_was(changes: dict[str, object]) -> None:
    made = PASSAGE.model_copy(update=changes)
    assert RecallPassage.from_item(made.to_item()) == made


def test_passage_without_its_vector_keeps_the_rest() -> None:
    item = {name: value for name, value in PASSAGE.to_item().items() if name != "vector"}
    assert RecallPassage.from_item(item) == PASSAGE.model_copy(update={"vector": ()})


def test_passages_of_an_agent_lie_in_the_order_of_messages() -> None:
    places = ((2, 0), (10, 0), (10, 1), (10, 11), (100, 0))
    keys = [RecallPassage.key_of("acme", "chat_1", "agt_1", *place) for place in places]
    assert keys == sorted(keys)
    assert all(key.sk.startswith(RecallPassage.prefix_of("agt_1")) for key in keys)


def test_passage_of_a_memory_lies_after_those_of_its_last_message() -> None:
    told = PASSAGE.copied_to(shared_partition("acme", "agt_1", role="r", subject=None))
    memory = told.model_copy(update={"memory_id": "own_1"})
    other = told.model_copy(update={"memory_id": "own_2"})
    last = RecallPassage.key_of("acme", "chat_1", "agt_1", 7, 11)
    assert last < min(memory.key, other.key)
    assert memory.key != other.key


def test_passage_of_a_memory_was_made_from_each_of_its_messages() -> None:
    memory = PASSAGE.model_copy(update={"memory_id": "own_1", "sources": ((3, 5), (7, 6))})
    assert [(span.first_seq, span.last_seq) for span in memory.made_from.spans] == [(3, 3), (7, 7)]


def test_partitions_of_the_vector_index_differ_by_scope_joining_and_kind() -> None:
    given = [
        ("acme", "agt_1", scope) for scope in (None, "user:usr_ann", "chat:chat_1", "chat:chat_2")
    ]
    partitions = {
        recall_partition(*each, since=since, answers=answers)
        for each in given
        for since in (1, 7)
        for answers in (False, True)
    }
    assert len(partitions) == 16


def test_postings_lie_in_a_partition_of_their_own() -> None:
    key = Posting.key_of("acme", "agt_1", "user:usr_ann", "4711")
    assert key == Key("acme#AGENT#agt_1#AUD#user:usr_ann#WORDS", "WORD#4711")


def test_posting_that_is_stored_comes_back_newest_message_first() -> None:
    refs = [PostingRef("chat_1", 3, 100), PostingRef("chat_2", 1, 300, 900)]
    made = Posting(tenant="acme", agent_id="agt_1", stem="4711", refs=tuple(newest_first(refs)))
    assert Posting.from_item(made.to_item()) == made
    assert [ref.chat_id for ref in made.refs] == ["chat_2", "chat_1"]


def test_posting_with_too_many_messages_is_refused() -> None:
    refs = tuple(PostingRef("chat_1", seq, seq) for seq in range(MAX_REFS + 1))
    with pytest.raises(ValueError, match="at most 64"):
        Posting(tenant="acme", agent_id="agt_1", stem="4711", refs=refs)
