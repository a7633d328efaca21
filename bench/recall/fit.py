"""`make bench ONLY=recall-fit`: fit the weights of the ranking on generated conversations.

There are three kinds of conversations: with long answers, the same with a friend's short answers
(both generated from the seed for tuning), and small sets of short messages. The sets behind the
figures in the docs are not used. The candidates of each question are found once; each set of
weights then only orders them again. The fit changes one weight at a time. The share of each
conversation is measured with weights that were chosen on the other conversations (leave-one-out).
The command also prints what the ranking finds if each part is left out.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from statistics import mean
from unittest import mock

from bench.recall import generated, long_answers
from bench.recall.evidence import Conversation, Stand, is_shown
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.recall import search
from skein.recall.passages import joined_parts, passages_of
from skein.recall.ranking import WEIGHTS, Hit, Line, RecallQuery, parts_of, ranked
from skein.services.common.quoting import quoted

BUDGETS = (500, 1_000, 4_000)
SHORT_SEEDS = range(101, 104)  # of the sets of short messages; the reported one has another
LONG = 6  # conversations of each of the other two kinds
FACTORS = (0.5, 0.75, 1.25, 1.5)  # by which the fit tries to change a weight
LEAST_GAIN = 0.0005  # less is chance
ROUNDS = 2
KINDS = ("long", "friends", "short")

Weights = tuple[float, ...]
"""The weights of the ranking, in its order."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that may be shown.

    Attributes:
        values: The parts of its score.
        day: Its chat and day. All passages of a chat and a day share one heading.
        tokens: The size of its line in the prompt, in tokens.
        answers: The positions of the evidence that the passage shows.
    """

    values: tuple[float, ...]
    day: tuple[str, int]
    tokens: int
    answers: frozenset[int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its candidates.

    Attributes:
        facts: The number of messages that answer the question.
    """

    conversation: str
    facts: int
    candidates: tuple[Candidate, ...]


def shown_share(asked: Asked, weights: Weights, heading: int) -> float:
    """Return the share of a question's evidence that is shown, as the mean of the token budgets."""
    scored = [
        (sum(map(mul, weights, one.values)), -number, one)
        for number, one in enumerate(asked.candidates)
    ]
    scored.sort(reverse=True)
    shares = []
    for budget in BUDGETS:
        used, days, found = 0, set[tuple[str, int]](), set[int]()
        for _, _, one in scored:
            cost = one.tokens + (0 if one.day in days else heading)
            if used + cost > budget:
                if budget - used < heading:
                    break
                continue
            used += cost
            days.add(one.day)
            found |= one.answers
        shares.append(len(found) / asked.facts)
    return mean(shares)


class Recorder:
    """Records the query and the passages of the last ranking."""

    def __init__(self) -> None:
        self.query: RecallQuery | None = None
        self.lines: Sequence[Line] = ()

    def ranked(self, query: RecallQuery, lines: Sequence[Line]) -> list[Hit]:
        """Rank passages as recall does, and record what was ranked."""
        self.query, self.lines = query, lines
        return ranked(query, lines)


Evidence = Callable[[Line, str], frozenset[int]]
"""Returns the positions of a question's evidence that a passage shows."""


def candidates(
    recorder: Recorder, chats: Mapping[str, Conversation], answers: Evidence, tokens: Tokens
) -> Iterator[Candidate]:
    """Yield the passages that the last recall ranked and may show."""
    if recorder.query is None:
        return
    parts = parts_of(recorder.query, recorder.lines)
    if max(parts.strengths, default=0.0) < search.MATCH:
        return
    seen = set[tuple[str, str]]()
    for line, values, strength in zip(
        recorder.lines, zip(*parts.values, strict=True), parts.strengths, strict=True
    ):
        whole = chats[line.chat_id].texts[line.seq - 1]
        passage = passages_of(whole)[line.part]
        repeated = (line.sender_id, passage.text) in seen
        if strength < search.LEAST or repeated:
            continue
        seen.add((line.sender_id, passage.text))
        shown = joined_parts(whole, [passage])
        size = tokens.count(f"  [msg:{line.seq}] {line.sender_id}: {quoted(shown)}\n")
        day = (line.chat_id, line.created_at // 86_400)
        yield Candidate(values, day, size, answers(line, shown))


def of_conversations(conversations: Sequence[Conversation]) -> Iterator[Asked]:
    """Index each conversation separately, and yield its questions with their candidates."""
    embeddings, tokens = StaticEmbeddings(), Tokens()
    for known in conversations:
        stand, recorder = Stand(embeddings, tokens), Recorder()
        stand.hold(known)
        with mock.patch.object(search, "ranked", recorder.ranked):
            for question in known.questions:
                if not question.evidence:
                    continue
                stand.find(known, question.text, BUDGETS[-1])
                decisive = question.decisive or ("",) * len(question.evidence)
                needed = dict(zip(question.evidence, decisive, strict=True))

                def answers(
                    line: Line,
                    shown: str,
                    needed: Mapping[int, str] = needed,
                    known: Conversation = known,
                ) -> frozenset[int]:
                    turn = line.seq - 1
                    holds = turn in needed and is_shown(known.texts[turn], shown, needed[turn])
                    return frozenset([turn] if holds else [])

                found = candidates(recorder, {known.chat_id: known}, answers, tokens)
                yield Asked(known.chat_id, len(needed), tuple(found))


def of_short_messages(seed: int) -> Iterator[Asked]:
    """Yield the questions of a generated set of short messages."""
    known, tokens, recorder = generated.generated(generated.LEAST_SIZE, seed), Tokens(), Recorder()
    stand = Stand(StaticEmbeddings(), tokens)
    chats = {chat.chat_id: chat for chat in known.chats}
    for chat in known.chats:
        stand.hold(chat)
    with mock.patch.object(search, "ranked", recorder.ranked):
        for question in known.questions:
            stand.find(known.chats[question.chat], question.text, BUDGETS[-1])
            fact = known.chats[question.fact.chat].chat_id, question.fact.position + 1

            def answers(line: Line, _shown: str, fact: tuple[str, int] = fact) -> frozenset[int]:
                return frozenset([0] if line.message == fact else [])

            yield Asked(f"short_{seed}", 1, tuple(candidates(recorder, chats, answers, tokens)))


def shares(asked: Sequence[Asked], weights: Weights, heading: int) -> dict[str, float]:
    """Return the mean share of each conversation."""
    found: dict[str, list[float]] = {}
    for one in asked:
        found.setdefault(one.conversation, []).append(shown_share(one, weights, heading))
    return {name: mean(values) for name, values in found.items()}


def by_kind(found: Mapping[str, float]) -> list[float]:
    """Return the mean share for each kind of conversation."""
    return [mean(share for name, share in found.items() if kind in name) for kind in KINDS]


def tried(asked: Sequence[Asked], heading: int) -> dict[Weights, dict[str, float]]:
    """Return the shares for each set of weights that the fit tries.

    The fit starts with the current weights, and changes one weight at a time.
    """
    best = tuple(WEIGHTS.values())
    found = {best: shares(asked, best, heading)}
    for _ in range(ROUNDS):
        before = best
        for part in range(len(best)):
            for factor in FACTORS:
                other = (*best[:part], round(best[part] * factor, 3), *best[part + 1 :])
                if other not in found:
                    found[other] = shares(asked, other, heading)
            chosen = max(found, key=lambda one: mean(by_kind(found[one])))
            if mean(by_kind(found[chosen])) > mean(by_kind(found[best])) + LEAST_GAIN:
                best = chosen
        if best == before:
            break
    return found


def left_out(found: Mapping[Weights, Mapping[str, float]]) -> dict[str, float]:
    """Return each conversation's share with the weights that are best for all others."""
    names = list(next(iter(found.values())))

    def of_others(weights: Weights, name: str) -> float:
        return mean(by_kind({one: v for one, v in found[weights].items() if one != name}))

    return {name: found[max(found, key=lambda one: of_others(one, name))][name] for name in names}


def main() -> int:
    """Fit the weights; print them with their shares, and the shares if each part is left out."""
    asked = [*of_conversations(long_answers.conversations(long_answers.TUNING, LONG))]
    asked += of_conversations(long_answers.of_friends(long_answers.TUNING, LONG))
    for seed in SHORT_SEEDS:
        asked += of_short_messages(seed)
    heading = Tokens().count("  -- 2026-02-18 --\n")
    found = tried(asked, heading)
    now = tuple(WEIGHTS.values())
    best = max(found, key=lambda one: mean(by_kind(found[one])))
    print(f"{len(asked)} questions, {len(found)} sets of weights; the mean share at {BUDGETS}\n")
    print(f"{'':30}" + "".join(f"{kind:>10}" for kind in KINDS))
    rows = {"now": found[now], "fitted": found[best], "leave-one-out": left_out(found)}
    for part, name in enumerate(WEIGHTS):
        without = (*now[:part], 0.0, *now[part + 1 :])
        rows[f"without {name}"] = shares(asked, without, heading)
    for label, row in rows.items():
        print(f"{label:30}" + "".join(f"{share:>10.3f}" for share in by_kind(row)))
    print(f"\n{'weights':30}{'now':>10}{'fitted':>10}")
    for name, old, new in zip(WEIGHTS, now, best, strict=True):
        print(f"{name:30}{old:>10.2f}{new:>10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
