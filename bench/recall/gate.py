"""`make bench ONLY=recall-gate`: no recall for small talk, and the newest state of changed facts.

The gate decides whether a message needs recall. Three sets of 100 messages each were written before
the gate: small talk, questions, and statements that ask nothing but need an old message. Half of
each set, from the seed for tuning, was used to write the gate. The command measures the other half.
It also prints how often recall shows the older statement of a changed fact, and how often the newer
statement with it.
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
    """Count, for each sort of message, how often recall shows anything in a prompt.

    Also count how often it shows the statement that the message needs.
    """
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
    """Return how often the older statement of a changed fact is shown.

    The second number is how often the newer statement is shown with it.
    """
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
    """Measure the half that was not used for tuning, and print a table."""
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
