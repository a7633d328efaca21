"""Installs locked requirements into virtual environments, with pip.

`python -m tools.install.packages <environment> <list> <stamp>` creates the environment if
necessary, installs the requirements in the list, and touches the file `<stamp>`. The module needs
only the standard library and pip.
"""

import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from local.steps import Steps

ROOT = Path(__file__).resolve().parents[2]


class InstallError(RuntimeError):
    """pip failed or is missing, or a package is wrong; the message is for the user."""


def pip() -> list[str]:
    """Return the command of a pip that can install into any environment.

    The project's environments have no pip of their own. If one of them is active, the pip of the
    Python from which it was created is used.

    Raises:
        InstallError: No pip is installed.
    """
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if sys.prefix != sys.base_prefix:
        for name in ("python3", "python", f"python3.{sys.version_info.minor}"):
            base = Path(sys.base_prefix) / "bin" / name
            if base.exists():
                return [str(base), "-m", "pip"]
    raise InstallError(f"{sys.executable} has no pip: install it, for example as python3-pip")


def run_pip(*arguments: str) -> None:
    """Run pip.

    Raises:
        InstallError: pip failed; it has printed the reason.
    """
    done = subprocess.run([*pip(), "--disable-pip-version-check", *arguments], check=False)
    if done.returncode != 0:
        raise InstallError(f"pip failed: {' '.join(arguments)}")


def install(environment: Path, requirements: Path, stamp: Path) -> None:
    """Install the requirements in a list into an environment, and touch the stamp file.

    Raises:
        InstallError: pip failed.
    """
    with Steps("setup") as steps:
        steps.begin(f"creating {environment.name}")
        python = make_environment(environment)
        steps.begin(f"installing {requirements.name}")
        # The list is complete and hashed, so pip resolves nothing. Python compiles a module at its
        # first import, which takes half of the space and time of compiling all.
        command = (
            *(*pip(), "--disable-pip-version-check", "--python", str(python)),
            *("install", "--no-deps", "--require-hashes", "--no-compile", "--progress-bar", "off"),
            *("-r", str(requirements)),
        )
        status = _run(command, steps)
    if status != 0:
        raise InstallError(f"pip failed: install -r {requirements}")
    stamp.touch()


def _run(command: Sequence[str], steps: Steps) -> int:
    """Run pip, print the steps that its output shows, and return its exit status."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            step = step_of(line)
            if step is not None:
                steps.begin(step)
    return running.returncode


def step_of(line: str) -> str | None:
    """Return the step that begins with this line of pip's output; None for any other line."""
    match line.split():
        case ["Collecting", requirement, *_]:
            return f"downloading {requirement.replace('==', ' ')}"
        case ["Installing", "collected", "packages:", *names]:
            return f"unpacking {len(names)} packages"
    return None


def download(requirements: Path, folder: Path) -> list[Path]:
    """Download the packages in a list into a folder, and return their wheels.

    pip shows the progress, because the files are large.

    Raises:
        InstallError: pip failed.
    """
    run_pip(
        *("download", "--no-deps", "--only-binary=:all:", "--require-hashes"),
        *("-r", str(requirements), "--dest", str(folder)),
    )
    return sorted(folder.glob("*.whl"))


def make_environment(folder: Path) -> Path:
    """Create a virtual environment unless a usable one exists; return the path of its Python."""
    python = folder / "bin" / "python"
    try:
        subprocess.run([str(python), "-c", ""], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        venv.create(folder, clear=True, symlinks=True)
    return python


def report_errors(action: Callable[[], None]) -> int:
    """Call `action`, print the message of an `InstallError`, and return the exit status."""
    try:
        action()
    except InstallError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def main(arguments: Sequence[str]) -> int:
    """Install the requirements in a list; return the exit status."""
    environment, requirements, stamp = (Path(argument).absolute() for argument in arguments)
    return report_errors(lambda: install(environment, requirements, stamp))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
