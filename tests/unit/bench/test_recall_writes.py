"""The bench of the index of recall counts what its worker writes."""

import json
from pathlib import Path

import pytest

from bench.recall.writes import indexed, main
from tests.support.builders import embeddings

TURNS = [
    {"speaker": speaker, "text": f"{speaker} pays {4000 + number} euros"}
    for number, speaker in enumerate(["Ann", "Ben"] * 8)
]


def test_bursts_take_fewer_writes_and_store_the_same() -> None:
    alone, together = (indexed(TURNS, burst, embeddings()) for burst in (1, 16))
    assert alone.messages == together.messages == 16
    # A block and two postings each: the number, and the euros, which all messages share.
    assert alone.writes == 16 * 3
    assert together.writes == 3 + 16 + 1
    assert together.units < alone.units
    assert together.stored == pytest.approx(alone.stored, rel=0.01)


def test_bench_fails_if_a_message_takes_too_many_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rare = " ".join(f"{number}x" for number in range(20))
    turns = [{"speaker": "Ann", "text": f"{number} {rare}"} for number in range(4)]
    (tmp_path / "one.json").write_text(json.dumps({"turns": turns, "questions": []}))
    assert main(str(tmp_path)) == 1
    assert "FAIL" in capsys.readouterr().out


def test_bench_without_conversations_says_what_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main("") == 1
    assert "DATA" in capsys.readouterr().err
