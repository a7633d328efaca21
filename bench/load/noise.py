"""The noisy neighbour: one person of another tenant who has 200 agents' runs wait all the time."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from types import TracebackType
from typing import Any, Self

from bench.api import Api, CallRefusedError
from bench.load.checks import Verdict

TENANT = "noisy"
PERSON = "usr-noisy"
CHATS, AGENTS = 10, 20
ROUND_SECONDS = 30.0  # between two bursts; a person may send 20 messages a minute
WARM_UP_SECONDS = 15.0  # at the beginning, which no period counts
MAX_RISE = 1.5
MIN_ANSWERS = 20  # of a period whose p95 means something


@dataclass(frozen=True)
class Noise:
    """The answer times of the other people, before and with the noisy neighbour.

    Attributes:
        quiet: For each burst of messages that began before the noise, the seconds until its answer.
            If no answer came, it counts the whole time that the person waited.
        noisy: The same for each burst that began during the noise.
        runs: The runs of the noisy person.
    """

    quiet: Sequence[float]
    noisy: Sequence[float]
    runs: int

    @property
    def rise(self) -> float | None:
        """The factor by which p95 rises; None if there are too few answers."""
        if min(len(self.quiet), len(self.noisy)) < MIN_ANSWERS:
            return None
        return p95(self.noisy) / p95(self.quiet)

    @property
    def verdict(self) -> Verdict:
        """Whether p95 of the other people rises by at most half."""
        rise = self.rise
        wrong: tuple[str, ...] = ()
        if rise is None:
            wrong = (f"{len(self.quiet)} and {len(self.noisy)} answers are too few",)
        elif rise > MAX_RISE:
            wrong = (f"p95 is {rise:.2f} times as long",)
        return Verdict("a noisy tenant lengthens p95 of the others by at most half", wrong)


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(values, n=20, method="inclusive")[-1]


def noise_of(
    ledger: Sequence[Mapping[str, Any]],
    *,
    begun: float,
    noise_at: float,
    runs: int,
    patience: float,
) -> Noise:
    """Sort the answers in a ledger into those of bursts before the noise and during the noise.

    A burst without an answer counts with the whole time that its person waited. If such bursts were
    left out, a slower stack would have a better p95.

    Args:
        begun: When people began to write, in seconds since 1970.
        noise_at: When the noise began.
        patience: How long a person waits for an answer, in seconds.
    """
    said = {line["marker"]: line["at"] for line in ledger if line["what"] == "message"}
    quiet: list[float] = []
    noisy: list[float] = []
    for line in ledger:
        if line["what"] not in {"answered", "unanswered"}:
            continue
        at = said.get(f"{line['who']}-{line['burst']}-1")
        if at is not None and at >= begun + WARM_UP_SECONDS:
            (noisy if at >= noise_at else quiet).append(line.get("seconds", patience))
    return Noise(quiet, noisy, runs)


class NoisyNeighbor:
    """Context manager: meanwhile, a person keeps writing to chats with 20 agents each.

    Args:
        after: The seconds until the first burst.
        seconds: The seconds after which no burst begins.
        chats: The number of chats.
        pause: The seconds between two bursts.
    """

    def __init__(
        self,
        url: str,
        *,
        after: float,
        seconds: float,
        chats: int = CHATS,
        pause: float = ROUND_SECONDS,
    ) -> None:
        self._api = Api(url, TENANT)
        self._after = after
        self._seconds = seconds
        self._count = chats
        self._pause = pause
        self._chats: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="noisy", daemon=True)
        self.begun_at = 0.0
        self.noise_at = 0.0

    def move_in(self) -> None:
        """Create the tenant's agents, person and chats."""
        operator = self._api.token("operator", "admin")
        agents = []
        for number in range(AGENTS):
            new = {"name": f"Agent {number}", "system_prompt": "You answer.", "listed": True}
            agent = self._api.ok("POST", "/v1/agents", new, token=operator)
            agents.append({"kind": "agent", "id": agent["id"]})
        self._api.ok("POST", "/v1/users", {"id": PERSON, "name": "Noisy"}, token=operator)
        self._token = self._api.token(PERSON)
        for number in range(self._count):
            chat = {"kind": "group", "title": f"Noise {number}", "members": agents}
            created = self._api.ok("POST", "/v1/chats", chat, token=self._token)
            self._chats.append(created["id"])

    def __enter__(self) -> Self:
        self.begun_at = time.time()
        self.noise_at = self.begun_at + self._after
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _loop(self) -> None:
        wait, burst = self._after, 0
        while not self._over.wait(wait) and time.time() < self.begun_at + self._seconds:
            begun, burst = time.time(), burst + 1
            for chat_id in self._chats:
                message = {"text": f"This is u999-{burst}-1.", "client_id": f"noise-{burst}"}
                try:
                    path = f"/v1/chats/{chat_id}/messages"
                    self._api.ok("POST", path, message, token=self._token)
                except (CallRefusedError, OSError):
                    continue  # over the rate limit of messages, which is a part of the defence
            wait = max(0.0, self._pause - (time.time() - begun))
