"""`make load LIVE=1`: many people with open connections, each of whom checks each frame.

The stack is the local one, with its handlers in threads. The people run in another process.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from bench.api import Api
from bench.load.__main__ import log_to
from bench.load.live_people import LivePlan, LiveResult
from bench.load.machine import data_folder, machine
from bench.load.people import TENANT
from bench.load.run import any_seed
from bench.load.stand import ModelServer, dead_letters_of
from bench.load.storm import SHARE, Storm, UnreliableInbox, lossy
from bench.report import markdown_table, printed
from local.config import Config
from local.events import Request, Response
from local.polling.poller import Poller
from local.sqlite.engine import SqliteEngine
from local.stack import Stack
from local.template import ROOT
from local.timing.clock import TurnableClock
from local.web.live_server import LiveServer
from skein.errors import Unavailable
from skein.ports import Sockets

GROUP = 10  # people in a chat
CALLERS = 8  # requests at once while the chats are opened
RAMP_SECONDS = 400.0
LATE = 0.01  # share of jobs that come up to two seconds late
P95_GOAL_SECONDS = 0.3
PAGE = ROOT / "bench" / "load-live.md"

OPENING = """\
# Many connected people

Written by `make load LIVE=1`; nothing in it is written by hand. The whole local stack on one
machine, in one process; the people in another. They are in chats of {group}, without agents. Every
two seconds somebody joins another chat for six seconds. Some messages are deleted, some marked as
read. Each person checks each frame: its chat, the time of their membership, its words, its number
and id. Seconds count from the last request of a post to the frame.

With faults, each request and each push fails with a probability of 5 %, before or after it has
taken effect. 5 % of the jobs come twice, 1 % up to two seconds late, and 5 % of the connections are
cut each minute.
"""


@dataclass(frozen=True)
class Size:
    """The size of a run.

    Attributes:
        connections: The number of people.
        seconds: How long the people write.
        rate: The messages per second, of all people together.
    """

    connections: int = 1_000
    seconds: float = 180.0
    rate: float = 20.0
    faults: bool = True
    seed: int = 1


A_FEW = Size(connections=24, seconds=5.0, rate=8.0)


@dataclass(frozen=True)
class LiveOutcome:
    """The outcome of a run.

    Attributes:
        ramp_seconds: The time until all people were connected.
        cpu_seconds: The processor time of the stack's process while people wrote.
        busy: The load average of the machine, which includes other work.
        dead_letters: The number of messages in each dead-letter queue.
        drawn: The number of injected faults of each kind.
    """

    size: Size
    result: LiveResult
    ramp_seconds: float
    cpu_seconds: float
    busy: float
    dead_letters: Mapping[str, int]
    drawn: Mapping[str, int]

    @property
    def problems(self) -> list[str]:
        """Return the problems of the run, in words."""
        found = [f"wrong frame: {example}" for example in self.result.examples]
        if self.result.unacknowledged:
            found.append(f"{self.result.unacknowledged} messages were never acknowledged")
        found += [f"{n} messages in {name}" for name, n in self.dead_letters.items() if n]
        return found


class ShakenSockets:
    """Connections on which some pushes fail, before or after the frame was sent.

    Args:
        storm: Decides which pushes fail.
    """

    def __init__(self, sockets: Sockets, storm: Storm) -> None:
        self._sockets = sockets
        self._storm = storm

    def push(self, connection_id: str, text: str) -> None:
        """See `skein.ports.Sockets`."""
        fault = self._storm.draw("pushes")
        if fault in {"throttle", "lost before"}:
            raise Unavailable("injected fault: push lost")
        self._sockets.push(connection_id, text)
        if fault is not None:
            raise Unavailable("injected fault: answer to a push lost")

    def close(self, connection_id: str) -> None:
        """See `skein.ports.Sockets`."""
        self._sockets.close(connection_id)


class LiveStack(Stack):
    """A local stack with faults in requests, pushes and queues."""

    def __init__(self, config: Config, storm: Storm) -> None:
        inbox = partial(UnreliableInbox, storm=storm, copied=SHARE, late=LATE)
        super().__init__(config, inbox=inbox)
        self._storm = storm
        self._engine: SqliteEngine

    def _wired(self, engine: SqliteEngine, poller: Poller, clock: TurnableClock) -> None:
        self._engine = engine
        answer = self._answer

        def respond(request: Request) -> Response:
            if not request.path.startswith("/v1/"):
                return answer(request)
            return lossy(answer, self._storm, "requests", request)

        self._answer = respond

    def _sockets(self, server: LiveServer) -> Sockets:
        return ShakenSockets(server, self._storm)

    def dead_letters(self) -> dict[str, int]:
        """Return the number of messages in each dead-letter queue."""
        return dead_letters_of(self.template, self._engine)


def carry_out(size: Size, folder: Path) -> LiveOutcome:
    """Carry out a run, with its data in an empty folder."""
    storm = Storm(f"{size.seed}-live")
    with ExitStack() as parts:
        model = parts.enter_context(ModelServer(storm))
        config = Config(port=0, data_dir=folder / "data", openai_base_url=model.base_url)
        stack = parts.enter_context(LiveStack(config, storm))
        tokens, groups = _open_chats(Api(stack.url, TENANT), size.connections)
        plan = LivePlan(
            url=stack.url,
            seconds=size.seconds,
            rate=size.rate,
            faults=size.faults,
            tokens=tokens,
            groups=groups,
            seed=size.seed,
        )
        storm.raging = size.faults
        ramp, used, result = _run_people(plan, folder)
        storm.raging = False
        return LiveOutcome(
            size=size,
            result=result,
            ramp_seconds=ramp,
            cpu_seconds=used,
            busy=os.getloadavg()[1],
            dead_letters=stack.dead_letters(),
            drawn=dict(storm.drawn),
        )


def _open_chats(api: Api, count: int) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Create the people and their chats; return the people's tokens and the chats' members."""
    operator = api.token("operator", "admin")
    people = [f"usr-{number:04}" for number in range(count)]

    def create(person: str) -> str:
        api.ok("POST", "/v1/users", {"id": person, "name": person}, token=operator)
        return api.token(person)

    def gather(members: list[str]) -> str:
        others = [{"kind": "user", "id": member} for member in members[1:]]
        new = {"kind": "group", "title": "Group", "members": others}
        chat = str(api.ok("POST", "/v1/chats", new, token=tokens[members[0]])["id"])
        for member in members[1:]:
            accept = f"/v1/chats/{chat}/invitation"
            api.ok("POST", accept, {"accept": True}, token=tokens[member])
        return chat

    with ThreadPoolExecutor(CALLERS) as pool:
        tokens = dict(zip(people, pool.map(create, people), strict=True))
        crews = [people[start : start + GROUP] for start in range(0, count, GROUP)]
        return tokens, dict(zip(pool.map(gather, crews), crews, strict=True))


def _run_people(plan: LivePlan, folder: Path) -> tuple[float, float, LiveResult]:
    """Run the people; return the seconds until all were connected, and the stack's CPU seconds."""
    told, result = folder / "plan.json", folder / "result.json"
    told.write_text(json.dumps(asdict(plan)), encoding="utf-8")
    begun = time.monotonic()
    with (folder / "people.log").open("wb") as log:
        people = subprocess.Popen(
            [sys.executable, "-m", "bench.load.live_people", str(told), str(result)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "shared")))},
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        if people.stdout is not None:
            people.stdout.readline()  # all are connected
        ramp, used = time.monotonic() - begun, _cpu_seconds()
        people.wait(plan.seconds + RAMP_SECONDS)
        used = _cpu_seconds() - used
    finally:
        people.kill()
        people.wait()
    if people.returncode:
        raise RuntimeError((folder / "people.log").read_text(encoding="utf-8")[-2_000:])
    return ramp, used, LiveResult(**json.loads(result.read_text(encoding="utf-8")))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# ------------------------------------------------------------------ the report


def about(outcome: LiveOutcome) -> str:
    """Describe the run and its machine in a sentence."""
    size, result = outcome.size, outcome.result
    return (
        f"{machine()}; {size.connections} connections for {size.seconds:.0f} s, "
        f"{size.rate:g} messages a second, {'with' if size.faults else 'without'} faults; seed "
        f"{size.seed}. All were connected after {outcome.ramp_seconds:.0f} s. CPU use while they "
        f"wrote: the stack {outcome.cpu_seconds / result.seconds:.0%} of one core, the people "
        f"{result.cpu_seconds / result.seconds:.0%}. Load average of the machine, other work "
        f"included: {outcome.busy:.1f}."
    )


def figures(outcome: LiveOutcome) -> list[list[str]]:
    """Return the table of the run."""
    result = outcome.result
    p50, p95, p99 = (f"{value * 1000:.0f}" for value in result.percentiles)
    fast = result.percentiles[1] < P95_GOAL_SECONDS
    goal = f"p95 under {P95_GOAL_SECONDS * 1000:.0f} ms on a quiet machine"
    return [
        ["", "p50", "p95", "p99", "count"],
        ["post to frame, ms", p50, p95, p99, str(result.measured)],
        [goal, "", "met" if fast else "missed", "", ""],
        ["wrong frames", "", "", "", str(result.wrong)],
        ["messages that had to reach a reader", "", "", "", str(result.expected)],
        ["of these lost", "", "", "", str(result.lost)],
        ["frames that repeat a message", "", "", "", str(result.repeated)],
        *([f"frames `{kind}`", "", "", "", str(n)] for kind, n in result.frames.items()),
        *([] if "resync" in result.frames else [["frames `resync`", "", "", "", "0"]]),
        ["messages posted", "", "", "", str(result.posts)],
        ["messages never acknowledged", "", "", "", str(result.unacknowledged)],
        ["connections", "", "", "", str(result.connections)],
        ["reconnects", "", "", "", str(result.reconnects)],
        ["failed attempts to connect", "", "", "", str(result.refused)],
        *([f"injected: {what}", "", "", "", str(n)] for what, n in sorted(outcome.drawn.items())),
    ]


def page(outcome: LiveOutcome) -> str:
    """Return the text of the page of results."""
    parts = [OPENING.format(group=GROUP), about(outcome), "", markdown_table(figures(outcome)), ""]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Carry out a run; return 1 if a frame was wrong or a posted message was lost."""
    parser = argparse.ArgumentParser(prog="python -m bench.load.live", description=__doc__)
    parser.add_argument("--connections", type=int, default=Size.connections)
    parser.add_argument("--seconds", type=float, default=Size.seconds)
    parser.add_argument("--rate", type=float, default=Size.rate)
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--few", action="store_true", help="run a few people for a few seconds")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="keep the data and logs")
    asked = parser.parse_args(arguments)
    whole = Size(asked.connections, asked.seconds, asked.rate, not asked.no_faults)
    seed = any_seed() if asked.seed is None else asked.seed
    size = Size(**{**asdict(A_FEW if asked.few else whole), "seed": seed})
    folder = data_folder()
    log_to(folder / "stack.log")
    random.seed(seed)
    with (folder / "functions.log").open("w", encoding="utf-8") as log, redirect_stdout(log):
        outcome = carry_out(size, folder)
    print(about(outcome))
    print(f"\n{printed(figures(outcome))}\n")
    for problem in outcome.problems:
        print(f"FAIL: {problem}")
    if Size(**{**asdict(size), "seed": Size.seed}) == Size():
        PAGE.write_text(page(outcome), encoding="utf-8")
        print(f"load: written to {PAGE.relative_to(ROOT)}")
    if outcome.problems or asked.keep:
        print(f"load: data and logs are in {folder}")
    else:
        shutil.rmtree(folder)
    return int(bool(outcome.problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
