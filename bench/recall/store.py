"""LangGraph's store search on conversations, run as a process in the peers' environment.

The process reads conversations from standard input as JSON, with vectors that were computed before.
It prints the order of the turns for each question, best first.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from langgraph.store.memory import InMemoryStore

FOUND = 200  # turns of an order


def orders(data: dict[str, Any]) -> list[list[int]]:
    """Return the positions of the turns that the store finds for each question, best first.

    Args:
        data: `texts`, `questions`, and `vectors`, which has the vector of each of these texts.
    """
    vectors: dict[str, list[float]] = data["vectors"]

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [vectors[text] for text in texts]

    dimensions = len(next(iter(vectors.values())))
    store = InMemoryStore(index={"dims": dimensions, "embed": embed, "fields": ["text"]})
    for position, text in enumerate(data["texts"]):
        store.put(("turns",), str(position), {"text": text})
    return [
        [int(item.key) for item in store.search(("turns",), query=question, limit=FOUND)]
        for question in data["questions"]
    ]


if __name__ == "__main__":
    print(json.dumps([orders(each) for each in json.load(sys.stdin)]))
