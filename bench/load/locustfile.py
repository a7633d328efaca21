"""The people of `make load` as locust runs them, in its own environment (`.cache/load`).

    locust -f bench/load/locustfile.py --headless -u 250 -r 50 ...

What they are to do stands in a file, which `SKEIN_LOAD_PLAN` names.
"""

import json
import os
import queue
from pathlib import Path

from locust import User, constant, events, task
from locust.exception import StopUser

from bench.load.people import Ledger, Person, World, people

PLAN = json.loads(Path(os.environ["SKEIN_LOAD_PLAN"]).read_text(encoding="utf-8"))


def _told(what: str, seconds: float) -> None:
    events.request.fire(
        request_type="skein",
        name=what,
        response_time=seconds * 1000,
        response_length=0,
        exception=None,
        context={},
    )


_WORLD = World(
    url=PLAN["url"],
    line=PLAN["line"],
    until=PLAN["until"],
    ledger=Ledger(Path(PLAN["ledger"])),
    told=_told,
)
_WAITING: "queue.SimpleQueue[Person]" = queue.SimpleQueue()
for _person in people(
    _WORLD,
    phones=PLAN["phones"],
    places=PLAN["places"],
    pause_seconds=PLAN["pause_seconds"],
    seed=PLAN["seed"],
):
    _WAITING.put(_person)


_LEFT = [None] * _WAITING.qsize()


class Somebody(User):  # type: ignore[misc] # the library is in another environment
    """The next person who is not there yet; when the last one has gone, so does locust."""

    wait_time = constant(0)

    @task  # type: ignore[untyped-decorator]
    def live(self) -> None:
        """Write and wait until the time is over; each person lives once."""
        try:
            person = _WAITING.get_nowait()
        except queue.Empty:
            raise StopUser from None
        try:
            person.live()
        finally:
            _LEFT.pop()
            if not _LEFT:
                self.environment.runner.quit()
        raise StopUser
