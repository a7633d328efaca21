"""The local stack and its tests run on Linux and macOS."""

import pytest

from local.template import ROOT

LINUX_ALONE = "/" + "proc/"  # the file system of processes


@pytest.mark.parametrize("folder", ["local", "tests", "tools"])
def test_code_for_linux_and_macos_reads_no_file_of_linux_alone(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    assert [str(file) for file in files if LINUX_ALONE in file.read_text("utf-8")] == []
