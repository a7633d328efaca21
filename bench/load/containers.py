"""Containers as on Lambda: processes that handle one event at a time and can be killed.

If a container is killed, its invocation fails, and another container replaces it.
`bench.load.container` runs in the containers; one parent process forks all of them.
"""

import itertools
import os
import queue
import random
import signal
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any, Literal

from bench.load.storm import Storm
from local.children import Child
from local.errors import LocalError
from local.events import Event
from local.template import ROOT, Function

Kind = Literal["door", "worker"]
START_SECONDS = 60.0
SPARE_SECONDS = 2.0  # after the time-out, before the container is killed
FOLDERS = (ROOT, ROOT / "shared", ROOT / "functions")


class ContainerLostError(LocalError):
    """The container ended in the middle of an invocation."""


class InvocationFailedError(LocalError):
    """The handler raised an exception; the message has the exception's text."""


@dataclass(frozen=True)
class Setup:
    """The settings that all containers share.

    Attributes:
        skein: Skein's environment variables.
        clock: The file of the shared clock.
        data_dir: The data folder of the stack.
        files_folder: The folder that stands for the stack's bucket.
        url: The URL of the stack.
        seed: The seed of the injected faults.
    """

    skein: Mapping[str, str]
    clock: str
    data_dir: str
    files_folder: str
    url: str
    seed: str


@dataclass
class _Container:
    number: int
    kind: Kind
    process: int  # a handle of it, which no other process can come to have
    connection: Connection


class Containers:
    """Runner of functions in containers (see `local.functions.Invoker`).

    There are two kinds of containers: doors answer requests, workers handle all other events.

    Args:
        sizes: The number of containers of each kind.
        setup: The settings of the containers.
        storm: Decides which responses of door containers are lost.
        log: The file of the containers' output.

    Attributes:
        wake: Called when an invocation has ended, because it may have sent jobs.
        killed: The number of containers that were killed on purpose.
    """

    def __init__(
        self,
        *,
        sizes: Mapping[Kind, int],
        setup: Setup,
        storm: Storm,
        log: Path,
    ) -> None:
        self.wake: Callable[[], None] = lambda: None
        self.killed = 0
        self._setup = setup
        self._storm = storm
        self._free: dict[Kind, queue.SimpleQueue[_Container]] = {
            kind: queue.SimpleQueue() for kind in sizes
        }
        self._sizes = sizes
        self._lock = threading.Lock()
        self._kinds: dict[int, Kind] = {}
        self._containers: dict[int, _Container] = {}
        self._busy: set[int] = set()
        self._stopping = False
        # The path of a socket must be short, so it is not in the data folder.
        self._home = tempfile.TemporaryDirectory(prefix="skein-")
        path = str(Path(self._home.name) / "host")
        self._listener = Listener(path, family="AF_UNIX", backlog=64)
        folders = os.pathsep.join(map(str, FOLDERS))
        self._nursery = Child(
            "the parent process of the containers",
            "bench.load.container",
            path,
            environment={"PYTHONPATH": folders},
            log=log,
        )
        self._mother: Connection
        self._numbers = itertools.count(1)
        self._thread = threading.Thread(target=self._accept, name="containers", daemon=True)

    def start(self) -> None:
        """Start all containers, and return when they can be used.

        Raises:
            ChildFailedError: The containers did not start in time.
        """
        self._thread.start()
        wanted = sum(self._sizes.values())
        self._nursery.wait_until(lambda: len(self._containers) == wanted, seconds=START_SECONDS)

    def stop(self) -> None:
        """End all containers."""
        self._stopping = True
        with self._lock:
            containers = list(self._containers.values())
        for container in containers:
            self._end(container)
        self._nursery.stop()
        self._listener.close()
        self._home.cleanup()

    def invoke(self, function: Function, event: Event) -> Any:
        """Handle one event in a free container.

        Raises:
            ContainerLostError: The container was killed, or its response was lost.
            InvocationFailedError: The handler raised an exception.
        """
        kind = _kind(function)
        fault = self._storm.draw("gateway") if kind == "door" else None
        if fault in {"throttle", "lost before"}:
            raise ContainerLostError("injected fault: request lost")
        try:
            outcome, value = self._ask(kind, function, event)
        finally:
            self.wake()
        if fault is not None:
            raise ContainerLostError("injected fault: response lost")
        if outcome == "failed":
            raise InvocationFailedError(value)
        return value

    def kill_one(self, chosen: random.Random) -> bool:
        """Kill a container that is working; return False if none is."""
        with self._lock:
            if not self._busy:
                return False
            victim = self._containers[chosen.choice(sorted(self._busy))]
            signal.pidfd_send_signal(victim.process, signal.SIGKILL)
            self.killed += 1
        return True

    def _ask(self, kind: Kind, function: Function, event: Event) -> tuple[str, Any]:
        container = self._free[kind].get(timeout=START_SECONDS)
        connection = container.connection
        with self._lock:
            self._busy.add(container.number)
        alive = False
        try:
            connection.send((function.logical_id, event, self._storm.raging))
            if not connection.poll(function.timeout + SPARE_SECONDS):
                raise ContainerLostError(f"{function.logical_id} timed out")
            outcome, value, drawn = connection.recv()
            alive = True
        except (EOFError, OSError) as error:
            raise ContainerLostError(
                f"{function.logical_id} failed: its container was killed"
            ) from error
        finally:
            with self._lock:
                self._busy.discard(container.number)
            if alive:
                self._free[kind].put(container)
            else:
                self._replace(container)
        self._storm.drawn.update(drawn)
        return outcome, value

    def _replace(self, container: _Container) -> None:
        with self._lock:
            del self._containers[container.number]
        self._end(container)
        if not self._stopping:
            self._breed(container.kind)

    def _end(self, container: _Container) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(container.process, signal.SIGKILL)
        os.close(container.process)
        container.connection.close()

    def _breed(self, kind: Kind) -> None:
        with self._lock:
            number = next(self._numbers)
            self._kinds[number] = kind
            self._mother.send(number)

    def _accept(self) -> None:
        while not self._stopping:
            with suppress(OSError, EOFError):
                connection = self._listener.accept()
                number, pid = connection.recv()
                if number == 0:
                    connection.send(self._setup)
                    self._mother = connection
                    for kind, size in self._sizes.items():
                        for _ in range(size):
                            self._breed(kind)
                else:
                    kind = self._kinds[number]
                    container = _Container(number, kind, os.pidfd_open(pid), connection)
                    with self._lock:
                        self._containers[number] = container
                    self._free[kind].put(container)


def _kind(function: Function) -> Kind:
    return "door" if function.routes else "worker"
