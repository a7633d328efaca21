"""`make bench ONLY=recall-speed`: recall among 100,000 messages of 1,000 chats.

It prints the share of facts that recall shows within 1,000 tokens, in a prompt and by the tool,
compared with BM25 over passages. Then it prints the calls and the CPU time of a recall in a prompt;
CPU time does not depend on other work on the machine. The time of the vector search is printed
separately, because on AWS another service does this search. `SIZE=20000` uses fewer messages.
"""

import gc
import sys
import time
from collections import Counter
from collections.abc import Sequence

from bench.recall.evidence import AGENT, TENANT, Stand, by_words, packed
from bench.recall.generated import by_recall, over_all, shares, shown_by
from bench.recall.large_set import KINDS, MESSAGES, large_set
from local.sqlite.vectors import SqliteVectors
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.tokens import Tokens
from skein.models.common.vector_search import VectorSearch
from skein.models.visibility.ownership import owned_partition
from tests.support.builders import embeddings

PARTITION = owned_partition(TENANT, AGENT.id, None)
BUDGET = 1_000
CHAT_MESSAGES = 100  # of each chat
GOALS = ("changed facts", "many chats")
SHARE_OF_BM25, MOST_CALLS, MOST_CPU = 0.95, 3, 60.0
MOST_SEARCHES = 1


def main(size: str = "") -> int:
    """Index and search, and print tables.

    Returns:
        1 if a goal is missed, else 0.
    """
    messages = int(size or MESSAGES)
    known, tokens = large_set(messages, messages // CHAT_MESSAGES), Tokens()
    stand = Stand(StaticEmbeddings(), tokens)
    begun = time.process_time()
    kept = by_recall(known, stand)
    print(f"{messages:,} messages of one scope, in {len(known.chats):,} chats of one person")
    print(f"indexed in {time.process_time() - begun:.0f} s of CPU time\n", flush=True)
    # A process that recalls does not hold the generated messages, which garbage collection would
    # look at.
    gc.collect()
    gc.freeze()
    first = known.questions[0]
    kept(known.chats[first.chat], first.text, BUDGET)  # the first search reads all vectors
    stand.cpu_seconds.clear()
    stand.calls.clear()
    in_prompts = shares(known, kept, [BUDGET])
    took, called = [*stand.cpu_seconds], Counter(call.method for call in stand.calls)
    shown = {
        "recall": in_prompts,
        "tool": shares(known, shown_by(known, stand, thorough=True), [BUDGET]),
        "BM25": shares(known, over_all(known, packed(by_words(), tokens)), [BUDGET]),
    }
    print(f"{'facts within 1,000 tokens':28}" + "".join(f"{name:>8}" for name in shown))
    for kind in KINDS:
        print(f"{kind:28}" + "".join(f"{each[kind, BUDGET]:>8.2f}" for each in shown.values()))
    asked = len(known.questions)
    vectors = SqliteVectors(stand.database)
    searches = [_search_seconds(vectors, question.text) for question in known.questions[::7]]
    print(f"\n{'milliseconds of CPU':28}{'p50':>8}{'p95':>8}")
    print(_row("recall", took))
    print(_row("of which the vector search", searches[1:]))
    each = {method: count / asked for method, count in sorted(called.items())}
    print("calls: " + ", ".join(f"{count:.1f} {method}" for method, count in each.items()) + "\n")
    verdicts = {
        f"at least {SHARE_OF_BM25} of BM25's share of {kind}": shown["recall"][kind, BUDGET]
        >= SHARE_OF_BM25 * shown["BM25"][kind, BUDGET]
        for kind in GOALS
    } | {
        f"at most {MOST_SEARCHES} vector search and {MOST_CALLS} calls of the table": each.pop(
            "nearest", 0
        )
        <= MOST_SEARCHES
        and sum(each.values()) <= MOST_CALLS,
        f"p95 at most {MOST_CPU:.0f} ms of CPU": _at(took, 0.95) * 1e3 <= MOST_CPU,
    }
    for name, held in verdicts.items():
        print(f"{'pass' if held else 'FAIL'}  {name}")
    return int(not all(verdicts.values()))


def _search_seconds(vectors: SqliteVectors, text: str) -> float:
    """Return the CPU time of the vector search for a text."""
    [embedding] = embeddings().embed([text])
    begun = time.process_time()
    vectors.nearest(VectorSearch(PARTITION, embeddings().name, embedding.vector))
    return time.process_time() - begun


def _row(name: str, seconds: Sequence[float]) -> str:
    return f"{name:28}{_at(seconds, 0.5) * 1e3:>8.1f}{_at(seconds, 0.95) * 1e3:>8.1f}"


def _at(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
