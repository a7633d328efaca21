"""`python -m local` serves the whole stack on this machine until Ctrl-C."""

import signal

if __name__ == "__main__":
    # Ctrl-C while the rest is loaded, which takes a while, is answered with silence.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import logging
import os
import sys
import threading
from contextlib import redirect_stdout
from pathlib import Path
from typing import IO, TextIO

from local.config import BadConfigError, Config
from local.demo import LINE
from local.errors import LocalError
from local.model_server import MODEL_NAME
from local.stack import PRIVATE, TEXTS, Stack
from skein.errors import SkeinError
from skein.masking import masked

LOG_FILE = "skein.log"
PHONE = "+15005550100"
QUESTION = "What is a good exercise for my back?"
FAILED = 1


class OneLine(logging.Formatter):
    """What the user sees: one line, with an error's own words but no trace."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        error = record.exc_info[1] if record.exc_info else None
        detail = f": {type(error).__name__}: {error}" if error else ""
        line = f"{self.formatTime(record, '%H:%M:%S')}  {record.getMessage()}{detail}"
        return " ".join(line.splitlines())


class Masked(logging.Formatter):
    """What the log holds: lines with a trace, and of numbers the ends."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines."""
        return masked(super().format(record))


def main() -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status."""
    console = sys.stdout
    ended = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` has it
        signal.signal(signal.SIGHUP, lambda *_: ended.set())
    try:
        config = Config.from_environment(os.environ)
        with log_in(config.data_dir) as log:
            set_up_logs(console, log)
            # What functions print is their log, as in Lambda.
            with redirect_stdout(log), Stack(config) as stack:
                console.write(_greeting(stack))
                console.flush()
                ended.wait()
                console.write("\nstopping\n")
                console.flush()
    except (LocalError, SkeinError, OSError) as error:
        print(f"skein: {error}", file=sys.stderr)
        return FAILED
    return 0


def log_in(folder: Path) -> TextIO:
    """The log of a new start, in the folder for the data, which is made if need be.

    Raises:
        BadConfigError: Nothing can be kept there.
    """
    try:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        return (folder / LOG_FILE).open("w", buffering=1, encoding="utf-8")
    except OSError as error:
        raise BadConfigError(
            f"nothing can be kept in {folder} ({error.strerror}): set SKEIN_DATA_DIR to a folder"
            " that you may write to"
        ) from error


def set_up_logs(console: IO[str], log: IO[str]) -> None:
    """Show what happens to the user, texts included; the log keeps no text and no number."""
    to_user, to_file = logging.StreamHandler(console), logging.StreamHandler(log)
    to_user.setFormatter(OneLine())
    to_file.setFormatter(Masked("%(asctime)s %(levelname)s %(name)s %(message)s"))
    to_file.addFilter(lambda record: record.name != TEXTS)
    logger = logging.getLogger("local")
    logger.setLevel(logging.INFO)
    logger.addHandler(to_user)
    logger.addHandler(to_file)


def _greeting(stack: Stack) -> str:
    quality = " (a small one on this machine: set OPENAI_API_KEY for real quality)"
    return f"""
Skein is at {stack.url}; end it with Ctrl-C.
  line   {LINE}, on which the agent Coach of the tenant demo answers
  model  {stack.model}{quality if stack.model == MODEL_NAME else ""}
  data   {stack.config.data_dir}

Send a text, wait for the answer, see it:
  curl -s {stack.url}/local/sms -d '{{"from": "{PHONE}", "to": "{LINE}", "body": "{QUESTION}"}}'
  curl -s -X POST {stack.url}/local/drain
  curl -s {stack.url}/local/sms

"""


if __name__ == "__main__":
    sys.exit(main())
