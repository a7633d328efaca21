"""`make bench ONLY=recall DATA=folder`: how much of the evidence recall finds.

A file of the folder is a conversation: `turns` of `{id, session, at, speaker, text, image?}` and
`questions` of `{question, evidence: [turn ids]}`. The measure is the share of a question's evidence
among the messages that fit into a token budget (o200k_base, with headings), the mean of all
questions.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.models.recall.block import BLOCK_MESSAGES, Block, IndexedText, block_number, block_of
from skein.services.common.quoting import quoted
from skein.services.recall.ranking import RecallQuery, ranked
from skein.services.recall.words import stems_of

BUDGETS = (500, 1_000, 2_000, 4_000)
REQUIRED, GOAL = {1_000: 0.78, 4_000: 0.88}, {1_000: 0.80, 4_000: 0.92}
LEAST_LINE = 12  # tokens; less room holds no further message
CHAT = "conversation"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the positions of the turns that answer it."""

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with its index.

    Attributes:
        texts: What was said, with the descriptions of images.
        speakers: Who said it.
        sessions: The session of each turn.
        costs: The tokens of each turn's line.
        heading: The tokens of a session's heading.
        blocks: The index.
        questions: The questions that have evidence.
    """

    texts: tuple[str, ...]
    speakers: tuple[str, ...]
    sessions: tuple[int, ...]
    costs: tuple[int, ...]
    heading: int
    blocks: tuple[Block, ...]
    questions: tuple[Question, ...]


Order = Callable[[Conversation, str], Sequence[int]]
"""Orders the turns of a conversation for a question, best first."""


def conversation(
    data: dict[str, Any], embeddings: StaticEmbeddings, tokens: Tokens
) -> Conversation:
    """Index a conversation of a file."""
    turns = data["turns"]
    texts = tuple(" ".join(filter(None, (turn["text"], turn.get("image")))) for turn in turns)
    speakers = tuple(turn["speaker"] for turn in turns)
    indexed = [
        IndexedText(position, speaker, stems_of(text), embedding)
        for position, (speaker, text, embedding) in enumerate(
            zip(speakers, texts, embeddings.embed(texts), strict=True)
        )
    ]
    blocks = tuple(
        block_of(
            CHAT, block_number(start), embeddings.name, indexed[start : start + BLOCK_MESSAGES]
        )
        for start in range(0, len(indexed), BLOCK_MESSAGES)
    )
    positions = {turn["id"]: position for position, turn in enumerate(turns)}
    questions = (
        Question(
            asked["question"],
            tuple(positions[turn] for turn in asked["evidence"] if turn in positions),
        )
        for asked in data["questions"]
    )
    return Conversation(
        texts,
        speakers,
        tuple(turn["session"] for turn in turns),
        tuple(
            tokens.count(f"  [msg:{position + 1}] {speaker}: {quoted(text)}\n")
            for position, (speaker, text) in enumerate(zip(speakers, texts, strict=True))
        ),
        tokens.count("  -- 2026-02-18 --\n"),
        blocks,
        tuple(question for question in questions if question.evidence),
    )


def by_recall(embeddings: StaticEmbeddings) -> Order:
    """Return the order of Skein's recall."""

    def order(known: Conversation, question: str) -> list[int]:
        named = {name for name in known.speakers if re.search(rf"\b{re.escape(name)}\b", question)}
        rest = re.sub("|".join(map(re.escape, sorted(named))) or "$^", " ", question)
        [meaning] = embeddings.embed([rest])
        query = RecallQuery(meaning.vector, frozenset(stems_of(rest)), frozenset(named))
        return [hit.seq for hit in ranked(query, known.blocks)]

    return order


def by_words() -> Order:
    """Return the order of BM25 alone."""
    from lunr.builder import Builder  # noqa: PLC0415 - only this comparison needs it

    indexes: dict[int, Any] = {}

    def order(known: Conversation, question: str) -> list[int]:
        if id(known) not in indexes:
            builder = Builder()
            builder.field("words")
            for position, text in enumerate(known.texts):
                builder.add({"id": position, "words": list(stems_of(text))})
            indexes[id(known)] = builder.build()
        index = indexes[id(known)]
        asked = index.create_query()
        for stem in dict.fromkeys(stems_of(question)):
            asked.term(stem, use_pipeline=False)
        return [int(match["ref"]) for match in index.query(asked)]

    return order


def newest(known: Conversation, _question: str) -> range:
    """Order by age, the newest turns first."""
    return range(len(known.texts) - 1, -1, -1)


def within(known: Conversation, order: Sequence[int], budget: int) -> set[int]:
    """Return the turns that fit into a budget, with a heading for each session."""
    left, sessions, kept = budget, set[int](), set[int]()
    for position in order:
        session = known.sessions[position]
        cost = known.costs[position] + (0 if session in sessions else known.heading)
        if cost <= left:
            left -= cost
            sessions.add(session)
            kept.add(position)
        elif left < LEAST_LINE:
            break
    return kept


def shares(conversations: Sequence[Conversation], order: Order) -> dict[int, float]:
    """Return the mean share of evidence within each budget."""
    found: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for known in conversations:
        for question in known.questions:
            ordered = order(known, question.text)
            for budget, values in found.items():
                kept = within(known, ordered, budget)
                values.append(mean(position in kept for position in question.evidence))
    return {budget: mean(values) for budget, values in found.items()}


def verdicts(measured: dict[int, float]) -> list[str]:
    """Return a line for each required share: pass or FAIL, and whether the goal is reached."""
    return [
        f"{'pass' if measured[budget] >= least else 'FAIL'}  at least {least:.2f} of the evidence"
        f" at {budget:,} tokens: {measured[budget]:.3f}"
        f" (goal {GOAL[budget]:.2f}: {'reached' if measured[budget] >= GOAL[budget] else 'missed'})"
        for budget, least in REQUIRED.items()
    ]


def main(folder: str) -> int:
    """Measure the conversations of a folder and print a table.

    Returns:
        1 if a required share is missed or the folder holds no conversation, else 0.
    """
    embeddings, tokens = StaticEmbeddings(), Tokens()
    files = sorted(Path(folder).glob("*.json")) if folder else []
    conversations = [
        conversation(json.loads(file.read_text(encoding="utf-8")), embeddings, tokens)
        for file in files
    ]
    if not conversations:
        print("bench: no conversation: set DATA to a folder of JSON files", file=sys.stderr)
        return 1
    questions = sum(len(known.questions) for known in conversations)
    print(f"{len(conversations)} conversations, {questions} questions with evidence\n")
    print(f"{'':20}" + "".join(f"{budget:>8,}" for budget in BUDGETS))
    orders: dict[str, Order] = {
        "newest messages": newest,
        "BM25": by_words(),
        "recall": by_recall(embeddings),
    }
    measured: dict[int, float] = {}
    for name, order in orders.items():
        begun = time.process_time()
        measured = shares(conversations, order)
        each = (time.process_time() - begun) / questions * 1_000
        cells = "".join(f"{measured[budget]:>8.3f}" for budget in BUDGETS)
        print(f"{name:20}{cells}   {each:.0f} ms of CPU a question")
    lines = verdicts(measured)
    print("", *lines, sep="\n")
    return int(any(line.startswith("FAIL") for line in lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
