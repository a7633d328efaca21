"""A search ranks memories by their words, rare ones first, in any language."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lunr.stemmer import PorterStemmer

from skein.models.common.audience import OPEN
from skein.models.memory.memory import Memory
from skein.services.memory import search as memory_search
from skein.services.memory.search import best_of, words_of
from tests.support.builders import NOON, TENANT
from tests.unit.prompt.test_builder_forgery import hostile


def memories(*texts: str) -> list[Memory]:
    """Memories of these texts, each a day older than the one before."""
    return [
        Memory(
            tenant=TENANT,
            agent_id="agt_a",
            audience=OPEN,
            id=f"mem_{999 - n:03d}",
            kind="core",
            text=text,
            made_by="api",
            created_at=NOON - timedelta(days=n),
        )
        for n, text in enumerate(texts)
    ]


def found(query: str, *texts: str, limit: int = 10) -> list[str]:
    return [memory.text for memory in best_of(memories(*texts), query, limit)]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    texts = ["Ann likes tea", "Ben likes tea", "Cem likes tea", "Ann knows Dora", "Eve likes tea"]
    assert found("Dora likes", *texts)[0] == "Ann knows Dora"


def test_a_word_said_often_in_a_short_text_counts_more() -> None:
    assert found("tea", "Tea and many other drinks and cakes, too", "Tea, tea!") == [
        "Tea, tea!",
        "Tea and many other drinks and cakes, too",
    ]


def test_of_equally_good_ones_the_newest_comes_first() -> None:
    assert found("tea", "Ann likes tea", "Ben likes tea", "Cem likes tea") == [
        "Ann likes tea",
        "Ben likes tea",
        "Cem likes tea",
    ]
    backwards = memories("Ann likes tea", "Ben likes tea", "Cem likes tea")[::-1]
    assert [m.text[:3] for m in best_of(backwards, "tea", 2)] == ["Ann", "Ben"]


def test_search_finds_only_memories_that_share_a_word() -> None:
    assert found("tea", "Ann likes coffee", "Steam is hot") == []
    assert found("", "Ann likes coffee") == []
    assert found("?!", "What?!") == []
    assert best_of([], "tea", 10) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("TEA", "tea"),
        ("straße", "Die STRASSE ist lang"),
        ("café", "Im Café"),
        (
            "чай",
            "Анна любит чай.",
        ),
        ("شاي", "تحب آن شاي"),
        (
            "हिन्दी",
            "वह हिन्दी बोलती है",
        ),
        (
            "東京",
            "彼女は東京に住んでいる。",
        ),
        ("茶", "安喜欢喝茶"),
        ("2026", "Born in 2026."),
        ("don't", "They don't come"),
        ("a*b ~1 +x -y text:z", "It is text"),
    ],
)
def test_words_of_any_language_are_found(query: str, text: str) -> None:
    assert found(query, "Something else altogether", text) == [text]


def test_two_characters_together_count_more_than_the_same_ones_apart() -> None:
    together, apart = "東京にいる", "京都と東北"
    assert found("東京", apart, together) == [together, apart]


@given(st.lists(hostile().filter(str.strip), max_size=6), hostile())
def test_nothing_that_is_asked_is_an_order(texts: list[str], query: str) -> None:
    for text in found(query, *texts):
        shared = set(words_of(text)) & set(words_of(query))
        assert shared or stems(text) & stems(query)


# ---------------------------------------------------------------------- other forms of a word


def stems(text: str) -> set[str]:
    """The stems of a text's English words."""
    stem = PorterStemmer().stem
    return {stem(word) for word in words_of(text) if word.isascii() and word.isalpha()}


def found_by_words(query: str, *texts: str) -> list[str]:
    """What is found where no word has a stem."""
    with pytest.MonkeyPatch.context() as without:
        without.setattr(memory_search, "MIN_STEMMED", 1_000)
        return found(query, *texts)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("swimming", "Ann swims every day"),
        ("swim", "Swimming is her sport"),
        ("allergies", "She has an allergy to nuts"),
        ("running shoes", "He runs a lot"),
        ("2 parties in 2027", "The party was long"),
    ],
)
def test_another_form_of_an_english_word_is_found(query: str, text: str) -> None:
    assert found(query, "Something else altogether", text) == [text]


def test_exact_word_matches_rank_before_stem_matches() -> None:
    texts = ["She swims and swims", "Swims!", "A long text in which somewhere she is swimming"]
    assert found("swimming", *texts) == [texts[2], texts[1], texts[0]]
    assert found("swimming", *texts, limit=1) == [texts[2]]


@pytest.mark.parametrize(
    ("query", "text"),
    [("tee", "Tea"), ("plans 5", "Room 55"), ("is", "As it was"), ("чая", "чай"), ("10s", "10")],
)
def test_numbers_short_words_and_other_scripts_are_what_they_are(query: str, text: str) -> None:
    assert found(query, text) == []


WORDS = st.sampled_from(
    [
        "swim",
        "swims",
        "swimming",
        "tea",
        "teas",
        "run",
        "runs",
        "10",
        "straße",
        "茶",
        "as",
        "policy",
        "police",
    ]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


@given(st.lists(SENTENCE, max_size=8, unique=True), SENTENCE)
def test_what_a_word_finds_is_never_worse_for_what_its_stem_finds(
    texts: list[str], query: str
) -> None:
    exact = found_by_words(query, *texts)
    assert found(query, *texts)[: len(exact)] == exact
