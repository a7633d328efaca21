"""The people of `make load LIVE=1`: each is connected, and checks each frame.

    python -m bench.load.live_people PLAN.json RESULT.json

The people run in a process of their own, so that their work is not counted as the stack's.
"""

import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from bench.api import call
from bench.load.live_truth import Post, Stay, Truth, Window
from bench.load.people import OK

POOL = 16  # requests at once
PAUSE_SECONDS = 0.2  # before a request is repeated
MAX_TRIES = 50
PING_SECONDS = 60.0
GUEST_EVERY_SECONDS, GUEST_SECONDS = 2.0, 6.0
DELETED, READ, TYPING = 0.02, 0.02, 0.05  # shares of the messages that lead to one of these
CUT_A_MINUTE = 0.05  # the share of connections that are cut
SETTLE_SECONDS = 8.0  # for the last frames to arrive
MAX_TOLD = 20
DONE = {*OK, 404, 409}  # a change that had taken effect before its answer was lost


@dataclass(frozen=True)
class LivePlan:
    """The plan of the people.

    Attributes:
        seconds: How long the people write.
        rate: The messages per second, of all people together.
        faults: Whether connections are cut.
        tokens: The token of each person.
        groups: The members of each chat.
    """

    url: str
    seconds: float
    rate: float
    faults: bool
    tokens: dict[str, str]
    groups: dict[str, list[str]]
    seed: int


@dataclass(frozen=True)
class LiveResult:
    """What the people found out about the frames that they got.

    Attributes:
        wrong: The number of wrong frames.
        examples: Some wrong frames, in words.
        percentiles: The seconds from post to frame: p50, p95 and p99.
        expected: How many messages certainly had to reach a reader. A message counts once for each
            of its readers.
        lost: How many of the expected messages did not reach the reader.
        frames: The number of frames by type.
        cpu_seconds: The processor time of the people's process while they wrote.
        seconds: How long the people wrote.
    """

    connections: int
    posts: int
    unacknowledged: int
    reconnects: int
    refused: int
    wrong: int
    examples: list[str]
    percentiles: list[float]
    measured: int
    expected: int
    lost: int
    repeated: int
    frames: dict[str, int]
    cpu_seconds: float
    seconds: float


class Crowd:
    """All people and their connections."""

    def __init__(self, plan: LivePlan) -> None:
        self._plan = plan
        self._truth = Truth()
        self._random = random.Random(plan.seed)
        self._pool = ThreadPoolExecutor(POOL)
        self._gate = asyncio.Semaphore(POOL)
        self._sockets: dict[str, ClientConnection] = {}
        self._home = {person: chat for chat, people in plan.groups.items() for person in people}
        self._guests: set[str] = set()
        self._work: asyncio.TaskGroup
        self._leaving = False
        self._reconnects = self._refused = self._numbers = 0
        for person, chat_id in self._home.items():
            self._truth.join(person, chat_id, at=0.0).joined_at = 0.0

    async def live(self) -> LiveResult:
        """Connect all people, let them write for a while, and return the result."""
        phones = [asyncio.create_task(self._phone(person)) for person in self._home]
        while len(self._sockets) < len(self._home):
            await asyncio.sleep(0.1)
        connections, begun, used = len(self._sockets), time.monotonic(), _cpu_seconds()
        print("connected", flush=True)
        until = begun + self._plan.seconds
        async with asyncio.TaskGroup() as self._work:
            for work in (self._write, self._visit, self._cut):
                self._work.create_task(work(until))
        seconds, used = time.monotonic() - begun, _cpu_seconds() - used
        await asyncio.sleep(SETTLE_SECONDS)
        self._leaving = True
        for phone in phones:
            phone.cancel()
        for ended in await asyncio.gather(*phones, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended
        return self._result(connections, seconds, used)

    def _result(self, connections: int, seconds: float, used: float) -> LiveResult:
        truth, times = self._truth, self._truth.latencies()
        cuts = quantiles(times, n=100, method="inclusive") if len(times) > 1 else [0.0] * 99
        lost, expected = truth.lost()
        return LiveResult(
            connections=connections,
            posts=len(truth.posts),
            unacknowledged=sum(post.place is None for post in truth.posts.values()),
            reconnects=self._reconnects,
            refused=self._refused,
            wrong=len(truth.wrong),
            examples=truth.wrong[:MAX_TOLD],
            percentiles=[cuts[position - 1] for position in (50, 95, 99)],
            measured=len(times),
            expected=expected,
            lost=lost,
            repeated=truth.repeated,
            frames=dict(sorted(truth.frames.items())),
            cpu_seconds=used,
            seconds=seconds,
        )

    # ------------------------------------------------------------------ connections

    async def _phone(self, person: str) -> None:
        """Keep a person connected, and check each frame that the person gets."""
        while not self._leaving:
            async with self._gate:
                status, ticket = await self._call("POST", "/v1/live", person)
                socket = await self._open(ticket) if status in OK else None
            if socket is None:
                self._refused += 1
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            window = Window(time.monotonic())
            self._truth.windows[person].append(window)
            self._sockets[person] = socket
            pings = asyncio.create_task(_ping(socket))
            try:
                with suppress(ConnectionClosed):
                    async for text in socket:
                        self._truth.take(person, json.loads(text), time.monotonic())
            finally:
                pings.cancel()
                window.lost_at = time.monotonic() if not self._leaving else window.lost_at
                with suppress(ConnectionClosed):
                    await socket.close()
            self._reconnects += 1

    async def _open(self, ticket: dict[str, Any]) -> ClientConnection | None:
        try:
            return await connect(f"{ticket['url']}?ticket={ticket['ticket']}", ping_interval=None)
        except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed):
            return None

    async def _cut(self, until: float) -> None:
        """Drop some connections without closing them, as phones do that lose the network."""
        while self._plan.faults and time.monotonic() < until:
            await asyncio.sleep(1.0)
            for socket in list(self._sockets.values()):
                if self._random.random() < CUT_A_MINUTE / 60:
                    socket.transport.abort()

    # ------------------------------------------------------------------ what people do

    async def _write(self, until: float) -> None:
        """Post messages at a steady rate, each from a random person to this person's chat."""
        due = time.monotonic()
        people = list(self._home)
        while (due := due + 1 / self._plan.rate) < until:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self._work.create_task(self._post(self._random.choice(people)))

    async def _post(self, person: str) -> None:
        self._numbers += 1
        text = f"message {self._numbers} of {person}"
        chat_id = self._home[person]
        post = self._truth.post(chat_id, person, text, at=time.monotonic())
        body = {"text": text, "client_id": str(self._numbers)}

        def again() -> None:
            post.tries.append(time.monotonic())

        answer = await self._ask("POST", f"/v1/chats/{chat_id}/messages", person, body, again=again)
        if answer is None:
            return
        self._truth.acknowledged(post, answer["seq"], answer["id"], at=time.monotonic())
        drawn = self._random.random()
        if drawn < DELETED:
            await self._delete(post, answer["seq"])
        elif drawn < DELETED + READ:
            reader = self._random.choice(self._plan.groups[chat_id])
            await self._ask("POST", f"/v1/chats/{chat_id}/read", reader, {"seq": answer["seq"]})
        elif drawn < DELETED + READ + TYPING:
            with suppress(ConnectionClosed):
                typing = {"type": "typing", "chat_id": chat_id}
                await self._sockets[person].send(json.dumps(typing))

    async def _delete(self, post: Post, seq: int) -> None:
        await asyncio.sleep(self._random.uniform(0.0, 1.0))
        post.deleting_at = time.monotonic()
        path = f"/v1/chats/{post.chat_id}/messages/{seq}"
        if await self._ask("DELETE", path, post.sender) is not None:
            post.deleted_at = time.monotonic()

    async def _visit(self, until: float) -> None:
        """Let a guest join another chat every two seconds."""
        while time.monotonic() + GUEST_SECONDS < until:
            await asyncio.sleep(GUEST_EVERY_SECONDS)
            guest = self._random.choice(sorted(set(self._home) - self._guests))
            others = [chat for chat in self._plan.groups if chat != self._home[guest]]
            if others:
                self._work.create_task(self._be_guest(guest, self._random.choice(others)))

    async def _be_guest(self, guest: str, chat_id: str) -> None:
        """Join a chat by invitation, and leave it after some seconds."""
        self._guests.add(guest)
        host = self._random.choice(self._plan.groups[chat_id])
        path = f"/v1/chats/{chat_id}/members/user/{guest}"
        accept = f"/v1/chats/{chat_id}/invitation"
        stay: Stay = self._truth.join(guest, chat_id, at=time.monotonic())
        if (
            await self._ask("PUT", path, host) is not None
            and await self._ask("POST", accept, guest, {"accept": True}) is not None
        ):
            stay.joined_at = time.monotonic()
            await asyncio.sleep(GUEST_SECONDS)
            stay.leaving_at = time.monotonic()
            if await self._ask("DELETE", path, guest) is not None:
                stay.left_at = time.monotonic()
        self._guests.discard(guest)

    # ------------------------------------------------------------------ requests

    async def _ask(
        self,
        method: str,
        path: str,
        person: str,
        body: object = None,
        *,
        again: Callable[[], None] = lambda: None,
    ) -> Any:
        """Send a request until it is answered; return the JSON of the response.

        The result is None if the request was never accepted, and an empty dict if a change was
        answered without JSON.
        """
        for _ in range(MAX_TRIES):
            status, answer = await self._call(method, path, person, body)
            if status in OK or (method != "POST" and status in DONE):
                return answer if answer is not None else {}
            await asyncio.sleep(PAUSE_SECONDS)
            again()
        return None

    async def _call(
        self, method: str, path: str, person: str, body: object = None
    ) -> tuple[int, Any]:
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, call, self._plan.url, method, path, body, self._plan.tokens[person]
        )


async def _ping(socket: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        while True:
            await asyncio.sleep(random.uniform(0.5, 1.0) * PING_SECONDS)
            await socket.send('{"type": "ping"}')


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(plan: Path, result: Path) -> None:
    """Carry out a plan, and store the result in a file."""
    crowd = Crowd(LivePlan(**json.loads(plan.read_text(encoding="utf-8"))))

    async def live() -> LiveResult:
        return await crowd.live()

    result.write_text(json.dumps(asdict(asyncio.run(live()))), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
