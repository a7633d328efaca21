"""The generated set of the bench of recall is deterministic, and recall answers its questions."""

import pytest

from bench.recall import generated as recall_generated
from bench.recall.generated import KINDS, LEAST_SIZE, generated, measure


def test_generated_set_is_the_same_at_each_run() -> None:
    first, second = generated(LEAST_SIZE), generated(LEAST_SIZE)
    assert first == second
    assert generated(LEAST_SIZE, seed=1).whole.texts != first.whole.texts


def test_generated_set_holds_each_fact_at_its_place() -> None:
    known = generated(LEAST_SIZE)
    assert len(known.whole.texts) == LEAST_SIZE
    assert {question.kind for question in known.questions} == set(KINDS)
    for _, chat, _, fact in known.questions:
        said = known.chats[fact.chat]
        assert (said.speakers[fact.position], said.texts[fact.position]) == fact[2:]
        assert known.whole.texts[known.positions[fact.chat, fact.position]] == fact.text
        assert 0 <= chat < len(known.chats)


def test_planted_messages_are_in_the_month_of_their_question() -> None:
    known = generated(LEAST_SIZE)
    for question in known.questions:
        if question.kind == "dates":
            fact = question.fact
            at = known.chats[fact.chat].times[fact.position]
            assert f"{at:%B %Y}" in question.text


def test_recall_finds_facts_of_all_chats_that_newest_messages_miss(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {kind: KINDS[kind] for kind in ("numbers", "dates", "many chats")}
    monkeypatch.setattr(recall_generated, "KINDS", few)
    monkeypatch.setattr(recall_generated, "SHOWN_BUDGETS", (1_000,))
    measured = measure(LEAST_SIZE)
    assert all(measured["recall"][kind, 1_000] >= 0.9 for kind in few)
    assert all(measured["newest"][kind, 1_000] <= 0.1 for kind in few)
    printed = capsys.readouterr().out
    assert "1,200 messages, 12 chats of one person, 30 questions" in printed
    assert all(f"\n{kind} " in printed for kind in few)
