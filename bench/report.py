"""Puts what was measured into words: the table that is printed, and `bench/results.md`."""

from collections.abc import Sequence

from bench.cost import Row
from bench.goals import Results, goals
from bench.prompts.overhead import cells

NAMES = {
    "skein": "Skein",
    "skein-warm": "Skein, warm worker",
    "langchain": "LangChain",
    "langgraph": "LangGraph",
}
HEADS = ("messages", "who", "calls", "rounds", "KiB sent", "KiB received", "units", "ms", "turns")
OPENING = """\
# What a turn costs

Written by `make bench`; nothing in it is written by hand. One turn is one message in, its context
read, and one answer stored; the model answers at once. Everybody runs on the same DynamoDB Local in
the same run, with the same messages of 190 characters.

- **Skein**: a direct chat of the app, through its doors: limits, exactly-once, a recorded run with
  its prompt. Each turn's worker has never seen the chat; a warm worker has it in memory.
- **LangChain**: `DynamoDBChatMessageHistory`, all read before the answer, both messages added at
  once after it. **LangGraph**: a graph of one node with `langgraph-checkpoint-aws`'s
  `DynamoDBSaver`, large states in S3.
- Calls are requests to DynamoDB and S3, retries included; Skein's one or two to SQS are not in it.
  Rounds are calls that wait for each other. KiB are bodies. Units are what DynamoDB says it
  consumed; S3 has none. Medians, but for rounds, which are the least of the turns. Times are those
  of an engine on the same machine: they compare, and say nothing of AWS.
"""
COLD_STARTS = """\
Compiled, by an interpreter that has just started; processor time, the least of three. The first
event is a real one, on a table that holds what led to it. Of every port that it asks for the real
one is made, its clients and all; DynamoDB, the model and Twilio are also called, in vain. Ports in
memory then do the work.
"""

PROMPTS = """\
Tokens that are neither people's words nor the operator's, in four situations, then at commit
ff91d65 and now. `bench/prompts/overhead.py` says what counts.
"""


def table(rows: Sequence[Row]) -> list[list[str]]:
    """The cells of the table, its head first, sorted by length."""
    ordered = sorted(rows, key=lambda row: (row.messages, list(NAMES).index(row.who)))
    return [list(HEADS), *(_cells(row) for row in ordered)]


def _cells(row: Row) -> list[str]:
    start = [f"{row.messages:,}", NAMES[row.who]]
    if row.error is not None:
        return [*start, f"fails: {row.error}"]
    return [
        *start,
        f"{row.calls:g}",
        f"{row.rounds}",
        f"{row.sent_kib:,.1f}",
        f"{row.received_kib:,.1f}",
        f"{row.units:,.1f}",
        f"{row.milliseconds:,.0f}",
        f"{row.turns}",
    ]


def printed(cells: Sequence[Sequence[str]]) -> str:
    """Cells in columns, for a terminal; a line that tells of a failure runs on."""
    whole = [row for row in cells if len(row) == len(cells[0])]
    widths = [max(len(row[position]) for row in whole) for position in range(len(cells[0]))]
    lines = (
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)) for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def markdown_table(cells: Sequence[Sequence[str]]) -> str:
    """Cells as Markdown; a shorter row is filled up."""
    width = len(cells[0])
    rows = [
        [*(cell.replace("|", "\\|") for cell in row), *[""] * (width - len(row))] for row in cells
    ]
    lines = [f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * width, *rows[1:]]]
    return "\n".join(lines)


def goal_cells(results: Results) -> list[list[str]]:
    """The goals, what was found and the verdicts."""
    return [["goal", "found", ""], *([g.name, g.found, g.verdict] for g in goals(results))]


def import_cells(results: Results) -> list[list[str]]:
    """What a cold start of each function takes, the longest first."""
    ordered = sorted(results.imports.items(), key=lambda one: -one[1].sum_ms)
    rows = (
        [f"`{name}`", *(f"{ms:.0f}" for ms in (start.import_ms, start.event_ms, start.sum_ms))]
        for name, start in ordered
    )
    return [["function", "import, ms", "first event, ms", "both, ms"], *rows]


def time_cells(results: Results) -> list[list[str]]:
    """What of a context is Skein's own time."""
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


def overhead_cells(results: Results) -> list[list[str]]:
    """How many tokens of a prompt are nobody's words, by situation."""
    return cells(results.overheads)


def operation_lines(results: Results) -> list[str]:
    """Which operations the calls of a turn are, in the longest chat that each can hold."""
    last = {row.who: row for row in results.rows if row.error is None}
    return [
        f"- {NAMES[who]}, {row.messages:,} messages: "
        + ", ".join(f"{count} {name}" for name, count in (row.by_name or {}).items())
        for who, row in last.items()
    ]


def page(results: Results, about: str) -> str:
    """`bench/results.md`."""
    parts = [
        OPENING,
        f"{about}\n",
        "![Cost of a turn by length of chat](results.svg)\n",
        "## Turns\n",
        f"{markdown_table(table(results.rows))}\n",
        "\n".join(operation_lines(results)) + "\n",
        "## Goals\n",
        f"{markdown_table(goal_cells(results))}\n",
        "## Skein's own time in a context\n",
        f"{markdown_table(time_cells(results))}\n",
        "## Cold starts\n",
        COLD_STARTS,
        f"{markdown_table(import_cells(results))}\n",
        "## Prompts\n",
        PROMPTS,
        f"{markdown_table(overhead_cells(results))}\n",
    ]
    if results.failures:
        parts += ["## Not measured\n", "\n".join(f"- {why}" for why in results.failures) + "\n"]
    return "\n".join(parts)
