"""Small files that are there as a whole or not at all, and say so where they are damaged."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from local.errors import DamagedDataError

T = TypeVar("T")


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file at once, readable by its owner alone."""
    partial = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    partial.replace(path)


def read_whole(path: Path, meaning: Callable[[bytes], T]) -> T:
    """What a file of the data means.

    Nothing of it is guessed or made anew: whoever has a copy may want to put it back.

    Args:
        path: The file, which is there.
        meaning: Makes of its bytes what they stand for.

    Raises:
        DamagedDataError: They stand for nothing.
    """
    data = path.read_bytes()
    try:
        return meaning(data)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise DamagedDataError(
            f"{path} is damaged: put a copy of it back, or remove it to go on without it"
        ) from error
