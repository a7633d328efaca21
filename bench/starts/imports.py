"""Cold starts: the processor time of a first import and a first event, with compiled code.

An import takes almost only processor time, which excludes other work on the machine. Before the
first event, Lambda only imports the module. The first event is measured, too: otherwise, moving an
import from the start to the first event would look like a gain.
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
from local.template import ROOT
from tests.support.template import deployed_template

TIMES = 3
SECONDS = 60


@dataclass(frozen=True)
class ColdStart:
    """The cold start of a function, until its first event is handled.

    Attributes:
        import_ms: The processor time of importing the module, in milliseconds.
        event_ms: The processor time of the first event, with everything that the event loads.
        at_import: The modules that are loaded after the import.
        in_all: The modules that are loaded after the first event.
        sockets: How many sockets are open after the import.
        seeds: Whether the random numbers get a new seed when a container starts from a snapshot.
    """

    import_ms: float
    event_ms: float
    at_import: frozenset[str]
    in_all: frozenset[str]
    sockets: int
    seeds: bool

    @property
    def sum_ms(self) -> float:
        """The processor time of the import and the first event together, in milliseconds."""
        return self.import_ms + self.event_ms


def modules() -> list[str]:
    """Return the modules of all deployed functions."""
    return sorted(
        {function.handler.rpartition(".")[0] for function in deployed_template().functions}
    )


def cold_starts(names: Sequence[str], *, times: int = TIMES) -> dict[str, ColdStart]:
    """Return the quickest cold start of each module; a first one, which compiles, isn't counted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene"
        scene().write(path)
        for name in names:
            cold_start(name, path)
        # In turns, so that other work on the machine affects all modules. It only adds time.
        rounds = [{name: cold_start(name, path) for name in names} for _ in range(times)]
    return {
        name: min((one[name] for one in rounds), key=lambda start: start.sum_ms) for name in names
    }


def cold_start(name: str, scene_path: Path) -> ColdStart:
    """Start one container of a function and handle its first event.

    Args:
        name: The function's module.
        scene_path: The file of a `bench.starts.first_events.Scene`.

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
        told["sockets"],
        told["seeds"],
    )


def environment(name: str) -> Mapping[str, str]:
    """Return a function's environment variables, except for those that only a deployment knows."""
    functions = {one.handler.rpartition(".")[0]: one for one in deployed_template().functions}
    given = functions[name].environment
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {
        **kept,
        **{key: value for key, value in given.items() if isinstance(value, str)},
        **CREDENTIALS,
        "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT / 'functions'}",
        "TIKTOKEN_CACHE_DIR": str(ROOT / ".cache" / "tiktoken"),
    }
