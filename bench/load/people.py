"""The people of a load run: phones that text, and users of the app.

    python -m bench.load.people CROWD.json

Each person waits for the answers. A message is sent again with the same id until it is
acknowledged, as Twilio and real apps do. Each outcome becomes a line of a file, the ledger; the
checks compare the table with the ledger. The people run in a process of their own, each in a
thread.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bench.api import call

TENANT = "demo"
MAX_TRIES = 25
MAX_WAIT_SECONDS = 5.0
LOOK_SECONDS, MAX_LOOK_SECONDS = 1.0, 5.0  # between two looks; growing, as in apps
MAX_IN_A_BURST = 3
MAX_GAP_SECONDS = 0.8  # so that a burst lies within a line's debounce
OK = range(200, 300)
# These statuses mean a wrong request; a retry gets the same response.
REFUSED = frozenset({400, 401, 403, 404, 409, 413, 422})


PICTURES_ONE_IN = 3  # of the phones: the first message of each burst has a picture
# A red square of one pixel, as the PNG that a phone sends.
PICTURE = {
    "type": "image/png",
    "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAEl"
    "FTkSuQmCC",
}


def sends_pictures(name: str) -> bool:
    """Tell whether a phone sends pictures. The name `p001`, for example, is that of phone 1."""
    return int(name[1:]) % PICTURES_ONE_IN == 1


class RefusedError(Exception):
    """A message was refused, or was never acknowledged."""


class Ledger:
    """File with what people sent and what they got, one JSON object per line.

    Args:
        path: The file; several threads may add lines.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def add(self, **line: object) -> None:
        """Add a line."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@dataclass(frozen=True)
class World:
    """The settings that all people share.

    Attributes:
        until: The time after which people begin no more bursts, in seconds since 1970.
        patience_seconds: How long a person waits for an answer. The checks still look for answers
            that come later.
    """

    url: str
    line: str
    until: float
    ledger: Ledger
    patience_seconds: float = 60.0

    def call(self, method: str, path: str, body: object = None, token: str = "") -> tuple[int, Any]:
        """Send a request; return its status and JSON. The status is 0 if there was no response."""
        return call(self.url, method, path, body, token)


class Person:
    """A person who writes bursts of messages and waits for the answer to each burst.

    Args:
        name: `p` (phone) or `u` (user of the app) and three digits. Each message contains the name,
            the number of the burst and the number in the burst.
        world: The common settings.
        pause_seconds: The mean time between an answer and the next burst.
    """

    def __init__(self, name: str, world: World, *, pause_seconds: float, seed: int) -> None:
        self.name = name
        self._world = world
        self._pause = pause_seconds
        self._random = random.Random(f"{seed}-{name}")
        self._burst = 0

    def live(self) -> None:
        """Write until the time is over."""
        self._sleep(self._random.uniform(0, self._pause))
        while self.active:
            self.burst()
            self._sleep(self._random.expovariate(1 / self._pause))

    @property
    def active(self) -> bool:
        """Whether the person may begin another burst."""
        return time.time() < self._world.until

    def burst(self) -> None:
        """Write some messages in quick succession, and wait for the first answer to them."""
        self._burst += 1
        markers, first_acknowledged = [], 0.0
        for number in range(1, self._random.randint(1, MAX_IN_A_BURST) + 1):
            if number > 1:
                time.sleep(self._random.uniform(0.1, MAX_GAP_SECONDS))
            markers.append(f"{self.name}-{self._burst}-{number}")
            acknowledged = self._say(markers[-1])
            first_acknowledged = first_acknowledged or acknowledged
        give_up = time.time() + self._world.patience_seconds
        look = LOOK_SECONDS
        while time.time() < give_up:
            if self._answered(markers):
                waited = time.time() - first_acknowledged
                self._note("answered", burst=self._burst, seconds=waited)
                return
            time.sleep(look)
            look = min(look * 1.25, MAX_LOOK_SECONDS)
        self._note("unanswered", burst=self._burst)

    def _say(self, marker: str) -> float:
        """Send one message until it is acknowledged, and return the time of the acknowledgement.

        Raises:
            RefusedError: The message was never acknowledged.
        """
        begun = time.time()
        wait = 0.25
        for tries in range(1, MAX_TRIES + 1):
            status, told = self._send(marker)
            now = time.time()
            if status in OK:
                self._note(
                    "message", marker=marker, tries=tries, at=now, seconds=now - begun, **told
                )
                return now
            if status in REFUSED:
                break
            time.sleep(wait * self._random.uniform(0.5, 1.0))
            wait = min(wait * 2, MAX_WAIT_SECONDS)
        self._note("refused", marker=marker, status=status, tries=tries)
        raise RefusedError(f"{marker}: {status} after {tries} tries")

    def _note(self, what: str, **more: object) -> None:
        self._world.ledger.add(what=what, who=self.name, **more)

    def _sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, min(seconds, self._world.until - time.time())))

    def _send(self, marker: str) -> tuple[int, dict[str, Any]]:
        """Send the message once; return the status, and the fields for the ledger."""
        raise NotImplementedError

    def _answered(self, markers: list[str]) -> bool:
        """Return whether one of the messages with these markers has an answer."""
        raise NotImplementedError


class Phone(Person):
    """A person who texts the line."""

    @property
    def number(self) -> str:
        """The person's phone number."""
        return f"+1415555{1000 + int(self.name[1:]):04}"

    def _send(self, marker: str) -> tuple[int, dict[str, Any]]:
        sid = f"SM-{marker}"
        text = f"This is {marker}."
        sms: dict[str, Any] = {"from": self.number, "to": self._world.line, "body": text}
        files = [PICTURE] if marker.endswith("-1") and sends_pictures(self.name) else []
        sms |= {"message_sid": sid, "media": files}
        status, answer = self._world.call("POST", "/local/sms", sms)
        # The call itself is the phone network's; what counts is what the webhook answered.
        inner = int(answer["status"]) if status in OK and answer else status
        return inner, {"id": sid, "text": text, "files": len(files)}

    def _answered(self, markers: list[str]) -> bool:
        status, found = self._world.call("GET", f"/local/sms?to={quote(self.number)}")
        bodies = [sms["body"] for sms in found["items"]] if status in OK else []
        return any(f"heard {marker}." in body for body in bodies for marker in markers)


class AppUser(Person):
    """A person who writes in one chat of the app, a direct chat or a group."""

    def __init__(self, position: Mapping[str, str], *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._place = position
        self._newest = 0

    def _send(self, marker: str) -> tuple[int, dict[str, Any]]:
        text = f"This is {marker}."
        status, message = self._world.call(
            "POST",
            f"/v1/chats/{self._place['chat_id']}/messages",
            {"text": text, "client_id": marker},
            token=self._place["token"],
        )
        if status not in OK:
            return status, {}
        self._newest = max(self._newest, message["seq"])
        told = {"seq": message["seq"], "message_id": message["id"], "chat": message["chat_id"]}
        return status, {"id": marker, "text": text, **told}

    def _answered(self, markers: list[str]) -> bool:
        status, page = self._world.call(
            "GET",
            f"/v1/chats/{self._place['chat_id']}/messages?after={self._newest}&limit=50",
            token=self._place["token"],
        )
        items = page["items"] if status in OK else []
        return any(item["sender"]["kind"] == "agent" for item in items)


def people(
    world: World, *, phones: int, places: list[Mapping[str, str]], pause_seconds: float, seed: int
) -> list[Person]:
    """Return all people, phones first."""
    common: dict[str, Any] = {"pause_seconds": pause_seconds, "seed": seed}
    return [
        *(Phone(f"p{n:03}", world, **common) for n in range(phones)),
        *(AppUser(position, f"u{n:03}", world, **common) for n, position in enumerate(places)),
    ]


@dataclass(frozen=True)
class Crowd:
    """All people of a run.

    Attributes:
        until: The time after which people begin no more bursts, in seconds since 1970.
        leave_seconds: How long people wait for the last answers after `until`.
        ledger: The path of the ledger.
        places: The token and the chat of each user of the app.
    """

    url: str
    line: str
    until: float
    patience_seconds: float
    leave_seconds: float
    ledger: str
    phones: int
    places: list[dict[str, str]]
    pause_seconds: float
    seed: int


def main(crowd: Crowd) -> None:
    """Let all people write, each in a thread, until they have their last answers."""
    world = World(
        crowd.url, crowd.line, crowd.until, Ledger(Path(crowd.ledger)), crowd.patience_seconds
    )
    everybody = people(
        world,
        phones=crowd.phones,
        places=list(crowd.places),
        pause_seconds=crowd.pause_seconds,
        seed=crowd.seed,
    )
    threads = [threading.Thread(target=person.live, daemon=True) for person in everybody]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, crowd.until + crowd.leave_seconds - time.time()))


if __name__ == "__main__":
    main(Crowd(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
