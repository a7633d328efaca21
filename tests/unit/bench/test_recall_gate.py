"""The measure of the gate counts what prompts would show, by sort of message."""

import pytest

from bench.recall import gate, long_answers
from bench.recall.long_answers import conversations

SEED = long_answers.TUNING


def test_measure_counts_what_is_shown_with_and_without_the_gate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [one for one in long_answers.gate_cases(SEED) if one.sort == "question"][:1]
    thanks = long_answers.GateCase("small talk", found[0].conversation, "Thanks, see you!", "")
    # With the gate, words that would match a message alone do not open it.
    idle = long_answers.GateCase("idle", found[0].conversation, "Sounds perfect!", "")
    monkeypatch.setattr(gate, "gate_cases", lambda _: [*found, thanks, idle])
    monkeypatch.setattr(gate, "conversations", lambda seed: conversations(seed, 1))
    counts = gate.measure(SEED)
    assert counts["question"] == {
        "all": 1,
        "shown": 1,
        "decisive": 1,
        "decisive without the gate": 1,
    }
    assert counts["small talk"]["shown"] == counts["idle"]["shown"] == 0
    assert counts["small talk"]["all"] == 1
