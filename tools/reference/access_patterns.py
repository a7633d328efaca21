"""Content of docs/access-patterns.md: the cost of each read and write, measured."""

from collections.abc import Mapping, Sequence
from types import ModuleType

from tests.patterns import (
    agents,
    chats,
    consolidation,
    desk,
    events,
    live,
    media,
    recall,
    runs,
    summaries,
    texts,
)
from tests.patterns.meter import Cost, Meter, Pattern
from tools.reference.markdown import table

HEAD = """# Access patterns

The cost of everything that reads or writes the [table](data.md), in calls of the port `Table`
(`shared/skein/ports.py`). A call is one request to DynamoDB, as long as its answer is below
DynamoDB's page of 1 MB. No pattern of a message or a turn costs more calls in a longer chat.

- **calls**: `get` reads one item, `get_many` up to 100, `query` a page of a partition, and
  `query_index` a page of an index. `nearest` is a vector search. `write` writes one item, and
  `transact` writes up to 100 items or none.
- **rounds**: how many calls wait for each other. Calls at the same time are one round.
- **jobs to**: the queues that get jobs after the commit.

A write with an optimistic lock reads and writes again if another writer was faster: up to 20 times,
with a growing pause.

`make reference` carries out the patterns of `tests/patterns` and writes this page.
"""
GROUPS: Mapping[str, ModuleType] = {
    "Chats, messages and people": chats,
    "Pictures and files": media,
    "SMS on their way out": texts,
    "Runs": runs,
    "Items of agents, and operators": agents,
    "Summaries and borrowed context": summaries,
    "Consolidation and reflection": consolidation,
    "Recall": recall,
    "The live channel": live,
    "Events": events,
    "The desk": desk,
}


def page() -> str:
    """Return docs/access-patterns.md in Markdown."""
    parts = (_part(heading, module.patterns) for heading, module in GROUPS.items())
    return HEAD + "".join(parts)


def _part(heading: str, patterns: Mapping[str, Pattern]) -> str:
    rows = [(name, cost.calls, str(cost.rounds), cost.queues) for name, cost in _costs(patterns)]
    return f"\n## {heading}\n\n{table('pattern', 'calls', 'rounds', 'jobs to', rows=rows)}"


def _costs(patterns: Mapping[str, Pattern]) -> Sequence[tuple[str, Cost]]:
    """Carry out each pattern and return its cost.

    Raises:
        ValueError: A pattern measures nothing.
    """
    found = []
    for name, carry_out in patterns.items():
        meter = Meter()
        carry_out(meter)
        if meter.cost is None:
            raise ValueError(f"the pattern {name!r} measures nothing")
        found.append((name, meter.cost))
    return found
