"""Installer of locked requirements into virtual environments, with progress.

`python -m tools.install.packages <environment> <list> <stamp>` creates the environment if
necessary, installs the list and touches the stamp. Installations run one at a time, so that two
`make` at once do not disturb each other. The module needs only the standard library and pip.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / ".cache" / "install.lock"
OLDEST = (3, 11)
POLL_SECONDS = 0.2
LINE_SECONDS = 5.0  # between two lines where a line cannot be rewritten, as in the log of a CI
MB = 1_000_000


class InstallError(RuntimeError):
    """pip failed or is missing; the message is for the user."""


def pip() -> list[str]:
    """Return the command of a pip that can install into any environment.

    The environments here have no pip of their own. If one of them is active, the pip of the Python
    that it was created from is used.

    Raises:
        InstallError: There is no pip.
    """
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if sys.prefix != sys.base_prefix:
        for name in ("python3", "python"):
            base = Path(sys.base_prefix) / "bin" / name
            if base.exists():
                return [str(base), "-m", "pip"]
    raise InstallError(f"{sys.executable} has no pip: install it, for example as python3-pip")


def run_pip(*arguments: str, note: Callable[[Path], str], title: str) -> None:
    """Run pip, and show a line about its progress until it ends.

    Args:
        arguments: The arguments of pip.
        note: Returns a text about the progress; it is given the folder of pip's temporary files.
        title: The beginning of the line.

    Raises:
        InstallError: pip failed; the message is its output.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [*pip(), *arguments],
            env={**os.environ, "TMPDIR": folder, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            show_progress(process.poll, lambda: f"{title}: {note(Path(folder))}", sys.stdout)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            output.seek(0)
            raise InstallError(output.read().strip())


def show_progress(done: Callable[[], object], text: Callable[[], str], to: TextIO) -> None:
    """Show a text and the seconds so far until `done()` is not None.

    A terminal shows one line that changes. Other outputs get a line every five seconds.
    """
    started = time.monotonic()
    moving, shown = to.isatty(), 0.0
    while True:
        ended = done() is not None
        seconds = time.monotonic() - started
        if moving or ended or seconds - shown >= LINE_SECONDS:
            shown = seconds
            start, end = ("\r", "\x1b[K") if moving else ("", "\n")
            to.write(f"{start}{text()}, {seconds:.0f} s{end}")
            to.flush()
        if ended:
            break
        time.sleep(POLL_SECONDS)
    if moving:
        to.write("\n")
        to.flush()


def install(environment: Path, requirements: Path, stamp: Path) -> None:
    """Install a list into an environment, unless its stamp is newer than the list.

    Raises:
        InstallError: pip failed.
    """
    with one_at_a_time():
        if is_current(stamp, requirements):
            return
        python = make_environment(environment)
        site = python.parent.parent / "lib" / f"python{version_of(python)}" / "site-packages"
        downloaded = 0

        def note(downloads: Path) -> str:
            nonlocal downloaded
            downloaded = max(downloaded, bytes_in(downloads))
            installed = sum(1 for _ in site.glob("*.dist-info"))
            return f"downloaded {downloaded / MB:.0f} MB, installed {installed} packages"

        # The list is complete and hashed, so pip resolves nothing. Python compiles a module at its
        # first import, which takes half of the space and time of compiling all.
        run_pip(
            *("--python", str(python), "install", "-q", "--no-deps", "--require-hashes"),
            *("--no-compile", "-r", str(requirements)),
            note=note,
            title=f"setup: {requirements.relative_to(ROOT)}",
        )
        stamp.touch()


def download(requirements: Path, folder: Path, *, title: str) -> None:
    """Download the packages of a list into a folder.

    Raises:
        InstallError: pip failed.
    """
    downloaded = 0

    def note(downloads: Path) -> str:
        nonlocal downloaded
        downloaded = max(downloaded, bytes_in(downloads) + bytes_in(folder))
        return f"downloaded {downloaded / MB:.0f} MB"

    run_pip(
        *("download", "-q", "--no-deps", "--only-binary=:all:", "--require-hashes"),
        *("-r", str(requirements), "--dest", str(folder)),
        note=note,
        title=title,
    )


def is_current(stamp: Path, requirements: Path) -> bool:
    """Return whether a stamp is newer than its list."""
    try:
        return stamp.stat().st_mtime_ns >= requirements.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def make_environment(folder: Path) -> Path:
    """Create a virtual environment unless a usable one exists; return its Python."""
    python = folder / "bin" / "python"
    if version_of(python) == "":
        print(f"setup: creating {folder}", flush=True)
        venv.create(folder, clear=True, symlinks=True)
    return python


def version_of(python: Path) -> str:
    """Return the version of a Python, such as `3.11`; "" if it is broken or too old."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [str(python), "-c", program], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    version = done.stdout.strip()
    return version if tuple(map(int, version.split("."))) >= OLDEST else ""


def bytes_in(folder: Path) -> int:
    """Return the size of all files in a folder, which may change meanwhile, in bytes."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue  # deleted since it was listed
    return total


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other installation runs, and hold off others."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("setup: waiting for another installation", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def report_errors(action: Callable[[], None]) -> int:
    """Do something, report its `InstallError`, and return the exit status."""
    try:
        action()
    except InstallError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def main(arguments: Sequence[str]) -> int:
    """Install a list; return the exit status."""
    environment, requirements, stamp = (Path(argument).absolute() for argument in arguments)
    return report_errors(lambda: install(environment, requirements, stamp))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
