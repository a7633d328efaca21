"""The bench of recall measures the share of evidence within a budget."""

from typing import Any

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
    first_piece = recall.pieces_of(conversation)[:1]
    kept = recall.packed(lambda _known, _question: first_piece, tokens)
    first = tokens.count("  -- 2026-02-18 --\n")
    first += tokens.count('  [msg:1] Ben: "Nothing new on day 0."\n')
    assert kept(conversation, "", first) == {0: "Nothing new on day 0."}
    assert kept(conversation, "", first - 1) == {}


def test_recall_verdicts_report_pass_and_missed_targets() -> None:
    lines = recall.verdicts({1_000: 0.79, 4_000: 0.5})
    assert lines[0].startswith("pass")
    assert "missed" in lines[0]
    assert lines[1].startswith("FAIL")
