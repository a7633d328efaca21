"""What a cold start of each function costs, compiled, in an interpreter that just started.

It is processor time: that is nearly all of an import, and what else the machine does is not in it.
Beside the import of the module, which is all that Lambda does before the first event, stands what
the first event costs, so that deferring an import does not look like a gain.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.starts.first_events import scene
from local.environment import CREDENTIALS
from local.template import ROOT, Template

TIMES = 3
SECONDS = 60


@dataclass(frozen=True)
class ColdStart:
    """What a fresh container of a function does until its first event is handled.

    Attributes:
        import_ms: Processor time of importing its module, in milliseconds.
        event_ms: Of its first event, with all that it loads and makes.
        at_import: The modules that are loaded by then.
        in_all: Those that are loaded in the end.
    """

    import_ms: float
    event_ms: float
    at_import: frozenset[str]
    in_all: frozenset[str]

    @property
    def sum_ms(self) -> float:
        """All of it."""
        return self.import_ms + self.event_ms


def modules() -> list[str]:
    """The modules of all functions that are deployed."""
    return sorted({function.handler.rpartition(".")[0] for function in Template.load().functions})


def cold_starts(names: Sequence[str], *, times: int = TIMES) -> dict[str, ColdStart]:
    """The cheapest cold start of each; a first one, which compiles, is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene"
        scene().write(path)
        for name in names:
            cold_start(name, path)
        # In turn, so that what else the machine does strikes all alike. It only ever adds.
        rounds = [{name: cold_start(name, path) for name in names} for _ in range(times)]
    return {
        name: min((one[name] for one in rounds), key=lambda start: start.sum_ms) for name in names
    }


def cold_start(name: str, scene_path: Path) -> ColdStart:
    """One container of a function, and its first event.

    Args:
        name: The function's module.
        scene_path: Where a `bench.starts.first_events.Scene` was written.

    Raises:
        subprocess.CalledProcessError: The function failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench.starts.first_event", name, str(scene_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment(name),
        timeout=SECONDS,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    return ColdStart(
        told["import_ms"],
        told["event_ms"],
        frozenset(told["at_import"]),
        frozenset(told["in_all"]),
    )


def environment(name: str) -> Mapping[str, str]:
    """What Lambda gives to the function, as far as it is known before a deployment."""
    functions = {one.handler.rpartition(".")[0]: one for one in Template.load().functions}
    given = functions[name].environment
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {
        **kept,
        **{key: value for key, value in given.items() if isinstance(value, str)},
        **CREDENTIALS,
        "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT / 'functions'}",
        "TIKTOKEN_CACHE_DIR": str(ROOT / ".cache" / "tiktoken"),
    }
