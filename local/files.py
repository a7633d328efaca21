"""Small files that are there as a whole or not at all."""

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file at once, readable by its owner alone."""
    partial = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    partial.replace(path)
