"""Process that forks a new container whenever the host asks for one.

`python -m bench.load.container SOCKET` imports everything before it forks, so that a killed
container is replaced quickly. It opens no connections itself. Each container builds its own app
from the host's settings, as a Lambda container does from its environment, and handles one event
after the other. The container's table and queues fail as often as its `Storm` decides.
"""

import importlib
import os
import random
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, cast

import admin_api
import mobile_api
from bench.load.containers import Setup
from bench.load.storm import ShakenPort, Storm
from local.environment import LocalSecrets
from local.functions import Functions
from local.sqlite.engine import SqliteEngine
from local.stored_files import LocalFiles
from local.template import Function, Template
from local.timing.clock import TurnableClock
from skein import bootstrap
from skein.adapters.tokens import Tokens
from skein.bootstrap import load_adapters
from skein.bootstrap.ports import ADAPTERS
from skein.ports import Queues, Table
from skein.settings import Settings

MODEL_KEY = "none"
LATER = ("openai", "requests", "twilio.rest", "twilio.rest.api.v2010.account.message")


class SharedClock(TurnableClock):
    """The clock of the host: containers see it advanced whenever the host advances it.

    Args:
        path: The file in which the host stores the clock's offset.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._shared = path
        self._read_at = 0

    def now(self) -> datetime:
        """Return the current time in UTC."""
        try:
            changed_at = self._shared.stat().st_mtime_ns
        except FileNotFoundError:  # it has never been turned
            return super().now()
        if changed_at != self._read_at:
            self._ahead = timedelta(seconds=float(self._shared.read_text()))
            self._read_at = changed_at
        return super().now()


def wire(setup: Setup, storm: Storm) -> None:
    """Build the app of this container."""
    settings = Settings.from_environment(setup.skein)
    clock = SharedClock(Path(setup.clock))
    adapters = SqliteEngine(Path(setup.data_dir)).adapters(settings, clock)
    app = bootstrap.build_app(
        settings,
        clock=clock,
        table=cast("Table", ShakenPort(adapters.table, "table", storm)),
        erasure_register=adapters.erasure_register,
        assigned_numbers=adapters.assigned_numbers,
        vectors=adapters.vectors,
        queues=cast("Queues", ShakenPort(adapters.queues, "jobs", storm)),
        files=LocalFiles(Path(setup.files_folder), setup.url, clock),
        secrets=LocalSecrets(adapters.secrets, MODEL_KEY),
    )
    bootstrap.use(app)


def serve(host: Connection, known: Mapping[str, Function], storm: Storm) -> None:
    """Handle one event after the other until the host ends the connection."""
    functions = Functions(list(known.values()))
    while True:
        name, event, storm.raging = host.recv()
        outcome: tuple[str, Any]
        try:
            outcome = "done", functions.invoke(known[name], event)
        except Exception as error:
            outcome = "failed", f"{type(error).__name__}: {error}"
        host.send((*outcome, storm.taken()))


def load_services() -> None:
    """Import all adapters and the routes of the APIs, which are otherwise imported when used."""
    load_adapters(*ADAPTERS)
    for api in (admin_api.api, mobile_api.api):
        _ = api.routes


def breed(path: str) -> None:
    """Fork a new container each time the host sends a number."""
    known = {function.logical_id: function for function in Template.load().functions}
    Functions(list(known.values()))  # which imports them
    load_services()
    for name in LATER:
        importlib.import_module(name)
    Tokens().count("")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no wait for dead children
    with Client(path, family="AF_UNIX") as host:
        host.send((0, os.getpid()))
        setup: Setup = host.recv()
        storm = Storm(setup.seed)
        wire(setup, storm)
        while True:
            number = host.recv()
            if os.fork() == 0:
                break
    # This is the new process, which has closed its copy of the connection.
    random.seed()  # otherwise, all containers would use the same random pauses
    storm.begin(f"{setup.seed}-{number}")
    with Client(path, family="AF_UNIX") as connection:
        connection.send((number, os.getpid()))
        serve(connection, known, storm)


if __name__ == "__main__":
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        breed(sys.argv[1])
