"""An example client as a process of its own, and what it prints."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

MAX_CONNECTIONS = 10
SECONDS = 30.0


class Example:
    """One run of an example client.

    Args:
        command: The program and its arguments.
        token: The token of the person.
        folder: Where the output is kept.
    """

    def __init__(self, command: list[str], token: str, folder: Path) -> None:
        self._out, self._errors = folder / "out", folder / "errors"
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, "TOKEN": token, "NO_PROXY": "127.0.0.1"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )

    @property
    def texts(self) -> list[str]:
        """The texts that it has printed so far."""
        lines = self._out.read_text(encoding="utf-8").splitlines()
        return [line.partition(": ")[2] for line in lines]

    @property
    def errors(self) -> str:
        """What it has reported so far."""
        return self._errors.read_text(encoding="utf-8")

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        give_up = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < give_up, f"{self.texts} {self.errors}"
            assert self._process.poll() is None, self.errors
            time.sleep(0.02)

    def exit_status(self) -> int:
        """Wait until it ends by itself."""
        return self._process.wait(SECONDS)

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def node() -> list[str]:
    """Return the command of a Node that has WebSockets; skip the test without one."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed")
    options = _websocket_options(program)
    if options is None:
        pytest.skip("this Node has no WebSocket; Node 22 has one")
    return [program, *options]


@cache
def _websocket_options(program: str) -> tuple[str, ...] | None:
    """The options with which a Node has WebSockets, or None if it has none."""
    for options in ((), ("--experimental-websocket",)):
        probe = [program, *options, "-e", "process.exit(typeof WebSocket === 'function' ? 0 : 1)"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return options
    return None
