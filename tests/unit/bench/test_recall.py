"""The bench of recall measures the share of evidence within a budget."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.recall import evidence as recall
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens

FACTS = ("My dog is called Rex.", "I live in Berlin.", "Soup is my favourite food.")


def data() -> dict[str, Any]:
    """Return a conversation of sixty turns with three facts."""
    texts = [f"Nothing new on day {number}." for number in range(60)]
    for position, fact in zip((5, 25, 45), FACTS, strict=True):
        texts[position] = fact
    turns = [
        {
            "id": f"t{n}",
            "session": n // 20,
            "at": "",
            "speaker": "Dana" if n % 2 else "Ben",
            "text": t,
        }
        for n, t in enumerate(texts)
    ]
    questions = [
        {"question": "What is Dana's dog called?", "evidence": ["t5"]},
        {"question": "Which city does Dana live in?", "evidence": ["t25"]},
        {"question": "What food does Dana like?", "evidence": ["t45"]},
        {"question": "Without evidence?", "evidence": []},
    ]
    return {"turns": turns, "questions": questions}


def known() -> recall.Conversation:
    return recall.conversation("one", data())


def test_recall_finds_the_evidence_that_newest_messages_miss() -> None:
    conversation = known()
    assert len(conversation.questions) == 3
    stand = recall.Stand(StaticEmbeddings(), Tokens())
    stand.hold(conversation)
    found = recall.shares([conversation], stand.recalled)
    newest = recall.shares([conversation], recall.packed(recall.newest, Tokens()))
    assert found[500] == 1.0
    assert newest[500] < 0.5


def test_budget_counts_lines_and_headings() -> None:
    conversation, tokens = known(), Tokens()
    kept = recall.packed(lambda _known, _question: [0], tokens)
    first = tokens.count("  -- 2026-02-18 --\n")
    first += tokens.count('  [msg:1] Ben: "Nothing new on day 0."\n')
    assert kept(conversation, "", first) == {0}
    assert kept(conversation, "", first - 1) == set()


def test_verdicts_name_what_is_missed() -> None:
    lines = recall.verdicts({1_000: 0.79, 4_000: 0.5})
    assert lines[0].startswith("pass")
    assert "missed" in lines[0]
    assert lines[1].startswith("FAIL")


def test_folder_without_conversations_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recall.main(str(tmp_path)) == 1
    assert "DATA" in capsys.readouterr().err


def test_main_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.json").write_text(json.dumps(data()), encoding="utf-8")
    assert recall.main(str(tmp_path)) == 0
    printed = capsys.readouterr().out
    assert "1 conversations, 3 questions" in printed
    assert "BM25" in printed


def test_store_search_without_its_environment_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(recall, "PEERS_PYTHON", tmp_path / "python")
    assert recall.by_store(StaticEmbeddings(), []) is None


def test_store_search_is_asked_with_the_embeddings_of_recall(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncat > "$(dirname "$0")/asked"\necho \'[[[1, 0]]]\'\n')
    python.chmod(0o755)
    monkeypatch.setattr(recall, "PEERS_PYTHON", python)
    turns = [
        {"id": str(number), "session": 1, "at": "", "speaker": "Ann", "text": text}
        for number, text in enumerate(["Hi", "I like tea"])
    ]
    asked = {"question": "Who likes tea?", "evidence": ["1"]}
    known = recall.conversation("one", {"turns": turns, "questions": [asked]})
    order = recall.by_store(StaticEmbeddings(), [known])
    assert order is not None
    assert list(order(known, "Who likes tea?")) == [1, 0]
    [sent] = json.loads((tmp_path / "asked").read_text())
    assert sent["texts"] == ["Ann: Hi", "Ann: I like tea"]
    assert set(sent["vectors"]) == {"Ann: Hi", "Ann: I like tea", "Who likes tea?"}
    assert {len(vector) for vector in sent["vectors"].values()} == {256}
