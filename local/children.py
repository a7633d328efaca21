"""Child processes that never outlive their parent process.

A child runs under `python -m local.children`. Its standard input is a pipe whose other end only the
parent holds. When the parent ends, even by `kill -9`, the pipe closes and the child sends itself
SIGTERM.
"""

import logging
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from local.config import LOOPBACK
from local.errors import ChildFailedError
from local.template import ROOT

START_SECONDS = 30.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.02
LAST_LINE_CHARACTERS = 300
LISTENING_PORTS = range(20_000, 30_000)  # below those of outgoing connections

logger = logging.getLogger(__name__)


class Child:
    """A running child process.

    Args:
        name: The child's name in messages.
        module: The Python module to run.
        arguments: The module's command-line arguments.
        environment: Variables added to the parent's environment.
        log: The file for the child's output.
    """

    def __init__(
        self,
        name: str,
        module: str,
        *arguments: str,
        environment: Mapping[str, str],
        log: Path,
    ) -> None:
        self.name = name
        self._log = log
        self._stopping = False
        with log.open("wb") as output:
            # A new session, so that Ctrl-C reaches only the parent, which then stops its children.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local.children", module, *arguments],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool], *, seconds: float = START_SECONDS) -> None:
        """Return once `ready()` holds.

        Raises:
            ChildFailedError: The child ended first, or was not ready within `seconds`.
        """
        give_up = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise ChildFailedError(
                    f"{self.name} stopped at its start{self._last_line_of_log()}; see {self._log}"
                )
            if time.monotonic() > give_up:
                raise ChildFailedError(f"{self.name} is not ready after {seconds:.0f} s")
            time.sleep(POLL_SECONDS)
        threading.Thread(target=self._watch, name=f"watch {self.name}", daemon=True).start()

    def _watch(self) -> None:
        """Log an error if the child ends without a call of `stop`."""
        self._process.wait()
        if not self._stopping:
            logger.error(
                "%s has stopped unexpectedly%s: press Ctrl-C and start again; see %s",
                self.name,
                self._last_line_of_log(),
                self._log,
            )

    def _last_line_of_log(self) -> str:
        """Return the last line of the child's log in brackets; empty if the log is empty."""
        lines = self._log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f" ({last[:LAST_LINE_CHARACTERS]})" if last else ""

    def stop(self) -> None:
        """Terminate the child and wait for its end; kill the child after `STOP_SECONDS`."""
        self._stopping = True
        end_process(self._process, STOP_SECONDS)
        if self._process.stdin is not None:
            self._process.stdin.close()


def end_process(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Terminate a process and wait for its end; kill the process after some seconds."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a free TCP port below the ports that systems use for outgoing connections.

    Raises:
        OSError: None of the ports that were tried is free.
    """
    for port in random.sample(LISTENING_PORTS, 100):
        with suppress(OSError), socket.create_server((LOOPBACK, port)):
            return port
    raise OSError("no TCP port is free")


def _end_with_parent() -> None:
    """Terminate this process when standard input closes; force its end after `STOP_SECONDS`."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    os._exit(1)


def main(arguments: Sequence[str]) -> None:
    """Run a module as a child.

    Args:
        arguments: The module's name, followed by its command-line arguments.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv[:] = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
