"""Checks before an installation that `make run` will get its port.

`python -m tools.install.port` fails if the port in `SKEIN_PORT` is in use. If `SKEIN_PORT` is not
set, the stack will take the next free port; then the check fails only if another stack uses the
data folder. The module needs only the standard library.
"""

import fcntl
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from local.folders import data_folder, running_url

HOST, DEFAULT_PORT = "127.0.0.1", "8787"


def problem(environment: Mapping[str, str]) -> str | None:
    """Return why the stack could not start, and what to do; None if it could."""
    chosen = environment.get("SKEIN_PORT")
    port = chosen or DEFAULT_PORT
    if not port.isdecimal() or not is_taken(int(port)):
        return None  # a start says what is wrong with a value that is no port
    if chosen:
        return f"port {port} is in use: choose another, with SKEIN_PORT or --port"
    folder = data_folder(environment)
    if is_used(folder):
        return (
            f"another stack uses {folder}, at {running_url(folder)}: stop it, or set "
            "SKEIN_PORT and SKEIN_DATA_DIR to others"
        )
    return None


def is_taken(port: int) -> bool:
    """Tell whether another program listens on a port, or this user may not listen on it."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
    except (OSError, OverflowError):
        return True
    return False


def is_used(folder: Path) -> bool:
    """Tell whether another stack holds the lock of a data folder."""
    try:
        with (folder / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


if __name__ == "__main__":
    found = problem(os.environ)
    if found is not None:
        sys.exit(f"skein: {found}")
