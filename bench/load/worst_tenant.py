"""A tenant that attacks what all tenants share: services, files, sharing rules and queues."""

import io
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self

from PIL import Image

from bench.api import Api, CallRefusedError
from bench.load.noise import TENANT, NoisyNeighbor
from bench.load.probes import upload
from bench.load.services import MARKED, READ, WRITE
from local.config import LOOPBACK

LINE = "+15005550009"
WRITER = "usr-writer"
ENDPOINTS = 1  # two lanes, of four workers; on AWS ten endpoints have 20 of 25
SCANS = 1_000
CALLERS = 8  # requests at once while people are created
DRIP_SECONDS = 0.5  # between two bytes
PRIVATE_SECONDS, BOMB_SECONDS, ASK_SECONDS, AGENTS_SECONDS = 3.0, 2.0, 3.0, 20.0
END = b"\xff\xd9"
SCAN = b"\xff\xda"


class Dripper:
    """Context manager with a server that sends its response one byte at a time, without end.

    Attributes:
        calls: The number of connections so far.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._over = threading.Event()
        self._socket = socket.create_server((LOOPBACK, 0), backlog=128)
        self.url = f"http://{LOOPBACK}:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, name="dripper", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not self._over.wait(DRIP_SECONDS):
                connection.sendall(b"a")


class WorstTenant:
    """The attacking tenant: a context manager that attacks until it is left.

    Args:
        people: How many people the tenant's agent writes to at once, by outreach.
        seconds: The seconds after which no new action begins.

    Attributes:
        done: The number of actions by kind.
        refused: The number of refused actions by kind.
    """

    def __init__(self, url: str, *, people: int, seconds: float) -> None:
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._api = Api(url, TENANT)
        self._noise = NoisyNeighbor(url, after=0.0, seconds=seconds, chats=1, pause=AGENTS_SECONDS)
        self._dripper = Dripper()
        self._people = people
        self._seconds = seconds
        self._over = threading.Event()
        self._parts = ExitStack()
        self._bomb = scan_bomb(SCANS)

    @property
    def dripped(self) -> int:
        """The number of calls that the tenant's slow services have drawn out."""
        return self._dripper.calls

    def move_in(self) -> None:
        """Create the tenant's agents, tools, endpoints, people, sharing rule and line."""
        self._noise.move_in()
        operator = self._operator = self._api.token("operator", "admin")
        create = self._create
        own = {"quiet_hours": {"from": "00:00", "to": "00:00"}, "user_messages_per_minute": 0}
        self._api.ok("PATCH", "/v1/settings", own, token=operator)  # an owner may turn these off
        for name in (READ, WRITE):
            http = {"method": "POST", "url": f"{self._dripper.url}/{name}"}
            tool = {"name": name, "description": "Look.", "parameters": MARKED, "http": http}
            create("/v1/tools", tool | {"privacy": "keeps_by_person", "timeout_seconds": 20})
        for number in range(ENDPOINTS):
            url = f"{self._dripper.url}/{number}"
            create("/v1/event-endpoints", {"url": url, "types": ["message.created", "run.ended"]})
        slow = {"name": "Slow", "system_prompt": "You answer.", "listed": True}
        self._agent = create("/v1/agents", slow | {"enabled_tools": [READ, WRITE]})["id"]
        create("/v1/sharing-rules", RULE)
        create("/v1/users", {"id": WRITER, "name": "Writer", "roles": [{"role": "author"}]})
        self._token = self._api.token(WRITER)
        member = {"kind": "agent", "id": self._agent}
        direct = {"kind": "direct", "members": [member]}
        self._direct = self._api.ok("POST", "/v1/chats", direct, token=self._token)["id"]
        self._api.ok("POST", "/local/numbers", {"phone": LINE, "tenant": TENANT})
        create("/v1/lines", {"phone": LINE, "agent_id": self._agent})
        with ThreadPoolExecutor(CALLERS) as pool:
            list(pool.map(self._person, range(self._people)))

    def _create(self, path: str, body: object) -> Any:
        return self._api.ok("POST", path, body, token=self._operator)

    def _person(self, number: int) -> None:
        """Create a person who has consented to texts."""
        person, phone = f"usr-reached-{number}", f"+1415556{number:04}"
        self._create("/v1/users", {"id": person, "name": f"Person {number}", "phones": [phone]})
        path = f"/v1/users/{person}/phones/{phone}/consents/sms"
        self._api.ok("PUT", path, {"proof": "A form"}, token=self._operator)

    def __enter__(self) -> Self:
        self._parts.enter_context(self._dripper)
        self.move_in()
        self._parts.enter_context(self._noise)
        for attack, pause in (
            (self._keeps_private, PRIVATE_SECONDS),
            (self._bombs, BOMB_SECONDS),
            (self._asks, ASK_SECONDS),
            (self._reaches, self._seconds),
        ):
            thread = threading.Thread(target=self._loop, args=(attack, pause), daemon=True)
            thread.start()
            self._parts.callback(thread.join)
        self._parts.callback(self._over.set)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._parts.close()

    def _loop(self, attack: Callable[[int], str], pause: float) -> None:
        until, number = time.monotonic() + self._seconds, 0
        while time.monotonic() < until:
            number += 1
            try:
                self.done[attack(number)] += 1
            except (CallRefusedError, OSError):  # a limit is a part of the defence
                self.refused[attack.__name__.strip("_")] += 1
            if self._over.wait(pause):
                return

    # ------------------------------------------------------------------ the attacks

    def _post(self, body: dict[str, Any]) -> None:
        self._api.ok("POST", f"/v1/chats/{self._direct}/messages", body, token=self._token)

    def _keeps_private(self, number: int) -> str:
        self._post({"text": "PRIVATE", "client_id": f"private-{number}"})
        return "PRIVATE"

    def _asks(self, number: int) -> str:
        marker = f"u005-{number}-1"  # for which the model calls the tools
        self._post({"text": f"Look {marker}.", "client_id": marker})
        return "messages for slow tools"

    def _bombs(self, number: int) -> str:
        media = upload(self._api, self._token, self._direct, self._bomb, "image/jpeg")
        self._post({"media": [media], "client_id": f"bomb-{number}"})
        return "scan bombs"

    def _reaches(self, number: int) -> str:
        people = [f"usr-reached-{each}" for each in range(self._people)]
        body = {"people": people, "agent_id": self._agent, "asked_by": "The club"}
        self._create("/v1/outreach", body | {"text": "Hello.", "client_id": f"reach-{number}"})
        return f"outreach to {self._people} people"


RULE = {
    "name": "Rule",
    "reason": "Load",
    "from": {"role": "author"},
    "to": {"role": "reader"},
}


def scan_bomb(scans: int) -> bytes:
    """Return a progressive JPEG that repeats its last scan until it has this many scans."""
    file = io.BytesIO()
    Image.new("RGB", (640, 480), "red").save(file, "JPEG", progressive=True)
    picture = file.getvalue()
    last = picture.rindex(SCAN)
    more = scans - picture.count(SCAN)
    return picture[:last] + picture[last : -len(END)] * (more + 1) + END
