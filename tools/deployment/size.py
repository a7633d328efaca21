"""Check of the unzipped size of each function with its layer.

`python -m tools.deployment.size` measures the output of `sam build` in `.aws-sam/build` and fails
above the limit. Lambda's own limit is 250 MB. Ours is lower, because larger code makes cold starts
slower.
"""

import sys
from pathlib import Path

from local.template import Template

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / ".aws-sam" / "build" / "template.yaml"
LIMIT = 150_000_000


def folder_bytes(folder: Path) -> int:
    """Return the total size of a folder's files in bytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def function_bytes(template: Template) -> dict[str, int]:
    """Return the unzipped size of each function with all layers, in bytes by logical id."""
    layers = sum(
        folder_bytes(template.root / properties["ContentUri"])
        for _, properties in template.resources("AWS::Serverless::LayerVersion")
    )
    return {
        function.logical_id: folder_bytes(function.code) + layers for function in template.functions
    }


def main() -> int:
    """Print the size of each built function.

    Returns:
        The exit status: 0 if all sizes are below the limit, 1 if not, 2 if there is no build.
    """
    if not BUILT.is_file():
        print("size: no build found; run `make build`", file=sys.stderr)
        return 2
    sizes = function_bytes(Template.load(BUILT))
    for name, size in sizes.items():
        verdict = "" if size < LIMIT else f"  above {LIMIT / 1e6:.0f} MB"
        print(f"{name:<14}{size / 1e6:7.1f} MB with its layer{verdict}")
    return int(any(size >= LIMIT for size in sizes.values()))


if __name__ == "__main__":
    sys.exit(main())
