"""Checks the unzipped size of the layer and of each function with it, and their binaries.

`python -m tools.deployment.size` measures the output of `sam build` in `.aws-sam/build`, and fails
if a size exceeds our limit. Lambda's own limit is 250 MB; ours are lower, because more code makes
cold starts slower. The check also fails if a binary is for another processor, or needs a newer C
library than Lambda has.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from local.template import Template

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / ".aws-sam" / "build" / "template.yaml"
LAYER_LIMIT = 110_000_000
LIMIT = 135_000_000  # of a function with its layer
ELF, AARCH64 = b"\x7fELF", 183  # the machine in the header of a binary
GLIBC = (2, 34)  # of Amazon Linux 2023, on which Lambda's Python 3.13 runs


def folder_bytes(folder: Path) -> int:
    """Return the total size of a folder's files in bytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def layer_bytes(template: Template) -> int:
    """Return the unzipped size of all layers in bytes."""
    return sum(
        folder_bytes(template.root / properties["ContentUri"])
        for _, properties in template.resources("AWS::Serverless::LayerVersion")
    )


def function_bytes(template: Template) -> dict[str, int]:
    """Return the unzipped size of each function with all layers, in bytes, by logical id."""
    layers = layer_bytes(template)
    return {
        function.logical_id: folder_bytes(function.code) + layers for function in template.functions
    }


def too_large(template: Template) -> Iterator[str]:
    """Yield a sentence for each size that exceeds its limit."""
    limits = {"The layer": (layer_bytes(template), LAYER_LIMIT)} | {
        f"{name} with its layer": (size, LIMIT) for name, size in function_bytes(template).items()
    }
    for name, (size, limit) in limits.items():
        if size > limit:
            yield f"{name} has {size / 1e6:.1f} MB, more than {limit / 1e6:.0f}"


def wrong_binaries(folder: Path) -> Iterator[str]:
    """Yield a sentence for each binary in a folder that doesn't fit Lambda's arm64 or C library."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if not content.startswith(ELF):
            continue
        machine = int.from_bytes(content[18:20], "little")
        if machine != AARCH64:
            yield f"{path.name} is for the processor {machine}, not arm64 ({AARCH64})"
        needed = [(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", content)]
        if max(needed, default=GLIBC) > GLIBC:
            yield f"{path.name} needs glibc {'.'.join(map(str, max(needed)))}"


def main() -> int:
    """Print the size of each built function.

    Returns:
        The exit status: 0 if no size exceeds its limit and all binaries run on Lambda's
        processor, 1 if not, 2 if there is no build.
    """
    if not BUILT.is_file():
        print("size: no build found; run `make build`", file=sys.stderr)
        return 2
    built = Template.load(BUILT)
    print(f"{'layer':<18}{layer_bytes(built) / 1e6:7.1f} MB")
    for name, size in function_bytes(built).items():
        print(f"{name:<18}{size / 1e6:7.1f} MB with its layer")
    wrong = [*too_large(built), *wrong_binaries(BUILT.parent)]
    print("\n".join(wrong) or "no limit is exceeded; all binaries fit arm64 and Lambda's C library")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
