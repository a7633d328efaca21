"""The tokens of prompts that are neither people's words nor the operator's."""

import pytest

from bench.prompts import THEN, cells, without
from bench.situations import SITUATIONS
from tests.support.builders import tokens


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation_shows_the_words_that_are_not_counted(name: str) -> None:
    situation = SITUATIONS[name]()
    texts = [message.content for message in situation.request.messages]
    left = sum(map(tokens().count, without(texts, situation.words)))
    assert left < sum(map(tokens().count, texts)) - 20
    assert without(texts, ()) == texts


def test_word_is_left_out_once_and_a_repetition_counts() -> None:
    texts = ['a "say \\"hi\\"" b', 'again "say \\"hi\\""']
    assert without(texts, ['say "hi"']) == ['a "" b', 'again "say \\"hi\\""']


def test_table_names_a_missed_goal() -> None:
    [_, row] = cells({"agent with threads": THEN["agent with threads"]})
    assert row[-1] == "FAIL"
