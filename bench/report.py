"""The report of the benchmarks: the printed tables, and `bench/results.md`."""

from collections.abc import Sequence

from bench.cost import Row
from bench.goals import Results, goals

NAMES = {
    "skein": "Skein",
    "skein-warm": "Skein, warm worker",
    "langchain": "LangChain",
    "langgraph": "LangGraph",
}
HEADS = (
    "messages",
    "who",
    "calls",
    "searches",
    "rounds",
    "KiB sent",
    "KiB received",
    "of searches",
    "units",
    "reads",
    "writes",
    "ms",
    "turns",
)
OPENING = """\
# What a turn costs

Written by `make bench`, not by hand. In one turn, a message is posted, its context is read, and one
answer is stored. The model answers at once. Each system runs on a DynamoDB Local of its own, in the
same run, with the same messages of 190 characters.

- **Skein**: a direct chat of the app, with rate limits, exactly-once processing, recall, and a
  recorded run with its prompt. In the rows "Skein", each turn has a worker that has never seen the
  chat. A warm worker has the chat in memory.
- **LangChain**: `DynamoDBChatMessageHistory`. The whole history is read before the answer, and both
  messages are added together after it.
- **LangGraph**: a graph of one node with `DynamoDBSaver` of `langgraph-checkpoint-aws`, and large
  states in S3.

Calls are requests to DynamoDB and S3, with retries. Vector searches are counted apart: DynamoDB
Local has no vector index, so the benchmark answers them itself, for the 1,000 oldest messages of a
chat. Skein's one or two requests to SQS are not counted. Rounds are calls that wait for each other.
KiB are the sizes of the bodies, and "of searches" is what vector searches answered. Units are the
capacity units that DynamoDB Local reports, of reads and of writes; S3 and vector searches have
none. Unlike DynamoDB, it counts no missing items, and of a transaction four units for each size of
item, however many items have it. `tests/unit/bench/test_cost_of_turns.py` counts a turn of Skein by
DynamoDB's rules: at most 69 units of reads and 51 of writes. All figures are medians, except the
rounds, which are the minimum. The times are those of an engine on the same machine. They can be
compared with each other, but not with times on AWS.
"""
VISITS = """\
Calls of a visitor of the [web chat](../docs/web-chat.md), without those of the answer. Each message
is checked, charged to the limits and posted.
"""
COLD_STARTS = """\
Processor time of compiled code in a new interpreter, the minimum of three. The first event is real,
on a table with the items that led to it. Each port that it uses is created with its clients. One
call of DynamoDB, the model and Twilio fails at an unreachable endpoint. Then ports in memory do the
work.
"""


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Return the cells of the table of turns, with the head first, sorted by length of chat."""
    ordered = sorted(rows, key=lambda row: (row.messages, list(NAMES).index(row.who)))
    return [list(HEADS), *(_cells(row) for row in ordered)]


def _cells(row: Row) -> list[str]:
    start = [f"{row.messages:,}", NAMES[row.who]]
    if row.error is not None:
        return [*start, f"fails: {row.error}"]
    return [
        *start,
        f"{row.calls:g}",
        f"{row.searches:g}",
        f"{row.rounds}",
        f"{row.sent_kib:,.1f}",
        f"{row.received_kib:,.1f}",
        f"{row.searched_kib:,.1f}",
        f"{row.units:,.1f}",
        f"{row.reads:,.1f}",
        f"{row.writes:,.1f}",
        f"{row.milliseconds:,.0f}",
        f"{row.turns}",
    ]


def printed(cells: Sequence[Sequence[str]]) -> str:
    """Format cells as columns for a terminal. A line that reports a failure may be wider."""
    whole = [row for row in cells if len(row) == len(cells[0])]
    widths = [max(len(row[position]) for row in whole) for position in range(len(cells[0]))]
    lines = (
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)) for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def markdown_table(cells: Sequence[Sequence[str]]) -> str:
    """Format cells as a Markdown table. Shorter rows are filled with empty cells."""
    width = len(cells[0])
    rows = [
        [*(cell.replace("|", "\\|") for cell in row), *[""] * (width - len(row))] for row in cells
    ]
    lines = [f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * width, *rows[1:]]]
    return "\n".join(lines)


def goal_cells(results: Results) -> list[list[str]]:
    """Return the cells of the goals, with the figures and the verdicts."""
    return [["goal", "found", ""], *([g.name, g.found, g.verdict] for g in goals(results))]


def import_cells(results: Results) -> list[list[str]]:
    """Return the cells of the cold starts, the longest first."""
    ordered = sorted(results.imports.items(), key=lambda one: -one[1].sum_ms)
    rows = (
        [f"`{name}`", *(f"{ms:.0f}" for ms in (start.import_ms, start.event_ms, start.sum_ms))]
        for name, start in ordered
    )
    return [["function", "import, ms", "first event, ms", "both, ms"], *rows]


def time_cells(results: Results) -> list[list[str]]:
    """Return the cells of Skein's own time in a context."""
    names = {
        "build_p95": "making the prompt (processor time), p95",
        "tokens_p95": "of that, counting tokens, p95",
        "own_p50": "all time of reading and making but that of calls, median",
        "own_p95": "the same, p95",
        "with_reads_p95": "calls included, p95",
    }
    kinds = list(results.own_time)
    rows = [
        [told, *(f"{results.own_time[kind][name]:.1f}" for kind in kinds)]
        for name, told in names.items()
    ]
    return [["ms, each in a fresh worker", *(f"{kind} chat" for kind in kinds)], *rows]


def visit_cells(results: Results) -> list[list[str]]:
    """Return the cells of the calls of a visit."""
    rows = (
        [
            row.who,
            *(f"{each:g}" for each in (row.calls, row.rounds, row.units, row.reads, row.writes)),
            f"{row.milliseconds:,.0f}",
        ]
        for row in results.visits
    )
    return [["call", "calls", "rounds", "units", "reads", "writes", "ms"], *rows]


def operation_lines(results: Results) -> list[str]:
    """Return the operations of one turn, in the longest chat that each system can hold."""
    last = {row.who: row for row in results.rows if row.error is None}
    return [
        f"- {NAMES[who]}, {row.messages:,} messages: "
        + ", ".join(f"{count} {name}" for name, count in (row.by_name or {}).items())
        for who, row in last.items()
    ]


def page(results: Results, about: str) -> str:
    """Return the text of `bench/results.md`."""
    parts = [
        OPENING,
        f"{about}\n",
        "![Cost of a turn by length of chat](results.svg)\n",
        "## Turns\n",
        f"{markdown_table(table(results.rows))}\n",
        "\n".join(operation_lines(results)) + "\n",
        "## Visits\n",
        VISITS,
        f"{markdown_table(visit_cells(results))}\n",
        "## Goals\n",
        f"{markdown_table(goal_cells(results))}\n",
        "## Skein's own time in a context\n",
        f"{markdown_table(time_cells(results))}\n",
        "## Cold starts\n",
        COLD_STARTS,
        f"{markdown_table(import_cells(results))}\n",
    ]
    if results.failures:
        parts += ["## Not measured\n", "\n".join(f"- {why}" for why in results.failures) + "\n"]
    return "\n".join(parts)
