"""`make load WORST=1`: probes of one tenant while another tenant attacks shared resources.

The stack is the local one, with its handlers in threads, so that each queue has workers of its own
as on AWS. First the probes run alone, then while the other tenant attacks.
"""

import argparse
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from bench.load.__main__ import log_to
from bench.load.checks import Verdict
from bench.load.machine import data_folder, machine
from bench.load.probes import PROBES, Probes
from bench.load.stand import ModelServer, config_for
from bench.load.storm import Storm
from bench.load.worst_tenant import WorstTenant
from bench.report import markdown_table, printed
from local.stack import Stack
from local.template import ROOT

PAGE = ROOT / "bench" / "load-worst.md"
WARM_UP = 2  # rounds that do not count
MAX_RISE, MAX_MORE_SECONDS = 2.0, 1.0

OPENING = """\
# A tenant that does its worst

Written by `make load WORST=1`, not by hand. The whole local stack runs on one machine, and the
model answers after 0.3 s. One person of a tenant sends probes, a round every three seconds: at
first alone, then while another tenant does its worst. That tenant has an endpoint of events and two
tools that answer one byte at a time without end. One of its people writes PRIVATE every three
seconds, where a sharing rule holds, sends a picture of 1,000 scans every two seconds, and has an
agent call the slow tools every three seconds. Another one writes every 20 seconds in a chat with 20
agents, all of which answer. An operator has an agent write to 500 people.

The median of the probes may be at most the larger of twice the quiet median, and the quiet median
plus one second. A probe that takes more than a minute counts as a minute.
"""


@dataclass(frozen=True)
class Size:
    """The size of a run.

    Attributes:
        rounds: How often each probe is sent, first alone, and then again during the attack.
        people: How many people the attacking tenant's agent writes to.
        pause: The seconds between two rounds, in which the attacking tenant's work piles up.
        seconds: The maximum time for the rounds alone, and for the rounds during the attack.
    """

    rounds: int = 20
    people: int = 500
    pause: float = 3.0
    seconds: float = 300.0


A_FEW = Size(rounds=3, people=10, pause=0.0, seconds=45.0)


@dataclass(frozen=True)
class ProbeTimes:
    """The seconds that one probe took: alone, and while another tenant attacks.

    Attributes:
        least: How many times there must be of each.
    """

    probe: str
    quiet: Sequence[float]
    worst: Sequence[float]
    least: int

    @property
    def bound(self) -> float:
        """The highest median that is allowed while the other tenant attacks, in seconds."""
        return max(MAX_RISE * median(self.quiet), median(self.quiet) + MAX_MORE_SECONDS)

    @property
    def verdict(self) -> Verdict:
        """Whether the median during the attack stays within the bound."""
        check = f"{self.probe} ({PROBES[self.probe]})"
        if min(len(self.quiet), len(self.worst)) < self.least:
            return Verdict(check, (f"{len(self.quiet)} and {len(self.worst)} probes are too few",))
        taken = median(self.worst)
        if taken <= self.bound:
            return Verdict(check, ())
        return Verdict(check, (f"the median is {taken:.2f} s, the bound {self.bound:.2f} s",))


@dataclass(frozen=True)
class WorstOutcome:
    """The outcome of a run.

    Attributes:
        did: The number of the attacking tenant's actions, by kind.
        busy: The load average of the machine, which includes other work.
    """

    size: Size
    probes: Sequence[ProbeTimes]
    did: Mapping[str, int]
    busy: float


def carry_out(size: Size, folder: Path) -> WorstOutcome:
    """Carry out a run, with its data in an empty folder."""
    with ExitStack() as parts:
        model = parts.enter_context(ModelServer(Storm("worst")))
        settings = {"SKEIN_REPLY_DEBOUNCE_SECONDS": "0", "SKEIN_MAX_CHAIN_DEPTH": "1"}
        config = config_for(folder / "data", model.base_url, settings)
        stack = parts.enter_context(Stack(config))
        probes = parts.enter_context(Probes(stack.url))
        for _ in range(WARM_UP):
            probes.round()
        quiet = _measured(probes, size)
        tenant = WorstTenant(stack.url, people=size.people, seconds=size.seconds)
        with tenant:
            for _ in range(WARM_UP):
                probes.round()
            worst = _measured(probes, size)
            busy = os.getloadavg()[0]
        measured = [ProbeTimes(name, quiet[name], worst[name], size.rounds) for name in PROBES]
        did = {**tenant.done, "calls that dripped": tenant.dripped}
        refused = {f"refused: {what}": count for what, count in tenant.refused.items()}
        return WorstOutcome(size, measured, did | refused, busy)


def _measured(probes: Probes, size: Size) -> Mapping[str, list[float]]:
    """Return the seconds of each probe in all rounds; stop early when the size's time is over."""
    found = defaultdict[str, list[float]](list)
    until = time.monotonic() + size.seconds
    for _ in range(size.rounds):
        if time.monotonic() > until:
            break
        for name, seconds in probes.round().items():
            found[name].append(seconds)
        time.sleep(size.pause)
    return found


# ------------------------------------------------------------------ the report


def about(outcome: WorstOutcome) -> str:
    """Describe the run and its machine in a sentence."""
    return (
        f"{machine()}; {outcome.size.rounds} rounds of probes each, outreach to "
        f"{outcome.size.people} people. Load average of the machine, other work included: "
        f"{outcome.busy:.1f}."
    )


def figures(outcome: WorstOutcome) -> list[list[str]]:
    """Return the table of the probes."""
    rows = [
        [
            probe.probe,
            PROBES[probe.probe],
            *(f"{median(times):.2f}" if times else "" for times in (probe.quiet, probe.worst)),
            f"{probe.bound:.2f}" if probe.quiet else "",
            f"{len(probe.worst)}",
            "pass" if probe.verdict.holds else "FAIL",
        ]
        for probe in outcome.probes
    ]
    head = ["until", "queue", "alone, s", "beside it, s", "at most, s", "probes", ""]
    return [head, *rows]


def deeds(outcome: WorstOutcome) -> list[list[str]]:
    """Return the table of the attacking tenant's actions."""
    return [["the other tenant", "times"], *([what, str(n)] for what, n in outcome.did.items())]


def page(outcome: WorstOutcome) -> str:
    """Return the text of the page of results."""
    tables = (markdown_table(figures(outcome)), markdown_table(deeds(outcome)))
    return "\n".join([OPENING, f"{about(outcome)}\n", f"{tables[0]}\n", f"{tables[1]}\n"])


def main(arguments: list[str]) -> int:
    """Carry out a run; return 1 if a median exceeds its bound."""
    parser = argparse.ArgumentParser(prog="python -m bench.load.worst", description=__doc__)
    parser.add_argument("--rounds", type=int, default=Size.rounds)
    parser.add_argument("--people", type=int, default=Size.people)
    parser.add_argument("--few", action="store_true", help="send a few probes")
    parser.add_argument("--keep", action="store_true", help="keep the data and logs")
    asked = parser.parse_args(arguments)
    size = A_FEW if asked.few else replace(Size(), rounds=asked.rounds, people=asked.people)
    folder = data_folder()
    log_to(folder / "stack.log")
    with (folder / "functions.log").open("w", encoding="utf-8") as log, redirect_stdout(log):
        outcome = carry_out(size, folder)
    print(about(outcome))
    print(f"\n{printed(figures(outcome))}\n\n{printed(deeds(outcome))}\n")
    verdicts = [probe.verdict for probe in outcome.probes]
    for verdict in verdicts:
        for sentence in verdict.wrong:
            print(f"FAIL: {verdict.check}: {sentence}")
    if size == Size():
        PAGE.write_text(page(outcome), encoding="utf-8")
        print(f"load: written to {PAGE.relative_to(ROOT)}")
    failed = not all(verdict.holds for verdict in verdicts)
    if failed or asked.keep:
        print(f"load: data and logs are in {folder}")
    else:
        shutil.rmtree(folder)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
