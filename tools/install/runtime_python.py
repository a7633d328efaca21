"""The Python of the Lambda runtime, to compile bytecode for Lambda and for the merge check.

`python -m tools.install.runtime_python [candidate ...]` prints the path of an interpreter with the
version of the template's runtime. If the machine has none, one is installed from Debian packages
into `.cache/`, without touching the system's own Python: apt resolves, verifies and downloads the
packages from the mirror that this machine uses. The packages bring their own C library, so they
also work on older releases. The module needs only the standard library, pip, apt and dpkg.
"""

import contextlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.deployment.layer import TEMPLATE, runtime_version
from tools.install import debian, packages

RELEASES = {"3.13": "trixie"}
PROBE = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"


class NoRuntimePythonError(packages.InstallError):
    """This machine has no Python of the runtime's version, and can't install one."""


def probe(python: str) -> tuple[str, str] | None:
    """Return the version and the real path of an interpreter; None if it does not start."""
    try:
        done = subprocess.run([python, "-c", PROBE], check=True, text=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    version, _, path = done.stdout.strip().partition(" ")
    return version, path


def find(candidates: Iterable[str], version: str) -> str | None:
    """Return the path of the first interpreter that has a version; None if none has.

    Args:
        candidates: Names or paths of interpreters to try first. After them, `python<version>` on
            the path and the interpreter from Debian packages are tried.
        version: The version, such as `3.13`.
    """
    for candidate in (*candidates, f"python{version}", str(python_of(version))):
        found = probe(candidate)
        if found is not None and found[0] == version:
            return found[1]
    return None


def python_of(version: str) -> Path:
    """Return the path of the interpreter from Debian packages, with symbolic links resolved."""
    folder = (packages.ROOT / ".cache").resolve() / f"python{version.replace('.', '')}"
    return folder / "usr" / "bin" / f"python{version}"


def install(version: str) -> Path:
    """Install Python in a version, and return the path of its interpreter.

    Raises:
        NoRuntimePythonError: No known Debian release has this version.
        NoPackageError: This machine can't download Debian packages.
    """
    release = RELEASES.get(version)
    if release is None:
        raise NoRuntimePythonError(f"no known release of Debian has Python {version}")
    python = python_of(version)
    target = python.parents[2]
    print(f"setup: Python {version} from Debian {release}", flush=True)
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        root = Path(name) / "root"
        needed = (f"python{version}", "python3-pip-whl", "patchelf")
        for archive in debian.download(Path(name) / "apt", release, needed):
            debian.command(["dpkg-deb", "--extract", str(archive), str(root)])
        relocate(root, target, version)
        [pip] = (root / "usr" / "share" / "python-wheels").glob("pip-*.whl")
        with zipfile.ZipFile(pip) as wheel:
            wheel.extractall(root / "usr" / "lib" / "python3" / "dist-packages")
        shutil.rmtree(target, ignore_errors=True)
        root.rename(target)
    debian.command([str(python), "-c", "import ctypes, sqlite3, ssl"])
    return python


def relocate(root: Path, target: Path, version: str) -> None:
    """Change the interpreter so that it finds its C library and other libraries in `target`."""
    [libraries] = (root / "usr" / "lib").glob(f"{platform.machine()}-linux-gnu*")
    [loader] = libraries.glob("ld-linux-*.so.*")
    home = target / libraries.relative_to(root)
    binaries = root / "usr" / "bin"
    python = binaries / f"python{version}"
    patchelf = [str(loader), "--library-path", str(libraries), str(binaries / "patchelf")]
    # In this order: patchelf 0.18 breaks a program whose interpreter it has changed before.
    debian.command([*patchelf, "--force-rpath", "--set-rpath", str(home), str(python)])
    debian.command([*patchelf, "--set-interpreter", str(home / loader.name), str(python)])
    for file in binaries.iterdir():
        if file != python:
            file.unlink()  # programs that were not relocated


def find_or_install(candidates: Iterable[str], version: str) -> str:
    """Return the path of an interpreter with a version; install one if there is none.

    Raises:
        NoRuntimePythonError: There is none, and none can be installed on this machine.
    """
    found = find(candidates, version)
    if found is not None:
        return found
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return str(install(version))
    except (NoRuntimePythonError, debian.NoPackageError) as error:
        raise NoRuntimePythonError(
            f"the build needs Python {version}, the runtime of the functions, and cannot install "
            f"it ({error}): install it, or name it: make build PYTHON=/path/to/python{version}"
        ) from error


def main(argv: Sequence[str]) -> int:
    """Print the path of the runtime's Python and return the exit status."""
    version = runtime_version(TEMPLATE.read_text(encoding="utf-8"))
    return packages.report_errors(lambda: print(find_or_install(argv, version)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
