"""Costs of `make run`: the size of the installed packages, and the time of a start.

`python -m tools.quality.run_cost` measures the packages of `requirements/run.txt` with their
compiled bytecode, and starts the stack twice on an empty data folder. It fails from 250 MB. Neither
the model's file nor the loading of the model is counted.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements" / "run.txt"
LIMIT = 250_000_000
SHOWN = 8  # the largest packages
MB = 1_000_000
NO_MODEL = "http://127.0.0.1:9/v1"  # so that no local model starts


class StartError(RuntimeError):
    """The stack did not start; the message is its output."""


def names_in(requirements: Path) -> list[str]:
    """Return the names of a list's packages."""
    text = requirements.read_text(encoding="utf-8")
    return re.findall(r"^([a-z0-9._-]+)(?:\[[^\]]*\])?==", text, re.MULTILINE)


def package_bytes(names: Iterable[str]) -> dict[str, int]:
    """Return the size of each installed package with its bytecode, in bytes by name."""
    sizes = {}
    for name in names:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue  # for another platform
        paths = {Path(str(file.locate())) for file in files}
        paths |= {Path(cache_from_source(str(path))) for path in paths if path.suffix == ".py"}
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file())
    return sizes


def start_once(data_dir: Path) -> tuple[float, float]:
    """Start and stop the stack.

    Returns:
        The seconds until the stack answers requests, and the CPU seconds of the whole process.

    Raises:
        StartError: The stack did not start.
    """
    before = _cpu_of_children()
    started = time.monotonic()
    settings = {"SKEIN_PORT": "0", "SKEIN_DATA_DIR": str(data_dir), "OPENAI_BASE_URL": NO_MODEL}
    with subprocess.Popen(
        [sys.executable, "-m", "local"],
        cwd=ROOT,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        output = ""
        for line in process.stdout or ():
            output += line
            if "http://127.0.0.1:" in line:
                break
        else:
            raise StartError(output)
        seconds = time.monotonic() - started
        process.terminate()
        process.communicate()
    return seconds, _cpu_of_children() - before


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print the costs; return 1 if the packages are too large."""
    sizes = package_bytes(names_in(REQUIREMENTS))
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)
    for name in largest[:SHOWN]:
        print(f"{name:<24}{sizes[name] / MB:6.1f} MB")
    total = sum(sizes.values())
    print(f"{len(sizes)} packages{total / MB:19.1f} MB")
    with tempfile.TemporaryDirectory() as folder:
        for which in ("first", "second"):
            seconds, cpu = start_once(Path(folder) / "data")
            print(
                f"{which} start: {seconds:.1f} s until it answers, {cpu:.1f} s of CPU until it ends"
            )
    if total >= LIMIT:
        print(f"run-cost: above {LIMIT / MB:.0f} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
