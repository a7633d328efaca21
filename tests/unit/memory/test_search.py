"""A search ranks memories by their words in any language, then by their meaning."""

from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lunr.stemmer import PorterStemmer

from skein.memory.models.memory import Memory
from skein.memory.search import best_of
from skein.models.common.embedding import Embedding
from skein.models.visibility.audience import OPEN
from skein.services.common import text_search
from skein.services.common import words as word_module
from skein.services.common.text_search import EmbeddingCache
from skein.services.common.words import words_of
from tests.support.builders import NOON, TENANT, embeddings
from tests.support.hostile import hostile


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


def test_equally_ranked_memories_keep_newest_first_order() -> None:
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
def test_hostile_query_finds_only_texts_that_share_words(texts: list[str], query: str) -> None:
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
        without.setattr(word_module, "MIN_STEMMED", 1_000)
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
def test_numbers_short_words_and_other_scripts_are_not_stemmed(query: str, text: str) -> None:
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
        "policy",
        "police",
    ]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


@given(st.lists(SENTENCE, max_size=8, unique=True), SENTENCE)
def test_hits_of_exact_words_come_before_hits_of_stems(texts: list[str], query: str) -> None:
    exact = found_by_words(query, *texts)
    assert found(query, *texts)[: len(exact)] == exact


# ---------------------------------------------------------------------- meaning

MEANINGS = EmbeddingCache(embeddings)
OTHERS = (
    "Invoices go out on the first of the month",
    "Ben is away until Friday",
    "Ann is the treasurer",
    "She does have a bicycle",
)


def found_by_meaning(query: str, *texts: str, limit: int = 10) -> list[str]:
    return [memory.text for memory in best_of(memories(*texts), query, limit, MEANINGS)]


def test_search_without_shared_words_finds_the_memory_by_meaning() -> None:
    dog = "Dana's dog is called Rex"
    assert found("What pet does she have?", *OTHERS[:3], dog) == []
    assert found_by_meaning("What pet does she have?", *OTHERS, dog)[0] == dog


def test_search_without_a_match_by_meaning_finds_nothing() -> None:
    assert found_by_meaning("volcano eruption", *OTHERS[:3]) == []


@given(st.lists(SENTENCE, max_size=8, unique=True), SENTENCE)
def test_match_by_meaning_alone_never_precedes_an_exact_word(texts: list[str], query: str) -> None:
    asked = set(words_of(query))
    exact = [bool(asked & set(words_of(text))) for text in found_by_meaning(query, *texts)]
    assert exact == sorted(exact, reverse=True)
    assert sum(exact) == len(found_by_words(query, *texts))


def test_filler_alone_counts_less_than_meaning() -> None:
    assert found_by_meaning("the animal", "Ben does the dishes", "A dog") == [
        "A dog",
        "Ben does the dishes",
    ]


def test_filler_with_a_capital_letter_counts_as_a_name() -> None:
    texts = ["Dogs bark at cars", "Will is a dentist"]
    assert found_by_meaning("Is Will a dog person?", *texts)[0] == texts[1]


def test_changed_fact_precedes_the_older_one_with_the_same_words() -> None:
    old, new = "Dana, Dana: Dana lives in Lyon", "Since spring Dana lives in Porto by the river"
    assert found("Where does Dana live? Dana", new, old)[0] == old
    assert found_by_meaning("Where does Dana live? Dana", new, old) == [new, old]


def test_exact_word_of_an_outdated_fact_still_comes_first() -> None:
    old, new = "Dana lives in Lyon", "Dana lives in Porto"
    assert found_by_meaning("Lyon", new, old)[0] == old


def test_long_texts_beyond_the_limit_are_found_by_words_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_search, "MAX_EMBEDDED", 40)
    meanings = EmbeddingCache(embeddings)
    texts = memories("Ben is away", "Dana's dog is called Rex", "A pet shop")
    assert [m.text for m in best_of(texts, "animal in the pet world", 9, meanings)] == [
        "A pet shop"
    ]


def test_meanings_embed_each_text_once() -> None:
    class Counted:
        name, dimensions = embeddings().name, embeddings().dimensions
        seen: ClassVar[list[str]] = []

        def embed(self, texts: Sequence[str]) -> list[Embedding]:
            self.seen.extend(texts)
            return embeddings().embed(texts)

    meanings = EmbeddingCache(Counted)
    for _ in range(2):
        best_of(memories(*OTHERS), "pet", 10, meanings)
    assert Counted.seen == ["pet", *OTHERS]
