"""Builder of the Lambda layer: the package, its dependencies, the prompts and the ranks.

`python -m tools.layer <folder>` fills the folder that becomes `/opt`. Dependencies are installed
for the functions' platform, not for this machine, and cached until their pins change. The module
needs only the standard library and pip.
"""

import compileall
import hashlib
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import packages
from tools.ranks import RANKS

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "runtime.txt"
CACHE = ROOT / ".cache" / "layer"
TEMPLATE = ROOT / "template.yaml"

# Lambda's Python 3.11 runs on Amazon Linux 2 with glibc 2.26, so manylinux_2_17 wheels work.
PLATFORMS = ("manylinux_2_17_aarch64", "manylinux2014_aarch64")

# The domain of Twilio's REST client that sends and finds messages. The client loads each domain on
# demand, so the others can be deleted.
TWILIO_DOMAINS = ("api",)

# Parts of packages that are only for tests, compilation, type checks or uninstallation.
DEAD_FOLDERS = ("tests", "test", "__pycache__")
DEAD_FILES = ("*.pyi", "*.c", "*.h", "*.pyx", "*.pxd", "*.pyc")
DEAD_METADATA = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


class BadTemplateError(RuntimeError):
    """The template does not name exactly one Python runtime."""


def runtime_version(template: str) -> str:
    """Return the Python version of the template's runtime, such as `3.11`.

    Raises:
        BadTemplateError: The template names no runtime or more than one.
    """
    versions = re.findall(r"^\s*Runtime:\s*python([0-9.]+)\s*$", template, re.MULTILINE)
    if len(versions) != 1:
        raise BadTemplateError(f"the template must name one runtime, not {len(versions)}")
    return str(versions[0])


def prune(site: Path) -> None:
    """Delete the files of installed packages that no function reads."""
    for name in DEAD_FOLDERS:
        for folder in list(site.rglob(name)):
            shutil.rmtree(folder, ignore_errors=True)
    for pattern in DEAD_FILES:
        for file in list(site.rglob(pattern)):
            file.unlink()
    for info in site.glob("*.dist-info"):
        for name in DEAD_METADATA:
            (info / name).unlink(missing_ok=True)
    shutil.rmtree(site / "bin", ignore_errors=True)
    for domain in (site / "twilio" / "rest").iterdir():
        if domain.is_dir() and domain.name not in TWILIO_DOMAINS:
            shutil.rmtree(domain)


def compile_bytecode(site: Path, version: str) -> None:
    """Compile a folder that becomes `/opt/python`, where Lambda cannot write bytecode.

    The bytecode contains a hash of the source instead of a time, and the hash is never checked.
    Builds are therefore reproducible. If this Python's version is not `version`, no bytecode is
    written, because Lambda would ignore it.
    """
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if here != version:
        print(f"layer: no bytecode, because this is Python {here}; cold starts will be slower")
        return
    compileall.compile_dir(
        site,
        quiet=2,
        stripdir=str(site),
        prependdir="/opt/python",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def dependencies(version: str) -> Path:
    """Install the dependencies for Lambda, unless cached, and return their folder."""
    key = hashlib.sha256()
    for part in (REQUIREMENTS.read_bytes(), Path(__file__).read_bytes(), sys.version.encode()):
        key.update(part)
    target = CACHE / key.hexdigest()[:16]
    if target.is_dir():
        return target
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        site = Path(folder) / "python"
        subprocess.run(
            [
                *(*packages.pip(), "install", "-qq"),
                *("--disable-pip-version-check", "--no-deps", "--no-compile"),
                *("--only-binary=:all:", "--implementation", "cp", "--python-version", version),
                *(option for platform in PLATFORMS for option in ("--platform", platform)),
                *("--require-hashes", "-r", str(REQUIREMENTS), "--target", str(site)),
            ],
            check=True,
        )
        prune(site)
        compile_bytecode(site, version)
        os.replace(site, target)
    return target


def build(target: Path) -> None:
    """Build the layer in `target`, which becomes `/opt`."""
    version = runtime_version(TEMPLATE.read_text(encoding="utf-8"))
    site = target / "python"
    shutil.copytree(dependencies(version), site, dirs_exist_ok=True)
    shutil.copytree(
        ROOT / "shared" / "skein",
        site / "skein",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    compile_bytecode(site / "skein", version)
    shutil.copytree(ROOT / "prompts", target / "prompts", dirs_exist_ok=True)
    (target / "tiktoken").mkdir(parents=True, exist_ok=True)
    if not all(file.is_file() for file in RANKS.targets):
        RANKS.install()
    for file in RANKS.targets:
        shutil.copy(file, target / "tiktoken")


if __name__ == "__main__":
    sys.exit(packages.report_errors(lambda: build(Path(sys.argv[1]).resolve())))
