"""Passages are scored by their words and their meaning, between texts and between collections."""

import pytest

from skein.services.common.text_index import (
    IndexQuery,
    TextIndex,
    from_bytes,
    in_bytes,
    norms_of,
    scores,
)

TEXTS = ["We open at nine.", "Parking is free for guests.", "We close at noon."]
NO_VECTORS: list[tuple[float, ...]] = [(), (), ()]


def by_words(query: str, *indexes: TextIndex) -> list[float]:
    found = scores(indexes, IndexQuery.of(query, ()))
    return [score for values in found for score in values]


def test_passage_with_each_word_once_has_almost_half_of_the_most() -> None:
    index = TextIndex.of(TEXTS, NO_VECTORS)
    first, *others = by_words("Is parking free for guests?", index)
    assert first == 0
    assert others[0] == pytest.approx(0.45, abs=0.05)
    assert others[1] == 0


def test_word_that_no_passage_has_lowers_the_score() -> None:
    index = TextIndex.of(TEXTS, NO_VECTORS)
    assert by_words("free parking", index)[1] > by_words("free parking at Christmas", index)[1] > 0


def test_indexes_searched_together_score_as_one() -> None:
    whole = TextIndex.of(TEXTS, NO_VECTORS)
    parts = TextIndex.of(TEXTS[:1], [()]), TextIndex.of(TEXTS[1:], [(), ()])
    assert by_words("When do you open?", *parts) == by_words("When do you open?", whole)


def test_meaning_counts_without_a_common_word() -> None:
    vectors = [(1.0, 0.0), (0.6, 0.8), (-1.0, 0.0)]
    index = TextIndex.of(TEXTS, vectors)
    [found] = scores([index], IndexQuery.of("xyz", (1.0, 0.0)))
    assert found == pytest.approx([0.7, 0.42, 0.0])


def test_stored_vector_keeps_its_direction() -> None:
    vectors = [(0.1, -0.3, 0.02), (0.0, 0.0, 0.0)]
    [stored, empty] = from_bytes(b"".join(map(in_bytes, vectors)), 3)
    assert list(stored) == [42, -127, 8]
    assert norms_of([empty]) == [0]


def test_search_without_words_or_indexes_finds_nothing() -> None:
    index = TextIndex.of(TEXTS, NO_VECTORS)
    assert by_words("", index) == [0, 0, 0]
    assert scores([], IndexQuery.of("open", ())) == []
