"""Blocks and postings come back from the table as they were stored."""

import pytest

from skein.models.common.storage import Key
from skein.recall.models.block import BlockLine
from skein.recall.models.stored import MAX_REFS, Posting, PostingRef, RecallBlock, newest_first


def line(seq: int, **more: object) -> BlockLine:
    values: dict[str, object] = {
        "sender_id": "usr_ann",
        "stems": ("tea", "4711"),
        "steps": bytes((seq, 0, 255)),
        "scale": 0.25,
        "near": 1.5,
        "wide": 2.0,
        "created_at": 1_700_000_000 + seq,
        "characters": 11,
        "posted": ("4711",),
    }
    return BlockLine(seq=seq, **(values | more))  # type: ignore[arg-type]


def block(*lines: BlockLine) -> RecallBlock:
    return RecallBlock(
        tenant="acme",
        chat_id="chat_1",
        agent_id="agt_1",
        number=1,
        scope="user:usr_ann",
        recall_scope="acme#AGENT#agt_1#AUD#user:usr_ann",
        recall_model="model",
        vector=(0.6, -0.8),
        first_at=lines[0].created_at,
        last_at=lines[-1].created_at,
        names={"usr_ann": "Ann"},
        lines=lines,
        expires_at=None,
    )


def test_block_that_is_stored_comes_back_as_it_was() -> None:
    made = block(line(8), line(9, expires_at=1_800_000_000, stems=(), posted=()))
    assert RecallBlock.from_item(made.to_item()) == made


def test_block_without_its_vector_keeps_its_lines() -> None:
    made = block(line(8), line(9))
    item = {name: value for name, value in made.to_item().items() if name != "vector"}
    assert RecallBlock.from_item(item) == made.model_copy(update={"vector": ()})


def test_factors_of_a_block_are_stored_with_five_digits() -> None:
    [kept] = RecallBlock.from_item(block(line(8, scale=0.123456789)).to_item()).lines
    assert kept.scale == pytest.approx(0.12346)


def test_blocks_of_an_agent_lie_in_the_order_of_messages() -> None:
    keys = [RecallBlock.key_of("acme", "chat_1", "agt_1", number) for number in (2, 10, 100)]
    assert keys == sorted(keys)
    assert all(key.sk.startswith(RecallBlock.prefix_of("agt_1")) for key in keys)


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
