"""`make bench ONLY=recall-import`: CPU time that recall adds to the cold import of the run worker.

A fresh interpreter imports the function. The time of each module of recall counts without the
modules that it imports itself, because others need those, too. A first import, which compiles, does
not count.
"""

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = "run_worker"
TIMES = 5
MOST_MS = 100.0


class Imported(NamedTuple):
    """The modules of recall in one import of the function.

    Attributes:
        modules: The number of modules.
        source_bytes: The size of their source.
        own_ms: CPU time of the modules of recall, in milliseconds.
        whole_ms: CPU time of the whole import, in milliseconds.
    """

    modules: int
    source_bytes: int
    own_ms: float
    whole_ms: float


class Stopwatch:
    """Measures the CPU time of each module's import, without the modules that it imports."""

    def __init__(self) -> None:
        self.own: dict[str, float] = {}
        self._inner = [0.0]
        self._execute = SourceFileLoader.exec_module

    @property
    def executed(self) -> Callable[[SourceFileLoader, ModuleType], None]:
        """A method for the loader that imports a module as before, and adds its time."""

        def exec_module(loader: SourceFileLoader, module: ModuleType) -> None:
            self._inner.append(0.0)
            began = time.process_time()
            try:
                self._execute(loader, module)
            finally:
                took = time.process_time() - began
                self.own[module.__name__] = took - self._inner.pop()
                self._inner[-1] += took

        return exec_module


def imported() -> Imported:
    """Import the function in this interpreter, which must be a fresh one."""
    watch = Stopwatch()
    setattr(SourceFileLoader, "exec_module", watch.executed)  # noqa: B010 - mypy forbids assignment
    began = time.process_time()
    importlib.import_module(FUNCTION)
    whole = time.process_time() - began
    recall = {name: took for name, took in watch.own.items() if "recall" in name.split(".", 1)[-1]}
    files = [Path(str(sys.modules[name].__file__)) for name in recall]
    size = sum(file.stat().st_size for file in files)
    return Imported(len(recall), size, 1_000 * sum(recall.values()), 1_000 * whole)


def measured() -> Imported:
    """Import the function in fresh interpreters, and return the quickest import."""
    from bench.starts.imports import environment  # noqa: PLC0415 - it imports recall itself

    variables = dict(environment(FUNCTION))
    variables["PYTHONPATH"] += os.pathsep + str(ROOT)
    found = []
    for _ in range(TIMES + 1):
        done = subprocess.run(
            [sys.executable, "-m", "bench.recall.imports", "once"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=ROOT,
            env=variables,
        )
        found.append(Imported(*json.loads(done.stdout.splitlines()[-1])))
    return min(found[1:], key=lambda each: each.own_ms)


def main() -> int:
    """Print the figures; return 1 if recall adds more than 100 ms."""
    found = measured()
    print(
        f"recall-import: {found.modules} modules of recall, {found.source_bytes / 1_000:.0f} KB: "
        f"{found.own_ms:.0f} of {found.whole_ms:.0f} ms of CPU at the import of {FUNCTION}; "
        f"at most {MOST_MS:.0f} ms allowed"
    )
    return int(found.own_ms > MOST_MS)


if __name__ == "__main__":
    if sys.argv[1:] == ["once"]:
        print(json.dumps(imported()))
    else:
        sys.exit(main())
