"""Debian packages, downloaded without changing the system.

apt resolves, verifies and downloads the packages from the mirror that this machine uses. The module
needs only the standard library, apt and dpkg.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.install import packages

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
OS_RELEASE = Path("/etc/os-release")
TARGETS = ("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages")


class NoPackageError(packages.InstallError):
    """Debian packages can't be downloaded on this machine; the message says why."""


def download(folder: Path, release: str, names: Iterable[str]) -> list[Path]:
    """Download packages and all packages that they depend on; apt checks the signatures.

    Args:
        folder: The folder for the packages. It is empty or does not exist yet.
        release: The codename of a release, such as `trixie`.
        names: The names of the packages.

    Raises:
        NoPackageError: This machine has no source of Debian packages, or apt failed.
    """
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb") and KEYRING.is_file()):
        raise NoPackageError("this machine does not use Debian's packages")
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
    command([*apt, "install", "--yes", "--download-only", *names])
    return sorted((folder / "cache" / "archives").glob("*.deb"))


def codename(release_file: Path = OS_RELEASE) -> str | None:
    """Return the codename of this machine's Linux release, such as `bookworm`, if it has one."""
    text = release_file.read_text(encoding="utf-8") if release_file.is_file() else ""
    found = re.search(r"^VERSION_CODENAME=(\w+)$", text, re.MULTILINE)
    return found[1] if found else None


def mirror(release_file: Path = OS_RELEASE) -> str:
    """Return the URL from which this machine's apt gets Debian packages.

    Raises:
        NoPackageError: apt has no source for this machine's Debian release.
    """
    releases = {"stable", codename(release_file)}
    for line in command(TARGETS).splitlines():
        release, _, url = line.partition(" ")
        if release in releases and url:
            return url
    raise NoPackageError("apt has no source of Debian's packages")


def command(arguments: Sequence[str]) -> str:
    """Run a command and return its output.

    Raises:
        NoPackageError: The command failed; the message is its output.
    """
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoPackageError(f"{arguments[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
