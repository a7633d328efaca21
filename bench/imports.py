"""How long each function takes to be imported, compiled, by an interpreter that just started.

It is processor time: that is nearly all of an import, and what else the machine does is not in it.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

from local.template import ROOT, Template

TIMES = 3
SECONDS = 30
PROBE = """
import sys, time
begun = time.process_time()
__import__(sys.argv[1])
print((time.process_time() - begun) * 1000)
"""


def modules() -> list[str]:
    """The modules of all functions that are deployed."""
    return sorted({function.handler.rpartition(".")[0] for function in Template.load().functions})


def milliseconds(names: Sequence[str], *, times: int = TIMES) -> dict[str, float]:
    """The median time of each import; a first one, which compiles, is not counted."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT / 'functions'}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def once(name: str) -> float:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, name],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            timeout=SECONDS,
        )
        return float(done.stdout)

    for name in names:
        once(name)
    # In turn, so that what else the machine does strikes all alike.
    rounds = [{name: once(name) for name in names} for _ in range(times)]
    return {name: statistics.median(taken[name] for taken in rounds) for name in names}
