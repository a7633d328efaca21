"""The tokens of prompts that are neither people's words nor the operator's."""

import json
from functools import cache

import pytest

from skein.adapters.openai.model import tools_on_wire
from skein.agent.tools import enabled
from skein.models.directory.agent import DEFAULT_TOOLS
from tests.support.builders import tokens
from tests.support.prompt_overhead import (
    DEFAULT_TOOLS_LIMIT,
    OVERHEAD_LIMITS,
    overhead,
    without,
    without_recalled,
)
from tests.support.prompt_situations import SITUATIONS, Situation


@cache
def situation(name: str) -> Situation:
    return SITUATIONS[name]()


@pytest.mark.parametrize("name", SITUATIONS)
def test_prompt_does_not_grow(name: str) -> None:
    now = overhead(situation(name), tokens())
    assert now.prompt <= OVERHEAD_LIMITS[name].prompt
    assert now.tools <= OVERHEAD_LIMITS[name].tools


def test_default_tools_take_at_most_900_tokens() -> None:
    specs = [tool.spec for tool in enabled(DEFAULT_TOOLS)]
    assert {"ask_a_person", "ask_choice", "cancel_plan", "set_plan"} <= {one.name for one in specs}
    assert tokens().count(json.dumps(tools_on_wire(specs))) <= DEFAULT_TOOLS_LIMIT


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation_shows_the_words_that_are_not_counted(name: str) -> None:
    texts = [message.content for message in situation(name).request.messages]
    left = sum(map(tokens().count, without(texts, situation(name).words)))
    assert left < sum(map(tokens().count, texts)) - 20
    assert without(texts, ()) == texts


def test_messages_of_recalled_are_left_out_and_its_headings_count() -> None:
    recalled = 'RECALLED (older):\n  -- 2026-02-18 --\n  [msg:1] Ann: "Hi"'
    history = 'CHAT HISTORY:\n  [msg:2] Ann: "Hello"'
    left = without_recalled(f"{recalled}\n\n{history}")
    assert left == f"RECALLED (older):\n  -- 2026-02-18 --\n\n{history}"


def test_word_is_left_out_once_and_a_repetition_counts() -> None:
    texts = ['a "say \\"hi\\"" b', 'again "say \\"hi\\""']
    assert without(texts, ['say "hi"']) == ['a "" b', 'again "say \\"hi\\""']
