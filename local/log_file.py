"""Logs of the local stack: a file that is rotated, and short lines in the terminal.

The functions write JSON lines to their standard output, as on Lambda. The file contains these lines
and those of the stack itself. The terminal also shows the texts of messages; the file never
contains them.
"""

import io
import logging
import threading
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from local.config import BadConfigError
from skein.correlation import current_invocation
from skein.masking import masked

FILE_NAME = "skein.log"
MAX_BYTES = 10_000_000
OLD_FILES = 4
PRIVATE = 0o700  # the folder contains keys
MESSAGES_LOGGER = "local.messages"  # the logger of messages' texts, which only the terminal shows
NO_FUNCTION = "-"


class LogFile(io.TextIOBase):
    """Text stream that appends whole lines to a file and rotates the file.

    Several threads may write at the same time: a line is written only when it is complete.

    Args:
        path: The file. Its older content is kept.
        max_bytes: The size at which the file is renamed to `<name>.1` and a new file begins.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._file = RotatingFileHandler(
            path, maxBytes=max_bytes, backupCount=OLD_FILES, encoding="utf-8"
        )
        self._begun = threading.local()

    def write(self, text: str) -> int:
        """Write the complete lines of a text; keep an incomplete last line until it is complete."""
        lines, end, rest = (getattr(self._begun, "line", "") + text).rpartition("\n")
        self._begun.line = rest
        if end:
            self._file.handle(logging.makeLogRecord({"msg": lines}))
        return len(text)

    def close(self) -> None:
        self._file.close()
        super().close()


class OneLine(logging.Formatter):
    """Log formatter for the terminal: one line, with an error's message but no traceback."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        detail = f": {type(error).__name__}: {error}" if error else ""
        line = f"{self.formatTime(record, '%H:%M:%S')}  {record.getMessage()}{detail}"
        return " ".join(line.splitlines())


class Masked(logging.Formatter):
    """Log formatter for the file: adds the function and the traceback, and masks phone numbers."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(function)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format a record and mask its phone numbers."""
        record.function = current_invocation().get("function_name", NO_FUNCTION)
        return masked(super().format(record))


def log_in(folder: Path) -> LogFile:
    """Open the log file in the data folder, which is created if necessary.

    Raises:
        BadConfigError: The folder or the file cannot be written.
    """
    try:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        return LogFile(folder / FILE_NAME)
    except OSError as error:
        raise BadConfigError(
            f"cannot write to {folder} ({error.strerror}): set SKEIN_DATA_DIR to a writable folder"
        ) from error


def set_up_logs(console: IO[str], log: LogFile) -> None:
    """Send the stack's log lines to the terminal and to a file.

    The file contains no text of a message, and masks phone numbers.
    """
    to_user, to_file = logging.StreamHandler(console), logging.StreamHandler(log)
    to_user.setFormatter(OneLine())
    to_file.setFormatter(Masked())
    to_file.addFilter(lambda record: record.name != MESSAGES_LOGGER)
    logger = logging.getLogger("local")
    logger.setLevel(logging.INFO)
    logger.addHandler(to_user)
    logger.addHandler(to_file)
