"""Ranking fuses meaning, words and people, with statistics of the given passages alone."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skein.recall.ranking import Hit, Line, RecallQuery, ranked
from skein.services.common.words import stems_of

Said = tuple[str, str, float | None]


def lines(*said: Said, chat_id: str = "chat_1") -> list[Line]:
    """Return passages of `(sender, text, cosine)`, the first of the message with the number 1."""
    return [
        Line(chat_id, seq, 0, sender, frozenset(stems_of(text)), cosine=cosine, weight=1.0)
        for seq, (sender, text, cosine) in enumerate(said, 1)
    ]


def query(text: str = "", *named: str) -> RecallQuery:
    return RecallQuery((), frozenset(stems_of(text)), frozenset(named))


def order(hits: Sequence[Hit]) -> list[int]:
    return [hit.line.seq for hit in hits]


def test_no_passages_have_no_hits() -> None:
    assert ranked(query("dog"), []) == []


def test_passage_of_the_same_meaning_comes_first() -> None:
    said = [("a", "x", 0.1)] * 5 + [("a", "y", 0.9)]
    assert order(ranked(query(), lines(*said)))[0] == 6


def test_passage_with_the_rare_word_comes_first() -> None:
    said = [("a", "we walk", 0.5)] * 9
    said.insert(5, ("a", "we walk to Hafen", 0.5))
    assert order(ranked(query("walk Hafen"), lines(*said)))[0] == 6


def test_message_beside_a_match_comes_before_one_far_away() -> None:
    said = [("a", "nothing", 0.1)] * 9 + [("a", "What about the deposit?", 0.8)]
    found = order(ranked(query("deposit"), lines(*said)))
    assert found.index(9) < found.index(1)


def test_neighbour_that_the_search_did_not_find_ranks_by_its_neighbours() -> None:
    said = [("a", "x", 0.1)] * 8 + [("a", "y", 0.9), ("a", "z", None)]
    assert {*order(ranked(query(), lines(*said)))[:2]} == {9, 10}


def test_person_whom_the_query_names_comes_first() -> None:
    said = [("ann", "tea", 0.5), ("ben", "tea", 0.5)]
    assert order(ranked(query("tea", "ann"), lines(*said)))[0] == 1
    assert order(ranked(query("tea", "ben"), lines(*said)))[0] == 2


def test_what_people_said_comes_before_long_answers_of_agents() -> None:
    short, long = lines(("ann", "the loaf is pale", 0.4), ("agt_a", "loaf crust oven loaf", 0.6))
    found = ranked(query("loaf crust"), [short, replace(long, long_answer=True)])
    assert order(found) == [1, 2]


def test_question_passage_ranks_below_statement_passage() -> None:
    told, asked = lines(("ann", "tea", 0.5), ("ann", "tea", 0.5))
    assert order(ranked(query("tea"), [told, replace(asked, asks=True)])) == [1, 2]


def test_newer_message_comes_first_among_equal_ones() -> None:
    found = ranked(query("tea"), lines(*[("a", "tea", 0.5)] * 16))
    best = {hit.line.seq for hit in found if hit.score == found[0].score}
    assert found[0].line.seq == max(best)


def test_windows_do_not_cross_into_another_chat() -> None:
    first, *_ = lines(("a", "nothing", 0.1))
    other = [Line("chat_2", 2, 0, "a", frozenset(["deposit"]), cosine=0.9, weight=1.0)]
    here, there = ranked(query("deposit"), [first, *other])[::-1]
    assert (here.line.chat_id, here.strength) == ("chat_1", 0.1)
    assert there.strength > 0.9


def test_message_with_a_time_comes_first_if_the_query_asks_when() -> None:
    said = [("a", "we moved to Hafen", 0.5), ("a", "we moved to Hafen yesterday", 0.5)]
    asked = replace(query("moved Hafen"), asks_time=True)
    assert order(ranked(asked, lines(*said))) == [2, 1]


def test_message_of_the_time_that_the_query_names_comes_first() -> None:
    early, late = lines(("a", "tea", 0.5), ("a", "tea", 0.5))
    asked = replace(query("tea"), during=(100, 200))
    given = [replace(early, created_at=150), replace(late, created_at=900_000)]
    assert order(ranked(asked, given)) == [1, 2]


texts = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ben"]),
        st.sampled_from(["tea", "coffee", "the deposit", "4711", ""]),
        st.sampled_from([0.9, 0.0, -0.5, None]),
    ),
    max_size=30,
)


@given(texts, texts, st.sampled_from(["tea", "4711 deposit", ""]))
def test_ranking_returns_each_passage_once_in_any_order(
    one: list[Said], other: list[Said], text: str
) -> None:
    first, second = lines(*one), lines(*other, chat_id="chat_2")
    found = ranked(query(text, "ann"), [*first, *second])
    messages = [hit.line.message for hit in found]
    assert len(messages) == len(set(messages)) == len(one) + len(other)
    again = ranked(query(text, "ann"), [*second, *first])
    assert {hit.line.message: round(hit.score, 9) for hit in found} == {
        hit.line.message: round(hit.score, 9) for hit in again
    }
