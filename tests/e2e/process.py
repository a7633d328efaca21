"""`python -m local` as a process of its own, as `make run` starts it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60


class LocalProcess:
    """One running stack.

    Args:
        data_dir: Where it keeps its data.
        port: 0 for any free one.
        environment: Added to that of the tests.
        arguments: Of the command.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        environment: Mapping[str, str],
        arguments: Sequence[str] = (),
    ) -> None:
        self._output = data_dir.with_suffix(".out")
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local", "run", *arguments],
                cwd=ROOT,
                env={
                    **os.environ,
                    "SKEIN_PORT": str(port),
                    "SKEIN_DATA_DIR": str(data_dir),
                    **environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait_until_ready(self) -> str:
        """The URL, once the process says that it serves."""
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:\d+", self.output)
            if found:
                return found[0]
            time.sleep(0.05)
        raise AssertionError(f"the stack is not ready: {self.output}")

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text(encoding="utf-8")

    def children(self) -> list[int]:
        """The ids of its child processes."""
        return [child.pid for child in psutil.Process(self._process.pid).children()]

    def end(self, signal: int) -> int:
        """Send a signal; returns the exit status."""
        self._process.send_signal(signal)
        return self.wait()

    def wait(self) -> int:
        """The exit status, once it has ended."""
        return self._process.wait(SECONDS)

    def kill(self) -> None:
        """Make sure that it is gone."""
        self._process.kill()
        self._process.wait()


@contextmanager
def running_stack(data_dir: Path, environment: Mapping[str, str], *arguments: str) -> Iterator[str]:
    """Run a stack on a data directory, and yield its URL; it must end when it is interrupted."""
    process = LocalProcess(data_dir, environment=environment, arguments=arguments)
    try:
        yield process.wait_until_ready()
        process.end(signal.SIGINT)
    finally:
        process.kill()
