"""Ranking fuses meaning, words and people, with statistics of the given blocks alone."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skein.models.common.embedding import Embedding
from skein.recall.models.block import BLOCK_MESSAGES, Block, IndexedText, block_of
from skein.recall.ranking import Hit, RecallQuery, ranked
from skein.recall.words import stems_of

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)
Said = tuple[str, str, tuple[float, ...]]


def blocks(*said: Said, chat_id: str = "chat_1") -> list[Block]:
    """Index messages of `(sender, text, vector)`, the first with the number 1."""
    texts = [
        IndexedText(seq, sender, stems_of(text), Embedding(vector, 1.0))
        for seq, (sender, text, vector) in enumerate(said, 1)
    ]
    starts = range(0, len(texts), BLOCK_MESSAGES)
    return [
        block_of(chat_id, number, "model", texts[start : start + BLOCK_MESSAGES])
        for number, start in enumerate(starts)
    ]


def query(text: str = "", vector: tuple[float, ...] = (0.0, 0.0), *named: str) -> RecallQuery:
    return RecallQuery(vector, frozenset(stems_of(text)), frozenset(named))


def order(hits: Sequence[Hit]) -> list[int]:
    return [hit.seq for hit in hits]


def test_no_blocks_have_no_hits() -> None:
    assert ranked(query("dog"), []) == []


def test_message_of_the_same_meaning_comes_first() -> None:
    found = ranked(query(vector=NORTH), blocks(("a", "x", EAST), ("a", "y", NORTH)))
    assert order(found) == [2, 1]


def test_message_with_the_rare_word_comes_first() -> None:
    said = [("a", "we walk", EAST)] * 9 + [("a", "we walk to Hafen", EAST)]
    assert order(ranked(query("walk Hafen"), blocks(*said)))[0] == 10


def test_message_beside_a_match_comes_before_one_far_away() -> None:
    said = [("a", "nothing", EAST)] * 7 + [("a", "What about the deposit?", EAST)]
    found = order(ranked(query("deposit"), blocks(*said)))
    assert found.index(7) < found.index(1)


def test_person_whom_the_query_names_comes_first() -> None:
    said = [("ann", "tea", EAST), ("ben", "tea", EAST)]
    assert order(ranked(query("tea", EAST, "ann"), blocks(*said)))[0] == 1
    assert order(ranked(query("tea", EAST, "ben"), blocks(*said)))[0] == 2


def test_newer_message_comes_first_among_equal_ones() -> None:
    said = [("a", "tea", EAST)] * BLOCK_MESSAGES * 2
    found = ranked(query("tea", EAST), blocks(*said))
    assert [hit.score for hit in found[:2]] == [found[0].score] * 2
    first = {hit.seq for hit in found if hit.score == found[0].score}
    assert found[0].seq == max(first)


def test_windows_cross_into_the_next_block_of_a_chat() -> None:
    said = [("a", "nothing", EAST)] * BLOCK_MESSAGES + [("a", "deposit", EAST)]
    scores = {hit.seq: hit.score for hit in ranked(query("deposit"), blocks(*said))}
    assert scores[BLOCK_MESSAGES] > scores[1]


def test_windows_do_not_cross_into_a_block_that_does_not_follow() -> None:
    said = [("a", "nothing", EAST)] * BLOCK_MESSAGES + [("a", "deposit", EAST)]
    first, second = blocks(*said)
    apart = replace(second, number=5)
    scores = {hit.seq: hit.score for hit in ranked(query("deposit"), [first, apart])}
    assert scores[BLOCK_MESSAGES] == scores[1]


def test_windows_do_not_cross_into_another_chat() -> None:
    said = [("a", "nothing", EAST)] * BLOCK_MESSAGES + [("a", "deposit", EAST)]
    first, second = blocks(*said)
    elsewhere = replace(second, chat_id="chat_2")
    scores = {hit.seq: hit.score for hit in ranked(query("deposit"), [first, elsewhere])}
    assert scores[BLOCK_MESSAGES] == scores[1]


def test_message_with_a_time_comes_first_if_the_query_asks_when() -> None:
    said = [("a", "we moved to Hafen", EAST), ("a", "we moved to Hafen yesterday", EAST)]
    asked = replace(query("moved Hafen", EAST), asks_time=True)
    assert order(ranked(asked, blocks(*said))) == [2, 1]


def test_message_with_a_number_comes_first_if_the_query_asks_how_many() -> None:
    said = [("a", "we have three cats", EAST), ("a", "we have nice cats", EAST)]
    asked = replace(query("cats", EAST), asks_number=True)
    assert order(ranked(asked, blocks(*said))) == [1, 2]


def test_strength_of_a_message_without_any_match_is_none() -> None:
    said = [("a", "tea", EAST), ("a", "deposit", NORTH)] + [("a", "tea", EAST)] * 14
    strengths = {hit.seq: hit.strength for hit in ranked(query("deposit", NORTH), blocks(*said))}
    assert strengths[2] > 0.9
    assert strengths[16] == 0


texts = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ben"]),
        st.sampled_from(["tea", "coffee", "the deposit", "4711", ""]),
        st.sampled_from([EAST, NORTH, (0.6, 0.8), (0.0, 0.0)]),
    ),
    max_size=30,
)


@given(texts, texts, st.sampled_from(["tea", "4711 deposit", ""]))
def test_ranking_returns_each_message_once_in_any_order_of_blocks(
    one: list[Said], other: list[Said], text: str
) -> None:
    first, second = blocks(*one), blocks(*other, chat_id="chat_2")
    found = ranked(query(text, NORTH, "ann"), [*first, *second])
    messages = [(hit.chat_id, hit.seq) for hit in found]
    assert len(messages) == len(set(messages)) == len(one) + len(other)
    again = ranked(query(text, NORTH, "ann"), [*second, *first])
    assert {(hit.chat_id, hit.seq): round(hit.score, 9) for hit in found} == {
        (hit.chat_id, hit.seq): round(hit.score, 9) for hit in again
    }
