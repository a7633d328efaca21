"""Repeats the registered erasures in a table, after a restore has brought erased data back.

`PYTHONPATH=shared python -m tools.stack.restore_erasures [--stack NAME] [--env NAME] [--table NAME]
[--register NAME] [--first-sweep] [--local]` requires AWS credentials that may read and write both
tables. The tool carries out the erasures itself, so the table need not belong to the stack yet. You
can stop the tool and start it again at any time. Workers of the stack may carry out erasures at the
same time.

An erasure has two sweeps with 16 minutes between them. With `--first-sweep`, the tool ends after
the first sweep, and leaves the second to the stack that uses the table. `--local` uses the stack
that `make run` serves.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from skein.bootstrap.ports import Ports
from skein.bootstrap.wiring import App
from skein.models.outbox.jobs import ErasureJob, Job
from skein.privacy.erasure_register import ErasureRegister
from skein.privacy.erasure_restore import RestoredErasures
from skein.privacy.erasure_worker import Eraser
from skein.privacy.models.erasure import Erasure
from skein.privacy.models.registered_erasure import RegisteredErasure
from skein.settings import Settings
from tools.deployment.checks import FailedCheckError, aws
from tools.deployment.deploy import BadNameError, Target
from tools.stack.settings import LOCAL, LOCAL_REGISTER, open_table, outputs_of

TURN = timedelta(minutes=5)  # the longest lease of one erasure
PAUSE_SECONDS = 10


class Unconnected:
    """Replaces a stack's queues, connections and metrics, and does nothing.

    Nothing is lost: the stack's tick queues the jobs of all due work, and connections end within
    two hours.
    """

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """See `skein.ports.Queues`. The jobs are dropped; the tick will queue them."""

    def push(self, connection_id: str, text: str) -> None:
        """See `skein.ports.Sockets`. No frame is sent."""

    def close(self, connection_id: str) -> None:
        """See `skein.ports.Sockets`. The gateway will end the connection."""

    def count(
        self, name: str, value: float = 1, *, unit: str = "Count", reason: str | None = None
    ) -> None:
        """See `skein.ports.Metrics`. Nothing is counted."""


class IncompleteError(Exception):
    """Some data of an erased person is still in the table."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the table and the register."""

    table: str
    register: str


class Restoration:
    """Repeats the erasures of the register in a table.

    Args:
        ports: The table and the register.
        report: Called with each line about the progress.
        sleep: Waits before erasures are looked at again.
    """

    def __init__(
        self,
        ports: Ports,
        *,
        report: Callable[[str], None] = print,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ports = ports
        self._report = report
        self._sleep = sleep
        app = App(ports)
        self._register = app.get(ErasureRegister)
        self._restored = app.get(RestoredErasures)
        self._eraser = app.get(Eraser)

    def run(self, *, first_sweep: bool = False) -> Counter[str]:
        """Apply all entries of the register, carry out their erasures, and check the result.

        Args:
            first_sweep: Whether to end as soon as every erasure has had its first sweep.

        Returns:
            The number of entries by outcome.

        Raises:
            IncompleteError: An erasure is done, but some of the person's data is left.
        """
        entries = list(self._register.entries())
        self._report(f"{len(entries)} erasures in the register")
        open_entries, outcomes = entries, Counter[str]()
        while open_entries:
            outcomes_of = {entry: self._restored.apply(entry) for entry in open_entries}
            for entry, outcome in outcomes_of.items():
                if outcome != "at_work":
                    outcomes[outcome] += 1
                    self._prove(entry, outcome)
            open_entries = [one for one in open_entries if outcomes_of[one] == "at_work"]
            resting = [entry for entry in open_entries if self._sweep(entry)]
            if first_sweep and len(resting) == len(open_entries):
                outcomes["swept_once"] += len(resting)
                break
            if len(resting) == len(open_entries) and open_entries:
                self._report(f"{len(open_entries)} at work, waiting for the next sweep")
                self._sleep(PAUSE_SECONDS)
        return outcomes

    def _sweep(self, entry: RegisteredErasure) -> bool:
        """Continue an erasure.

        Returns whether nothing is to be done now: the erasure waits, or another worker has it.
        """
        before = self._erasure(entry)
        if before is None:
            return False
        job = ErasureJob(tenant=entry.tenant, erasure_id=entry.erasure_id)
        self._eraser.continue_erasure(job, deadline=self._ports.clock.now() + TURN)
        after = self._erasure(entry)
        if after is not None and after != before:
            counts = json.dumps(after.sweeps[-1].counts, sort_keys=True)
            self._report(f"{entry.erasure_id} {after.stage}, sweep {len(after.sweeps)}: {counts}")
        return after == before or (after is not None and after.stage == "resting")

    def _erasure(self, entry: RegisteredErasure) -> Erasure | None:
        item = self._ports.table.get(Erasure.key_of(entry.tenant, entry.erasure_id))
        return Erasure.from_item(item) if item else None

    def _prove(self, entry: RegisteredErasure, outcome: str) -> None:
        if outcome == "another_person":
            self._report(f"{entry.erasure_id} {outcome}: the id belongs to a newer record")
            return
        found = self._restored.remains(entry)
        if found:
            raise IncompleteError(f"{entry.erasure_id} is {outcome}, but there is {found[0]}")
        self._report(f"{entry.erasure_id} {outcome}: nothing is left")


def names_of(stack: str, run: Callable[[Sequence[str]], str] = aws) -> Names:
    """Return the names of a stack's table and register; see `outputs_of`."""
    outputs = outputs_of(stack, run)
    return Names(outputs["TableName"], outputs["ErasureRegisterName"])


def ports_of(names: Names) -> Ports:
    """Return ports that have a table and a register, and nothing else of a stack."""
    none = Unconnected()
    settings = Settings(table_name=names.table, erasure_register_name=names.register)
    return Ports(
        settings,
        table=open_table(names.table),
        erasure_register=open_table(names.register),
        queues=none,
        sockets=none,
        metrics=none,
    )


def _names(options: argparse.Namespace) -> Names:
    if options.local:
        return Names(LOCAL, LOCAL_REGISTER)
    if options.table and options.register:
        return Names(options.table, options.register)
    target = Target.of(stack=options.stack, environment=options.env, confirm=False)
    found = names_of(target.stack)
    return Names(options.table or found.table, options.register or found.register)


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="tools.stack.restore_erasures")
    for name in ("--stack", "--env", "--table", "--register"):
        parser.add_argument(name, default="")
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--first-sweep", action="store_true")
    options = parser.parse_args(argv)
    try:
        restoration = Restoration(ports_of(_names(options)))
        print(json.dumps(restoration.run(first_sweep=options.first_sweep)))
    except (BadNameError, FailedCheckError, IncompleteError) as error:
        raise SystemExit(f"the erasures were not restored: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1:])
