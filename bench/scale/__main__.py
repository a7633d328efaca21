"""`make scale`: compute and simulate the tables of `docs/scale.md`, and write them."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from bench.scale.assumptions import Assumptions
from bench.scale.report import computed, filled, simulated
from bench.scale.scenarios import SCENARIOS, ScenarioResult, Script, played
from bench.scale.traffic import Traffic
from local.template import ROOT, Template
from skein.adapters.tokens import Tokens

PAGE = ROOT / "docs" / "scale.md"
CORES = 2


def simulation(script: Script) -> dict[str, ScenarioResult]:
    """Carry out all scenarios, two at a time, each in its own process."""
    with ProcessPoolExecutor(CORES, max_tasks_per_child=1) as pool:
        found = pool.map(partial(played, script), SCENARIOS)
        return {one.scenario: one for one in found}


def main(arguments: list[str]) -> None:
    """Print the tables, and write them to the page unless sizes or paces differ."""
    parser = argparse.ArgumentParser(prog="make scale", description=__doc__)
    parser.add_argument("--wire-ms", type=float, help="duration of a call to AWS")
    parser.add_argument("--processor-ms", type=float, help="processor time per call to AWS")
    parser.add_argument("--size", type=float, default=1.0, help="share of the simulation; 1 is all")
    parser.add_argument(
        "--tables", action="store_true", help="compute the tables without the simulation"
    )
    asked = parser.parse_args(arguments)
    begun = time.monotonic()
    other = asked.wire_ms is not None or asked.processor_ms is not None or asked.size < 1
    assumed = Assumptions.load(wire_ms=asked.wire_ms, processor_ms=asked.processor_ms)
    template = Template.load()
    print("scale: what a message consumes", flush=True)
    traffic = Traffic(Tokens())
    tables = dict(
        computed(assumed, template, traffic.all(), traffic.live(assumed.pace.ping_seconds))
    )
    if not asked.tables:
        print("scale: ten million chats (minutes)", flush=True)
        tables |= simulated(simulation(Script(assumed.pace.of(0), asked.size)))
    for name, table in tables.items():
        print(f"\n{name}\n\n{table}")
    if not other:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    where = "written nowhere" if other else "written to docs/scale.md"
    print(f"\nscale: {where}; {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
