"""Small data files, written atomically, with an error for damaged content."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from local.errors import DamagedDataError

T = TypeVar("T")


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file atomically. Only the file's owner can read and write the new file."""
    partial = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    partial.replace(path)


def read_whole(path: Path, meaning: Callable[[bytes], T]) -> T:
    """Read and parse a data file.

    Damaged content is never repaired or replaced, because the user may have a backup to restore.

    Args:
        path: The file, which must exist.
        meaning: Parses the file's bytes.

    Raises:
        DamagedDataError: The content cannot be parsed.
    """
    data = path.read_bytes()
    try:
        return meaning(data)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise DamagedDataError(
            f"{path} is damaged: restore a copy, or delete the file to start without its data"
        ) from error
