"""The command of `make run` in a process of its own.

The process is forked from one that has imported the stack (`tests.e2e.preloaded`), because the
imports take most of the time of a start. `test_skein_command.py` starts a new interpreter.
"""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from pathlib import Path

import psutil

from local.command import main
from tests.support.signing_key import put_signing_key

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60

_forks = get_context("forkserver")
_forks.set_forkserver_preload(["tests.e2e.preloaded"])


def stop_forking() -> None:
    """End the process that is forked, so that its CPU time counts as that of the tests."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


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
        put_signing_key(data_dir)
        self._output = data_dir.with_suffix(".out")
        self._output.write_bytes(b"")  # there may be that of an earlier start
        variables = {
            **os.environ,
            "SKEIN_PORT": str(port),
            "SKEIN_DATA_DIR": str(data_dir),
            **environment,
        }
        given = (["run", *arguments], variables, self._output)
        self._process = _forks.Process(target=_run, args=given)
        self._process.start()

    def wait_until_ready(self) -> str:
        """The URL, once the process says that it serves."""
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up and self._process.is_alive():
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
        assert self._process.pid is not None
        os.kill(self._process.pid, signal)
        return self.wait()

    def wait(self) -> int:
        """The exit status, once it has ended."""
        self._process.join(SECONDS)
        assert self._process.exitcode is not None, f"the stack does not end: {self.output}"
        return self._process.exitcode

    def kill(self) -> None:
        """Make sure that it is gone."""
        self._process.kill()
        self._process.join()


@contextmanager
def running_stack(data_dir: Path, environment: Mapping[str, str], *arguments: str) -> Iterator[str]:
    """Run a stack on a data directory, and yield its URL; it must end when it is interrupted."""
    process = LocalProcess(data_dir, environment=environment, arguments=arguments)
    try:
        yield process.wait_until_ready()
        process.end(signal.SIGINT)
    finally:
        process.kill()


def _run(arguments: Sequence[str], environment: Mapping[str, str], output: Path) -> None:
    """Run the command in this process, with the output and the environment of its own."""
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    with output.open("ab") as printed:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(printed.fileno(), stream.fileno())
    sys.exit(main(arguments))
