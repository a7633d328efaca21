"""Installer of GNU's OpenMP library, which the local model's library needs.

Most Linux systems have `libgomp.so.1`. Minimal ones do not, and only root can add it there. For
them, the library is taken from a wheel that contains it, and is written beside the model.
"""

import ctypes
import os
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from tools.install import packages

REQUIREMENTS = packages.ROOT / "requirements" / "openmp.txt"
LIBRARY = "libgomp.so.1"


class NoOpenMPError(packages.InstallError):
    """The wheel contains no OpenMP library."""


def is_missing() -> bool:
    """Return whether this is a Linux system without an OpenMP library."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return True
    return False


def unpack(wheel: Path, folder: Path) -> None:
    """Write the library of a wheel, atomically, into a folder under the name that loaders look for.

    Raises:
        NoOpenMPError: The wheel contains no such library.
    """
    with zipfile.ZipFile(wheel) as archive:
        # Wheels add a hash to the names of the libraries that they contain.
        found = [
            name for name in archive.namelist() if PurePosixPath(name).name.startswith("libgomp")
        ]
        if not found:
            raise NoOpenMPError(
                f"{wheel.name} contains no {LIBRARY}: install it with your system's package"
                " manager (Debian and Ubuntu: libgomp1; Fedora: libgomp)"
            )
        written = folder / f"{LIBRARY}.part"
        written.write_bytes(archive.read(found[0]))
    os.replace(written, folder / LIBRARY)


def install(folder: Path) -> None:
    """Download the library into a folder, unless the system or the folder has it.

    Raises:
        InstallError: pip failed.
        NoOpenMPError: The wheel for this machine contains no OpenMP library.
    """
    if not is_missing() or (folder / LIBRARY).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        packages.download(REQUIREMENTS, Path(scratch), title="setup: the OpenMP library")
        (wheel,) = Path(scratch).glob("*.whl")
        unpack(wheel, folder)
