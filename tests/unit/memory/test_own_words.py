"""Memories of a person's own words: the answers of the model, and the messages of one call."""

import json
from typing import Any

import pytest

from skein.memory.own_words import MAX_MEMORIES, MAX_SOURCES, extraction_in
from skein.models.outbox.jobs import ConsolidationJob
from skein.models.runs.completion import ModelAnswer, TokenUsage
from skein.recall.passages import PASSAGE
from skein.services.background.engine import TooMuch, UnusableAnswer
from skein.settings import Settings
from tests.support.builders import TENANT
from tests.support.fakes import ScriptedModel
from tests.support.family import COACH, EMMA, Family, chat_of


def answered(text: str, fault: str | None = None) -> ModelAnswer:
    return ModelAnswer.model_validate(
        {"model": "m", "text": text, "usage": TokenUsage(), "fault": fault}
    )


@pytest.mark.parametrize(
    ("memories", "kept"),
    [
        ([], []),
        (["Emma likes tea."], ["Emma likes tea."]),
        (["  Emma likes tea. ", "Emma likes tea."], ["Emma likes tea."]),
        (["...", ""], []),
        (["x" * 600], ["x" * PASSAGE]),
    ],
)
def test_answer_with_memories_is_parsed(memories: list[str], kept: list[str]) -> None:
    found = extraction_in(answered(json.dumps({"memories": memories})))
    assert [entry.text for entry in found.entries] == kept


@pytest.mark.parametrize("text", ["None.", '{"memories": "tea"}', '{"memories": [{"text": "x"}]}'])
def test_answer_of_another_form_is_unusable(text: str) -> None:
    with pytest.raises(UnusableAnswer):
        extraction_in(answered(text))


@pytest.mark.parametrize(
    "answer",
    [
        answered('{"memories": ["Emma', "cut_off"),
        answered(json.dumps({"memories": [f"Fact {n}" for n in range(MAX_MEMORIES + 1)]})),
    ],
)
def test_answer_that_is_too_long_is_too_much(answer: ModelAnswer) -> None:
    with pytest.raises(TooMuch):
        extraction_in(answer)


def talking(messages: int, **given: Any) -> Family:
    """Emma has said so many things that a rule tells, and the agent has answered nothing."""
    model = ScriptedModel.saying(default="Fine.")
    family = Family.made(consolidate=True, model=model, **given)
    family.rule()
    family.says(EMMA, "Hello there, how are you?")
    for number in range(messages):
        family.post(f"Fact {number} is true", EMMA, chat_id=chat_of(EMMA))
    family.drain()
    family.clock.advance(3_600)
    return family


def shown_in(family: Family) -> list[int]:
    """Return how many facts each call was given."""
    return [each.messages[1].content.count("Fact ") for each in family.model.own_words_requests]


def consolidate(family: Family) -> None:
    family.handle(ConsolidationJob(tenant=TENANT, chat_id=chat_of(EMMA)))


def test_call_has_at_most_twenty_messages() -> None:
    family = talking(MAX_SOURCES + 2)
    consolidate(family)
    assert shown_in(family) == [MAX_SOURCES, 2]


def test_chunk_that_yields_too_much_is_halved() -> None:
    family = talking(4)
    family.model.own_words.append(json.dumps({"memories": [f"Fact {n}" for n in range(99)]}))
    consolidate(family)
    assert shown_in(family) == [4, 2, 2]
    membership = family.membership(COACH, chat_of(EMMA))
    assert membership.own_words_seq == family.stored_chat(chat_of(EMMA)).person_seq


def test_message_that_yields_too_much_alone_is_a_failure() -> None:
    family = talking(1)
    family.model.own_words.append(json.dumps({"memories": [f"Fact {n}" for n in range(99)]}))
    consolidate(family)
    membership = family.membership(COACH, chat_of(EMMA))
    assert (membership.own_words_seq, membership.consolidation_failures) == (0, 1)


def test_consolidation_waits_until_the_talk_is_over() -> None:
    family = talking(1, settings=Settings(sharing_quiet_minutes=120))
    consolidate(family)
    assert (shown_in(family), family.model.memory_requests) == ([], [])
    family.clock.advance(3_600)
    consolidate(family)
    assert (shown_in(family), len(family.model.memory_requests)) == ([1], 1)
