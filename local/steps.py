"""The steps of a program, such as the start of the stack. The terminal shows each when it begins.

A step that takes long is shown again at intervals, so that the program does not seem to hang. This
module needs only the standard library, because the installers of all other libraries use it.
"""

import sys
import threading
import time
from types import TracebackType
from typing import IO, Self

EVERY_SECONDS = 20.0


class Steps:
    """Steps of one program, as a context manager; a thread reports a step that takes long.

    Args:
        program: The word at the beginning of each line.
        output: Where the lines go; standard output by default.
        every: The seconds after which a step is shown again.
    """

    def __init__(
        self, program: str, *, output: IO[str] | None = None, every: float = EVERY_SECONDS
    ) -> None:
        self._program = program
        self._output = output or sys.stdout
        self._every = every
        self._step = ""
        self._began = 0.0
        self._changed = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._watch, name="steps", daemon=True)

    def begin(self, step: str) -> None:
        """Print the name of the next step. The previous step has ended."""
        if self._thread.ident is None:
            self._thread.start()
        self._step, self._began = step, time.monotonic()
        self._print(step)
        self._changed.set()

    def end(self) -> None:
        """End the last step, after which nothing more is printed (idempotent)."""
        self._ended = True
        self._changed.set()
        if self._thread.ident is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def _watch(self) -> None:
        while not self._ended:
            if self._changed.wait(self._every):
                self._changed.clear()
            elif self._step:
                seconds = time.monotonic() - self._began
                self._print(f"still {self._step}, for {seconds:.0f} s")

    def _print(self, line: str) -> None:
        print(f"{self._program}: {line}", file=self._output, flush=True)
