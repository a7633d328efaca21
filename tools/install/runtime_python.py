"""Search for the Python of the Lambda runtime, so that builds contain bytecode that Lambda uses.

`python -m tools.install.runtime_python [candidate ...]` prints the path of an interpreter with the
version of the template's runtime. If the machine has none, it is installed from Debian's packages.
The module needs only the standard library and pip.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Sequence

from tools.deployment.layer import TEMPLATE, runtime_version
from tools.install import debian_python, packages

PROBE = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"


class NoRuntimePythonError(RuntimeError):
    """This machine has no Python of the runtime's version."""


def probe(python: str) -> tuple[str, str] | None:
    """Return the version and the real path of an interpreter; None if it does not start."""
    try:
        done = subprocess.run([python, "-c", PROBE], check=True, text=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    version, _, path = done.stdout.strip().partition(" ")
    return version, path


def find(candidates: Iterable[str], version: str) -> str | None:
    """Return the path of the first interpreter of a version; None if there is none.

    Args:
        candidates: Names or paths of interpreters, which come before `python<version>` on the path
            and the one from Debian's packages.
        version: The version, such as `3.13`.
    """
    own = str(debian_python.python_of(version))
    for candidate in (*candidates, f"python{version}", own):
        found = probe(candidate)
        if found is not None and found[0] == version:
            return found[1]
    return None


def find_or_install(candidates: Iterable[str], version: str) -> str:
    """Return the path of an interpreter of a version; install it if there is none.

    Raises:
        NoRuntimePythonError: There is none, and it cannot be installed here.
    """
    found = find(candidates, version)
    if found is not None:
        return found
    try:
        with contextlib.redirect_stdout(sys.stderr):
            installed = debian_python.install(version)
    except packages.InstallError as error:
        raise NoRuntimePythonError(
            f"the build needs Python {version}, the runtime of the functions, and cannot install "
            f"it ({error}): install it, or name it: make build PYTHON=/path/to/python{version}"
        ) from error
    return str(installed)


def main(argv: Sequence[str]) -> int:
    """Print the path of the runtime's Python and return the exit status."""
    try:
        print(find_or_install(argv, runtime_version(TEMPLATE.read_text(encoding="utf-8"))))
    except NoRuntimePythonError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
