"""The people of `make load`, run by locust in its own environment (`.cache/load`).

    locust -f bench/load/locustfile.py --headless -u 250 -r 50 ...

The variable `SKEIN_LOAD_PLAN` names the file with their plan.
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
    """The next person of the plan. When the last person has finished, locust ends."""

    wait_time = constant(0)

    @task  # type: ignore[untyped-decorator]
    def live(self) -> None:
        """Write and wait until the time is over; locust calls this once for each person."""
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
