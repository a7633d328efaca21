"""The set with long answers is deterministic, and says where the answers stand."""

import pytest

from bench.recall.evidence import Question, share_of
from bench.recall.long_answers import (
    AGENT,
    CONVERSATIONS,
    KINDS,
    LONGEST,
    NOTHING,
    SHORTEST,
    conversations,
    data,
    gate_cases,
)


@pytest.mark.parametrize("seed", [2, 3])
def test_set_holds_the_decisive_text_of_each_question_once(seed: int) -> None:
    assert data(seed, 1) == data(seed, 1)
    known, *_ = conversations(seed, count=1)
    assert {question.kind for question in known.questions} == {*KINDS.values()}
    for question in known.questions:
        assert bool(question.evidence) == (question.kind != NOTHING)
        for turn, decisive in zip(question.evidence, question.decisive, strict=True):
            assert [n for n, text in enumerate(known.texts) if decisive in text] == [turn]
            assert known.speakers[turn] != AGENT


def test_answers_of_the_agent_are_long_and_repeat_the_subject() -> None:
    known, *_ = conversations(2, count=1)
    answers = known.texts[1::2]
    assert all(SHORTEST <= len(text) <= LONGEST for text in answers)
    assert sum(len(text) for text in answers) / len(answers) > 2_000


def test_later_statement_of_a_changed_fact_comes_twenty_messages_after_the_earlier_one() -> None:
    [known] = conversations(3, count=1)
    changed = [each for each in known.questions if each.kind == KINDS["changed"]]
    assert changed
    assert all(question.evidence[0] >= 20 for question in changed)


@pytest.mark.parametrize("seed", [2, 3])
def test_gate_has_fifty_messages_of_each_sort(seed: int) -> None:
    cases = list(gate_cases(seed))
    sorts = [case.sort for case in cases]
    assert {sort: sorts.count(sort) for sort in sorts} == {
        "small talk": 50,
        "question": 50,
        "statement": 50,
    }
    assert all(case.conversation < CONVERSATIONS for case in cases)
    assert not any(case.text.endswith("?") for case in cases if case.sort == "statement")


def test_message_is_shown_if_its_decisive_text_is_or_enough_of_it() -> None:
    [known] = conversations(2, count=1)
    long = next(n for n, text in enumerate(known.texts) if len(text) > 2_000)
    plain = Question("", (long,))
    assert share_of(known, plain, {long: known.texts[long][:500]}) == 1
    assert share_of(known, plain, {long: known.texts[long][:499]}) == 0
    decisive = Question("", (long,), (known.texts[long][600:700],))
    assert share_of(known, decisive, {long: known.texts[long][:650]}) == 0
    assert share_of(known, decisive, {long: known.texts[long][550:750]}) == 1
    assert share_of(known, Question("", (), (), NOTHING), {}) == 1
    assert share_of(known, Question("", (), (), NOTHING), {long: "anything"}) == 0
