"""Measures what a turn costs with each memory size of RunWorker: `make runtime MEMORY=1`.

For each memory size, RunWorker is started as in `tools.lambda_runtime`, and answers a few messages
one after the other. The first answer is a cold turn, the others are warm ones. The CPU time is
measured, because other work on the machine does not change it. Lambda gives a share of a core that
is proportional to the memory, so a second of CPU time takes longer with less memory.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.report import markdown_table
from local.template import ROOT, Function
from tools.install import packages
from tools.lambda_runtime import FULL_CORE, Deployment, RuntimeCheckError, deployment

PAGE = ROOT / "bench" / "run-memory.md"
SIZES = (256, 512, 768, 1_024, 1_769)
TURNS = 8  # of which the first is cold
WORKER = "RunWorker"
ABOUT = f"""# Memory of RunWorker

Written by `make runtime MEMORY=1`, not by hand. RunWorker runs under AWS's runtime client, with
Lambda's paths, the memory and the share of a core that Lambda gives for it ({FULL_CORE:,} MiB are
one core). It answers {TURNS} messages one after the other; the model answers at once. *Seconds* are
the CPU time divided by that share. A cold turn has the start of the process and the first answer, a
warm turn is the median of the others.

"""
HEADS = ("MiB", "CPU s, cold", "CPU s, warm", "seconds, cold", "seconds, warm", "MiB in use")


def measure(deployed: Deployment, worker: Function) -> Iterator[tuple[str, ...]]:
    """Measure the worker with each memory size, and yield the rows of `bench/run-memory.md`."""
    for memory in SIZES:
        try:
            took = deployed.runtime.answer(worker, *deployed.events(worker, TURNS), memory=memory)
        except RuntimeCheckError as error:
            print(error, file=sys.stderr)
            yield (f"{memory:,}", *["fails"] * (len(HEADS) - 1))
            continue
        first, *others = (each.cpu for each in took.events)
        cold, warm, share = took.start.cpu + first, median(others), min(memory / FULL_CORE, 1)
        seconds = [cold, warm, cold / share, warm / share]
        yield f"{memory:,}", *(f"{each:.2f}" for each in seconds), f"{took.memory}"


def run(page: Path = PAGE) -> None:
    """Measure; print the results and write the page.

    Raises:
        RuntimeCheckError: Processes can't be limited on this machine, or no memory size is enough.
    """
    with deployment() as deployed:
        worker = next(f for f in deployed.template.functions if f.logical_id == WORKER)
        cells: Sequence[Sequence[str]] = [HEADS, *measure(deployed, worker)]
    text = ABOUT + markdown_table(cells) + "\n"
    print(text)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(packages.report_errors(run))
