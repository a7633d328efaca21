"""The machine of a load run, and the folder for the run's data."""

import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
NEEDED_BYTES = 2**30


def machine() -> str:
    """Return the day, the Python version and the number of cores, as text."""
    return f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, {os.cpu_count()} cores"


def folder_in_memory() -> Path | None:
    """Return a folder whose files are kept in memory; None if there is none with enough room."""
    roomy = IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > NEEDED_BYTES
    return IN_MEMORY if roomy else None


def data_folder() -> Path:
    """Make an empty folder for a run's data: in memory if there is room, otherwise on the disk.

    All processes of the local stack commit to one file, one after the other. A commit to a disk can
    take milliseconds, and then the run would measure the disk.
    """
    return Path(tempfile.mkdtemp(prefix="skein-load-", dir=folder_in_memory()))
