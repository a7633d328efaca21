"""`make bench`: run the benchmarks, print the results, and write `bench/results.md` and a plot.

The run ends within 15 minutes. Measurements that are missing by then are reported as not measured.
With the name of a part (`make bench ONLY=imports`), only that part runs, and no file is written.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import caches, prefix
from bench.cost import Row
from bench.goals import PEERS, Results
from bench.report import (
    goal_cells,
    import_cells,
    page,
    printed,
    table,
    time_cells,
    visit_cells,
)
from bench.starts import imports
from bench.turns.engines import engines
from local.template import ROOT
from skein.adapters.tokens import Tokens
from skein.models.runs.completion import ModelRequest
from skein.settings import Settings
from tests.support.prompt_overhead import overhead
from tests.support.prompt_situations import SITUATIONS
from tools.install.dynamodb_local import VERSION

FOLDER = ROOT / "bench"
PEERS_PYTHON = ROOT / ".cache" / "bench" / "bin" / "python"
SECONDS = 900.0  # of the whole run
LEFT_FOR_THE_REST = 10.0


@dataclass
class Bench:
    """One run of the benchmarks.

    Attributes:
        give_up: When the run must end, by the monotonic clock.
    """

    give_up: float
    rows: list[Row] = field(default_factory=list)
    own_time: dict[str, dict[str, float]] = field(default_factory=dict)
    starts: dict[str, imports.ColdStart] = field(default_factory=dict)
    shares: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, float] | None = None
    failures: list[str] = field(default_factory=list)
    overheads: dict[str, int] = field(default_factory=dict)
    recalled: list[list[int]] = field(default_factory=list)
    limit_shares: dict[str, float] = field(default_factory=dict)
    served: dict[str, dict[str, caches.Measured]] = field(default_factory=dict)
    visits: list[Row] = field(default_factory=list)

    def run(self, *parts: str) -> Results:
        """Measure the named parts, or all parts."""
        known = {
            "prefix": self._prefix,
            "prompts": self._prompts,
            "imports": self._imports,
            "turns": self._turns,
            "visits": self._visits,
            "memory": self._memory,
        }
        for part in parts or known:
            known[part]()
        return Results(
            self.rows,
            self.own_time,
            self.starts,
            self.memory,
            self.shares,
            self.failures,
            self.overheads,
            self.recalled,
            self.limit_shares,
            self.served,
            self.visits,
        )

    def _prefix(self) -> None:
        print("bench: prompts of 200 turns", flush=True)
        tokens, gaps = Tokens(), caches.read_gaps(os.environ.get("SMS", ""))
        for name, kind, prompt, tools in prefix.CONVERSATIONS:
            conversation = prefix.conversation(kind, prompt, tokens, tools=tools)
            self.shares[name] = prefix.shares(conversation, tokens)
            requests = [one.request for one in conversation]
            self.served[name] = caches.measured(requests, gaps, tokens)
            recalling = prefix.conversation(kind, prompt, tokens, tools=tools, indexed=True)
            self.shares[name]["recalling"] = prefix.shares(recalling, tokens)["ideal"]
            self.limit_shares[name] = max(_share(one.request, tokens) for one in recalling)
        self.recalled = prefix.recalled_tokens(tokens)

    def _prompts(self) -> None:
        print("bench: prompts of four situations", flush=True)
        tokens = Tokens()
        for name, situation in SITUATIONS.items():
            played = situation()
            self.overheads[name] = overhead(played, tokens).total
            self.limit_shares[name] = _share(played.request, tokens)

    def _imports(self) -> None:
        print("bench: cold starts", flush=True)
        self.starts |= imports.cold_starts(imports.modules())

    def _turns(self) -> None:
        # Each has an engine of its own: the large states of one slow down an engine for all after.
        for peer in PEERS:
            with engines() as urls:
                for line in self._lines(PEERS_PYTHON, "bench.turns.peers", peer, *urls):
                    self.rows.append(Row(**line))
        with engines() as (dynamodb, _):
            for line in self._lines(Path(sys.executable), "bench.turns.skein_turns", dynamodb):
                self._take(line)

    def _visits(self) -> None:
        with engines() as (dynamodb, _):
            for line in self._lines(Path(sys.executable), "bench.turns.visits", dynamodb):
                self.visits.append(Row(**line))

    def _memory(self) -> None:
        with engines() as (dynamodb, _):
            for line in self._lines(Path(sys.executable), "bench.turns.memory", dynamodb):
                self.memory = dict(line)

    def _take(self, line: dict[str, Any]) -> None:
        kind = line.pop("own_time", None)
        if kind is None:
            self.rows.append(Row(**line))
        else:
            self.own_time[kind] = line

    def _lines(self, python: Path, module: str, *arguments: str) -> list[dict[str, Any]]:
        """Run a module in the time that is left, and return the lines of JSON that it printed."""
        what = " ".join([module, *arguments[:-2]])
        print(f"bench: {what}", flush=True)
        left = self.give_up - time.monotonic() - LEFT_FOR_THE_REST
        with tempfile.TemporaryFile("w+") as said:
            try:
                subprocess.run(
                    [str(python), "-m", module, *arguments],
                    cwd=ROOT,
                    env={**os.environ, **_environment()},
                    stdout=said,
                    timeout=max(left, 0.1),
                    check=True,
                )
            except subprocess.TimeoutExpired:
                self.failures.append(f"{what}: the time limit of the benchmark was reached")
            except subprocess.CalledProcessError as error:
                self.failures.append(f"{what}: failed with exit code {error.returncode}")
            said.seek(0)
            return [json.loads(line) for line in said if line.startswith("{")]


def _share(request: ModelRequest, tokens: Tokens) -> float:
    return prefix.share_of_limit(request, tokens, Settings().max_prompt_tokens)


def _environment() -> Mapping[str, str]:
    paths = (ROOT, ROOT / "shared", ROOT / "functions")
    # Warnings of libraries are not part of the results.
    return {"PYTHONPATH": ":".join(map(str, paths)), "PYTHONWARNINGS": "ignore"}


def _commit() -> str:
    """Return the short hash of the commit, with a `+` if the working copy has changes."""
    described = ["git", "describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+"]
    found = subprocess.run(described, cwd=ROOT, text=True, capture_output=True, check=False)
    return found.stdout.strip() or "unknown"


def show(results: Results, *, whole: bool) -> None:
    """Print the tables that have rows.

    If only a part was measured (not `whole`), print only the goals of this part.
    """
    verdicts = goal_cells(results)
    for cells in (
        table(results.rows),
        visit_cells(results),
        [row for row in verdicts if whole or "not measured" not in " ".join(row)],
        time_cells(results) if results.own_time else [],
        import_cells(results),
    ):
        if len(cells) > 1:
            print(f"\n{printed(cells)}")
    for why in results.failures:
        print(f"not measured: {why}")


def draw(rows: Sequence[Row]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([row.plain() for row in rows], file)
        file.flush()
        subprocess.run(
            [PEERS_PYTHON, "-m", "bench.plot", file.name, str(FOLDER / "results.svg")],
            cwd=ROOT,
            check=True,
            timeout=60,
        )


def main(*parts: str) -> int:
    """Run the benchmarks. Return 1 if anything could not be measured; missed goals don't matter."""
    begun, commit = time.monotonic(), _commit()  # before files are written
    results = Bench(begun + SECONDS).run(*parts)
    show(results, whole=not parts)
    if parts:
        return int(bool(results.failures))
    draw(results.rows)
    about = (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, DynamoDB Local {VERSION}, Python "
        f"{sys.version.split()[0]}, {os.cpu_count()} cores; measured in "
        f"{time.monotonic() - begun:.0f} s."
    )
    (FOLDER / "results.md").write_text(page(results, about), encoding="utf-8")
    print(f"\nbench: written to bench/results.md and bench/results.svg; {about}")
    return int(bool(results.failures))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
