"""Files of npm packages, pinned by version and hash. Needs only the standard library and npm."""

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path


class ArchiveError(RuntimeError):
    """A package can't be fetched, or has another hash; the message is for the user."""


def install(package: str, sha256: str, members: Sequence[str], folder: Path) -> None:
    """Fetch a package from npm and unpack some of its files, unless they are already unpacked.

    No code of the package is run, and its dependencies are not installed.

    Args:
        package: The package and its version, such as `mermaid@11.17.2`.
        sha256: The hash of the package's archive.
        members: The files to unpack, as paths within the package.
        folder: The folder for the files. They are all put directly into this folder.

    Raises:
        ArchiveError: npm is not installed, or the package is missing or has another hash.
    """
    if all((folder / Path(member).name).exists() for member in members):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise ArchiveError(f"{package} is fetched with npm, and there is no npm here")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        packed = subprocess.run(
            [npm, "pack", package, "--pack-destination", scratch, "--silent"],
            capture_output=True,
            text=True,
            check=False,
        )
        archives = list(Path(scratch).glob("*.tgz"))
        if packed.returncode != 0 or len(archives) != 1:
            raise ArchiveError(f"npm could not fetch {package}: {packed.stderr.strip()}")
        found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
        if found != sha256:
            raise ArchiveError(f"{package} has SHA-256 {found}, not the pinned {sha256}")
        with tarfile.open(archives[0]) as tar:
            tar.extractall(scratch, filter="data")
        # A rename is atomic, so an interrupted installation leaves no half of a file.
        for member in members:
            (Path(scratch) / "package" / member).rename(folder / Path(member).name)
