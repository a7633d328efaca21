"""Linux systems without an OpenMP library get one beside the local model."""

import sys
import zipfile
from pathlib import Path

import pytest

from local.model import server
from tools.install import model, openmp, packages


def wheel(folder: Path, member: str) -> Path:
    path = folder / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", b"")
        archive.writestr(member, b"the library")
    return path


def test_library_is_written_under_the_name_that_loaders_look_for(tmp_path: Path) -> None:
    openmp.unpack(wheel(tmp_path, "package.libs/libgomp-0abc.so.1.0.0"), tmp_path)
    assert (tmp_path / "libgomp.so.1").read_bytes() == b"the library"


def test_wheel_without_a_library_is_refused_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(openmp.NoOpenMPError, match="Debian and Ubuntu: libgomp1"):
        openmp.unpack(wheel(tmp_path, "package.libs/libother.so"), tmp_path)


def test_system_with_a_library_downloads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openmp, "is_missing", lambda: False)
    openmp.install(tmp_path / "lib")
    assert not (tmp_path / "lib").exists()


def test_system_without_a_library_downloads_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads = []

    def download(requirements: Path, folder: Path, *, title: str) -> None:
        downloads.append((requirements.name, title))
        wheel(folder, "package.libs/libgomp-0abc.so.1.0.0")

    monkeypatch.setattr(openmp, "is_missing", lambda: True)
    monkeypatch.setattr(packages, "download", download)
    openmp.install(tmp_path)
    openmp.install(tmp_path)
    assert downloads == [("openmp.txt", "setup: the OpenMP library")]
    assert [path.name for path in tmp_path.iterdir()] == ["libgomp.so.1"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux names it so")
def test_library_that_no_folder_has_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmp, "LIBRARY", "libgomp-of-no-folder.so.1")
    assert openmp.is_missing()


def test_model_looks_for_libraries_where_they_are_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert model.LIBRARIES == server.LIBRARIES
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert server.library_path() == str(server.LIBRARIES)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    assert server.library_path() == f"/opt/lib:{server.LIBRARIES}"
