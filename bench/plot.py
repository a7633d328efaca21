"""Plot the cost of a turn by length of chat; runs in the benchmarks' own environment.

`python -m bench.plot RESULTS.json PLOT.svg`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "skein"  # the same figures give the same file

import matplotlib.pyplot as plt  # noqa: E402 - after the backend is chosen

PANELS = (
    ("calls", "calls to DynamoDB and S3"),
    ("kib", "KiB sent and received"),
    ("units", "consumed capacity units"),
    ("milliseconds", "ms on the local engine"),
)
LINES = {
    "skein": ("Skein", "#1b6ca8", "o", "-"),
    "skein-warm": ("Skein, warm worker", "#1b6ca8", "o", ":"),
    "langchain": ("LangChain history", "#c8553d", "s", "-"),
    "langgraph": ("LangGraph DynamoDBSaver", "#588157", "^", "-"),
}


def draw(rows: list[dict[str, Any]], target: Path) -> None:
    """Draw a panel for each kind of cost. A peer's line ends at the length at which it fails."""
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for (name, title), panel in zip(PANELS, axes.flat, strict=True):
        for who, (label, color, marker, style) in LINES.items():
            own = [row for row in rows if row["who"] == who and row["error"] is None]
            places = [row["messages"] for row in own]
            panel.plot(
                places,
                [_value(row, name) for row in own],
                label=label,
                color=color,
                marker=marker,
                linestyle=style,
            )
        panel.set(title=title, xlabel="messages in the chat", xscale="log", yscale="log")
        panel.grid(visible=True, alpha=0.3)
    axes.flat[0].legend()
    figure.suptitle("One turn: a message in, its context, an answer")
    figure.savefig(target, metadata={"Date": None})


def _value(row: dict[str, Any], name: str) -> float:
    value: float = row["sent_kib"] + row["received_kib"] if name == "kib" else row[name]
    return value


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
