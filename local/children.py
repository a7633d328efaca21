"""Child processes that never outlive their parent, however it ends.

A child runs under `python -m local.children`, with a pipe as its standard input whose other end
only the parent holds. When the parent is gone, even by `kill -9`, the pipe closes and the child
ends itself as if it had been sent SIGTERM.
"""

import logging
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local.errors import ChildFailedError
from local.template import ROOT

START_SECONDS = 30.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.02

logger = logging.getLogger(__name__)


class Child:
    """One running child.

    Args:
        name: For messages.
        module: The Python module that it runs.
        arguments: Its command line.
        environment: Added to the parent's.
        log: The file that takes everything it prints.
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
            # A group of its own: Ctrl-C reaches the parent alone, which stops its children in turn.
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
        """Its process id."""
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool], *, seconds: float = START_SECONDS) -> None:
        """Return once `ready()` holds.

        Raises:
            ChildFailedError: The child ended first, or took longer than `seconds`.
        """
        give_up = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise ChildFailedError(f"{self.name} ended at once; see {self._log}")
            if time.monotonic() > give_up:
                raise ChildFailedError(f"{self.name} is not ready after {seconds:.0f} s")
            time.sleep(POLL_SECONDS)
        threading.Thread(target=self._watch, name=f"watch {self.name}", daemon=True).start()

    def _watch(self) -> None:
        """Tell the user if it ends although nobody has ended it."""
        self._process.wait()
        if not self._stopping:
            logger.error(
                "%s has ended by itself: press Ctrl-C and start again; see %s", self.name, self._log
            )

    def stop(self) -> None:
        """End the child and wait until it is gone; stopping it twice is no error."""
        self._stopping = True
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def _end_with_parent() -> None:
    """Block until standard input closes, then end this process; its clean-up gets some time."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    os._exit(1)


def main(arguments: Sequence[str]) -> None:
    """Run a module as a child: its name, then its own command line."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv[:] = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
