"""A section of docs/data.md: the measured cost of each access pattern."""

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
    visits,
)
from tests.patterns.meter import Cost, Meter, Pattern
from tools.reference.markdown import table

HEAD = """
## Access patterns

The tables below list the cost of everything that reads or writes the table, in calls of the port
`Table` (`shared/skein/ports.py`). A call is one request to DynamoDB, as long as its answer is
smaller than DynamoDB's page of 1 MB. The calls for a message or a turn don't increase with the
length of the chat.

- **Calls:** `get` reads one item, `get_many` up to 100, `query` a page of a partition, and
  `query_index` a page of an index. `get_many_eventual` is an eventually consistent `get_many`,
  which costs half. `nearest` is a vector search. `write` writes one item, and `transact` writes
  up to 100 items or none.
- **Rounds:** how many calls wait for each other. Calls that are made at the same time are one
  round.
- **Jobs to:** the queues that get jobs after the commit.

If another writer was faster, a write with an optimistic lock reads and writes again, up to 20
times, with growing pauses.

`make reference` carries out the patterns in `tests/patterns` and writes these tables.
"""
GROUPS: Mapping[str, ModuleType] = {
    "Cost of chats, messages and people": chats,
    "Cost of pictures and files": media,
    "Cost of outgoing SMS": texts,
    "Cost of runs": runs,
    "Cost of items of agents, and of operators": agents,
    "Cost of summaries and borrowed context": summaries,
    "Cost of consolidation and reflection": consolidation,
    "Cost of recall": recall,
    "Cost of the live channel": live,
    "Cost of events": events,
    "Cost of the desk": desk,
    "Cost of the web chat": visits,
}


def section() -> str:
    """Return the section of docs/data.md in Markdown."""
    parts = (_part(heading, module.patterns) for heading, module in GROUPS.items())
    return HEAD + "".join(parts)


def _part(heading: str, patterns: Mapping[str, Pattern]) -> str:
    rows = [(name, cost.calls, str(cost.rounds), cost.queues) for name, cost in _costs(patterns)]
    return f"\n### {heading}\n\n{table('pattern', 'calls', 'rounds', 'jobs to', rows=rows)}"


def _costs(patterns: Mapping[str, Pattern]) -> Sequence[tuple[str, Cost]]:
    """Play each pattern and return its cost.

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
