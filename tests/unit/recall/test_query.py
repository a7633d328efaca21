"""Queries are prepared from texts."""

from collections import Counter
from zoneinfo import ZoneInfo

import pytest

from bench.recall.long_answers import gate_cases
from skein.recall.candidates import is_of
from skein.recall.query import (
    MAX_LOOKED_UP,
    PreparedQuery,
    QueryReader,
    ends_with_question,
    needs_recall,
    people_named,
    without_names,
)
from tests.support.builders import NOON, embeddings

PEOPLE = {"usr_anna": "Anna Schmidt", "usr_will": "Will"}


def prepared(text: str) -> PreparedQuery:
    preparation = QueryReader(embeddings(), embeddings())
    return preparation.prepared(text, PEOPLE, NOON, ZoneInfo("UTC"))


def test_query_without_names_has_no_stem_of_a_named_person() -> None:
    found = prepared("What did Anna say about the deposit?")
    assert found.query.sender_ids == {"usr_anna"}
    assert "anna" not in found.query.stems
    assert "deposit" in found.query.stems


def test_query_looks_no_word_up_that_has_no_posting() -> None:
    assert prepared(f"{'0' * 1_000} {'y' * 65} {'x' * 64}").looked_up == ("x" * 64,)


def test_people_named_by_a_part_of_the_name_are_found() -> None:
    assert people_named("Ask Schmidt's landlord", PEOPLE) == ["usr_anna"]


def test_people_named_like_a_verb_count_with_their_capital_letter() -> None:
    assert people_named("I will ask Anna", PEOPLE) == ["usr_anna"]
    assert people_named("I ask Will", PEOPLE) == ["usr_will"]
    assert people_named("i will ask anna", PEOPLE) == ["usr_anna"]


def test_tag_of_a_chosen_name_matches_no_person() -> None:
    people = {"usr_ann": "Ann (chosen, k3f9)"}
    assert people_named("Who was chosen for k3f9?", people) == []
    assert people_named("Ask Ann", people) == ["usr_ann"]
    assert without_names("Ann has chosen", people.values()).split() == ["has", "chosen"]


@pytest.mark.parametrize(
    ("person", "found"),
    [
        ("Ann", ["usr_1", "usr_2"]),
        ("Ann (chosen, k3f9)", ["usr_2"]),
        ("usr_1", ["usr_1"]),
    ],
)
def test_name_with_a_tag_is_of_one_person(person: str, found: list[str]) -> None:
    people = {"usr_1": "Ann", "usr_2": "Ann (chosen, k3f9)"}
    assert [each for each, name in people.items() if is_of(person, each, name)] == found


def test_names_of_a_text_are_removed_as_words() -> None:
    assert without_names("Annabel and Anna's dog", ["Anna"]).split() == [
        "Annabel",
        "and",
        "'s",
        "dog",
    ]


def test_rare_words_of_a_query_are_looked_up_first() -> None:
    found = prepared("the deposit for invoice 4711")
    assert found.looked_up[0] == "4711"
    assert set(found.looked_up) == found.query.stems


def test_stems_of_a_long_query_are_looked_up_up_to_a_limit() -> None:
    assert len(prepared(" ".join(f"word{n}" for n in range(60))).looked_up) == MAX_LOOKED_UP


def test_small_talk_has_nothing_to_search_for() -> None:
    for text in ("Hi!", "ok thanks", "yes, please", "", "..."):
        assert not prepared(text).says_something


def test_time_of_a_query_is_no_word_of_it() -> None:
    found = prepared("What did Anna say about the deposit last March?")
    assert found.during is not None
    assert "march" not in found.query.stems
    assert not found.only_during


def test_query_of_a_time_phrase_selects_the_messages_of_that_time() -> None:
    assert prepared("What did we talk about last March?").only_during


@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_gate_leaves_out_small_talk_and_keeps_questions_and_statements(seed: int) -> None:
    opened = Counter(case.sort for case in gate_cases(seed) if needs_recall(case.text))
    assert opened["small talk"] <= 5
    assert opened["question"] >= 49
    assert opened["statement"] >= 45


@pytest.mark.parametrize(
    ("text", "ends"), [("Yes?\n", True), ("\u597d\u5417\uff1f", True), ("No.", False)]
)
def test_ends_with_question_of_a_text_follows_its_last_sign(text: str, ends: bool) -> None:
    assert ends_with_question(text) is ends
