"""The bench of the index of recall counts what its worker writes."""

import pytest

from bench.recall.writes import indexed
from tests.support.builders import embeddings

TURNS = [
    {"speaker": speaker, "text": f"{speaker} pays {4000 + number} euros"}
    for number, speaker in enumerate(["Ann", "Ben"] * 8)
]


def test_bursts_take_fewer_writes_and_store_the_same() -> None:
    alone, together = (indexed(TURNS, burst, embeddings()) for burst in (1, 16))
    assert alone.messages == together.messages == 16
    # A passage and two postings each: the number, and the euros, which all messages share.
    assert alone.writes == 16 * 3
    assert together.writes == 16 + 16 + 1
    assert together.units < alone.units
    assert together.stored == pytest.approx(alone.stored, rel=0.01)
