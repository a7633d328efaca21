"""`make bench ONLY=recall-gate`: silence for small talk, and the newest state of changed facts.

Three sets have 100 messages each, written before the gate: small talk, questions, and statements
that need an old message and ask nothing. The gate was written with the half of the seed for
tuning. The command prints the other half, and how often the newer statement of a changed fact is
shown where the older one is.
"""

import sys
from collections import Counter

from bench.recall.evidence import Conversation, Stand
from bench.recall.long_answers import REPORTED, conversations, data, gate_cases
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.recall.query import needs_recall

BUDGET = 1_000


def measure(seed: int = REPORTED) -> dict[str, Counter[str]]:
    """Count the messages of each sort, by whether prompts show anything, and the statement."""
    embeddings, tokens = StaticEmbeddings(), Tokens()
    known, stands = conversations(seed), dict[str, Stand]()
    counts: dict[str, Counter[str]] = {}
    for case in gate_cases(seed):
        asked_in: Conversation = known[case.conversation]
        if asked_in.chat_id not in stands:
            stands[asked_in.chat_id] = Stand(embeddings, tokens)
            stands[asked_in.chat_id].hold(asked_in)
        opened = needs_recall(case.text)
        found = stands[asked_in.chat_id].recalled(asked_in, case.text, BUDGET)
        holds = bool(case.decisive) and any(case.decisive in text for text in found.values())
        counts.setdefault(case.sort, Counter()).update(
            {
                "all": 1,
                "shown": bool(opened and found),
                "decisive": opened and holds,
                "decisive without the gate": holds,
            }
        )
    return counts


def changed(seed: int = REPORTED) -> tuple[int, int]:
    """Return how often the older statement of a changed fact is shown, and both are."""
    embeddings, tokens = StaticEmbeddings(), Tokens()
    older = both = 0
    for number, known in enumerate(conversations(seed)):
        stand = Stand(embeddings, tokens)
        stand.hold(known)
        for asked in data(seed, number)["questions"]:
            if not asked["older"]:
                continue
            shown = stand.recalled(known, asked["question"], BUDGET).values()
            holds = any(asked["older"] in text for text in shown)
            older += holds
            both += holds and any(asked["decisive"][0] in text for text in shown)
    return older, both


def main() -> int:
    """Measure the half that is kept apart, and print a table."""
    print(f"of 50 messages of each sort, in percent, within {BUDGET:,} tokens\n")
    columns = ("shown", "decisive", "decisive without the gate")
    print(f"{'':14}" + "".join(f"{column:>28}" for column in columns))
    for sort, counts in measure().items():
        shares = (100 * counts[column] / counts["all"] for column in columns)
        print(f"{sort:14}" + "".join(f"{share:>28.0f}" for share in shares))
    older, both = changed()
    print(f"\nchanged facts: the older statement is shown {older} times, with the newer one {both}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
