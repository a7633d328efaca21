"""One load run: people write, the clock is advanced until all work is done, then checks follow."""

import json
import logging
import os
import random
import subprocess
import sys
import time
import urllib.error
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from bench.api import Api
from bench.load.caches import Lookups, lookups_in
from bench.load.checks import Verdict, verdicts
from bench.load.containers import Kind
from bench.load.found import StoredState, acknowledged_in, ledger_of
from bench.load.noise import TENANT as NOISY
from bench.load.noise import Noise, NoisyNeighbor, noise_of
from bench.load.people import TENANT, Crowd
from bench.load.services import BookingService
from bench.load.stand import Killer, LoadStack, ModelServer, config_for
from bench.load.storm import Storm
from local.demo import LINE
from local.polling.poller import Poller
from local.template import ROOT
from local.timing.clock import TurnableClock
from skein import bootstrap
from skein.models.common.storage import Query
from skein.models.outbox.due import DUE_SHARDS, DueKind, due_partition
from tests.support.converse_wire import MODEL

CONVERSE = f"converse/{MODEL}"
PEOPLE_A_GROUP = 5
LEAVE_SECONDS = 75  # for the last answers
QUIET_END_SECONDS = 20  # in which the noisy tenant begins no burst
MIN_TURN_SECONDS, MAX_TURN_SECONDS = 60.0, 900.0
MAX_TURNED = timedelta(hours=2)
DRAIN_SECONDS, DRAIN_SECONDS_WITH_FAULTS = 105.0, 220.0  # of real time
DRAINED: tuple[DueKind, ...] = ("run", "delivery", "chat", "media")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """The settings of a load run.

    Attributes:
        phones: The number of people who text.
        users: The number of people in the app; half of them have a direct chat, half are in groups.
        seconds: How long the people write.
        pause_seconds: The mean time between an answer and a person's next burst.
        faults: Whether calls fail, queues are unreliable and containers are killed.
        patience_seconds: How long a person waits for an answer.
        kill_seconds: The time between two killed containers.
        sizes: The number of containers of each kind.
        drain_seconds: The real time in which all work must end after people stopped writing; None
            for the default.
        settings: Skein's settings that differ from the defaults.
        noise: Whether another tenant is noisy in the second half of `seconds`; never together with
            `faults`.
        converse: Whether Skein calls the model over Bedrock's API.
    """

    phones: int = 200
    users: int = 50
    seconds: float = 180.0
    pause_seconds: float = 60.0
    faults: bool = False
    seed: int = 1
    patience_seconds: float = 60.0
    kill_seconds: float = 5.0
    sizes: Mapping[Kind, int] | None = None
    drain_seconds: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    noise: bool = True
    converse: bool = False

    @property
    def time_to_rest(self) -> float:
        """The real time in seconds in which all work must end after people stopped writing."""
        usual = DRAIN_SECONDS_WITH_FAULTS if self.faults else DRAIN_SECONDS
        return usual if self.drain_seconds is None else self.drain_seconds


# A few people for a few seconds, as a smoke test.
A_FEW = Plan(
    phones=4,
    users=3,
    seconds=4.0,
    pause_seconds=1.0,
    faults=True,
    patience_seconds=3.0,
    kill_seconds=1.5,
    sizes={"door": 2, "worker": 3},
    drain_seconds=60.0,
    # A summary would be due a quarter of an hour later.
    settings={"SKEIN_AUTO_SUMMARY": "false"},
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        lookups: How often the context caches were asked, and how often they could answer.
    """

    plan: Plan
    verdicts: tuple[Verdict, ...]
    ledger: Sequence[Mapping[str, Any]]
    found: StoredState
    writing_seconds: float
    drain_seconds: float
    turned_seconds: float
    busy: float
    model_calls: int
    killed: int
    drawn: Mapping[str, int]
    noise: Noise | None = None
    lookups: Lookups | None = None


class Drainable(Protocol):
    """A stack with the poller and the clock that `drain` needs."""

    @property
    def poller(self) -> Poller:
        """The poller of the queues."""
        ...

    @property
    def clock(self) -> TurnableClock:
        """The local clock."""
        ...


def places(api: Api, users: int) -> list[dict[str, str]]:
    """Open the chats of the app; return the token and the chat of each user."""
    operator = api.token("operator", "admin")
    agents = api.ok("GET", "/v1/agents", token=operator)["items"]
    agent = {"kind": "agent", "id": agents[0]["id"]}
    tokens = [api.token(f"usr-{n:03}") for n in range(users)]
    for n in range(users):
        new_user = {"id": f"usr-{n:03}", "name": f"Person {n}"}
        api.ok("POST", "/v1/users", new_user, token=operator)
    found: list[dict[str, str]] = []
    alone = users - users // 2
    for n, token in enumerate(tokens):
        if n < alone:
            new: dict[str, Any] = {"kind": "direct", "members": [agent]}
        elif (n - alone) % PEOPLE_A_GROUP == 0:
            others = range(n + 1, min(n + PEOPLE_A_GROUP, users))
            members = [agent, *({"kind": "user", "id": f"usr-{other:03}"} for other in others)]
            new = {"kind": "group", "title": f"Group {n}", "members": members}
        else:
            chat_id = found[-1]["chat_id"]
            api.ok("POST", f"/v1/chats/{chat_id}/invitation", {"accept": True}, token=token)
            found.append({"token": token, "chat_id": chat_id})
            continue
        chat = api.ok("POST", "/v1/chats", new, token=token)
        found.append({"token": token, "chat_id": chat["id"]})
    return found


def carry_out(plan: Plan, folder: Path) -> Outcome:
    """Carry out a plan, with the run's data in an empty folder."""
    storm = Storm(f"{plan.seed}-host")
    with ExitStack() as parts:
        server = parts.enter_context(ModelServer(storm))
        # Agents' answers start no runs, so that the noise is as long in each run.
        settings = {"SKEIN_MAX_CHAIN_DEPTH": "1", **plan.settings}
        if plan.converse:
            settings["SKEIN_BEDROCK_ENDPOINT_URL"] = server.url
            settings |= dict.fromkeys(("SKEIN_DEFAULT_MODEL", "SKEIN_LIGHT_MODEL"), CONVERSE)
        config = config_for(folder / "data", server.base_url, settings)
        stack = LoadStack(config, storm=storm, seed=plan.seed, sizes=plan.sizes)
        parts.enter_context(stack)
        api = Api(stack.url, TENANT)
        service = parts.enter_context(BookingService(storm))
        operator = api.token("operator", "admin")
        service.offer_to(api, api.ok("GET", "/v1/agents", token=operator)["items"])
        theirs = places(api, plan.users)
        neighbor = None
        if plan.noise and not plan.faults:
            neighbor = NoisyNeighbor(
                stack.url, after=plan.seconds / 2, seconds=plan.seconds - QUIET_END_SECONDS
            )
            neighbor.move_in()
        ledger = folder / "ledger.jsonl"
        ledger.touch()
        begun = time.monotonic()
        with ExitStack() as bad_weather:
            if plan.faults:
                killer = Killer(stack.containers, seed=plan.seed, seconds=plan.kill_seconds)
                bad_weather.enter_context(killer)
                storm.raging = True
            if neighbor is not None:
                bad_weather.enter_context(neighbor)
            _run_people(plan, stack.url, theirs, ledger, folder)
        storm.raging = False
        written, busy = time.monotonic(), os.getloadavg()[1]
        quiet = drain(stack, api, plan.time_to_rest)
        drained = time.monotonic()
        lines = ledger_of(ledger)
        found = StoredState(acknowledged=acknowledged_in(lines))
        found.take(stack.engine.all_items())
        found.sms, found.stored = stack.sms(), stack.stored()
        found.bookings, found.booked_keys = service.effects, service.keys
        found.dead_letters = stack.dead_letters()
        found.held = 0 if quiet else 1
        noise = _noise(neighbor, plan, lines, found) if neighbor is not None else None
        return Outcome(
            plan=plan,
            verdicts=(*verdicts(found), *([noise.verdict] if noise is not None else [])),
            ledger=lines,
            found=found,
            writing_seconds=written - begun,
            drain_seconds=drained - written,
            turned_seconds=stack.clock.ahead.total_seconds(),
            busy=busy,
            model_calls=server.model.calls,
            killed=stack.containers.killed,
            drawn=dict(storm.drawn),
            noise=noise,
            lookups=lookups_in(config.data_dir / "containers.log"),
        )


def _noise(
    neighbor: NoisyNeighbor, plan: Plan, ledger: Sequence[Mapping[str, Any]], found: StoredState
) -> Noise:
    """Return the answer times of the other people, before and with the noise."""
    runs = sum(run.tenant == NOISY for run in found.runs)
    return noise_of(
        ledger,
        begun=neighbor.begun_at,
        noise_at=neighbor.noise_at,
        runs=runs,
        patience=plan.patience_seconds,
    )


def _run_people(
    plan: Plan, url: str, theirs: list[dict[str, str]], ledger: Path, folder: Path
) -> None:
    crowd = Crowd(
        url=url,
        line=LINE,
        until=time.time() + plan.seconds,
        patience_seconds=plan.patience_seconds,
        leave_seconds=LEAVE_SECONDS,
        ledger=str(ledger),
        phones=plan.phones,
        places=theirs,
        pause_seconds=plan.pause_seconds,
        seed=plan.seed,
    )
    told = folder / "people.json"
    told.write_text(json.dumps(asdict(crowd)), encoding="utf-8")
    with (folder / "people.log").open("wb") as log:
        subprocess.run(
            [sys.executable, "-m", "bench.load.people", str(told)],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=plan.seconds + 2 * LEAVE_SECONDS,
            check=True,
        )


def drain(stack: Drainable, api: Api, seconds: float) -> bool:
    """Advance the clock until nothing is due; return whether this was done in time (real time).

    The clock is advanced to each due time, by at most two hours in all. All retries end within two
    hours.
    """
    give_up = time.monotonic() + seconds
    begun = stack.clock.now()
    try:
        while stack.clock.now() - begun < MAX_TURNED:
            # `/local/drain` would leave the retries of failed jobs.
            now = {"advance_seconds": 0}
            api.ok("POST", "/local/clock", now, seconds=give_up - time.monotonic())
            due = (_due_at(before=begun + MAX_TURNED), stack.poller.next_due())
            moments = [at for at in due if at is not None]
            if not moments:
                return True
            ahead = (min(moments) - stack.clock.now()).total_seconds() + 1
            api.ok(
                "POST",
                "/local/clock",
                {"advance_seconds": min(max(ahead, MIN_TURN_SECONDS), MAX_TURN_SECONDS)},
                seconds=give_up - time.monotonic(),
            )
    except (TimeoutError, ValueError, urllib.error.URLError):  # ValueError: no time is left
        logger.warning("the queues did not become empty in %.0f s", seconds)
    return False


def _due_at(*, before: datetime) -> datetime | None:
    """Return the next due time in the table, except for work that waits until a chat is quiet.

    Args:
        before: Work that is due later is ignored, such as the deletion of a file at its end.
    """
    table = bootstrap.app().ports.table
    records = [
        str(item["gsi2sk"]).split("#")[0]
        for kind in DRAINED
        for shard in range(DUE_SHARDS)
        for item in table.query(Query(due_partition(kind, shard), index="gsi2", limit=1)).items
    ]
    due_at = datetime.fromisoformat(min(records)) if records else None
    return due_at if due_at is not None and due_at < before else None


def any_seed() -> int:
    """Return a random seed."""
    return random.SystemRandom().randrange(1, 1_000_000)
