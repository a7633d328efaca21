"""The steps of a start: each is named when it begins, and again while it goes on."""

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local.config import Config
from local.stack import Stack
from local.steps import Steps
from local.template import ROOT
from tests.support.template import deployed_template
from tools.install import data_files, packages

SECONDS = 10.0
HEAVY = ("pydantic", "yaml", "skein")


def wait_for(output: io.StringIO, words: str) -> None:
    give_up = time.monotonic() + SECONDS
    while words not in output.getvalue():
        assert time.monotonic() < give_up, output.getvalue()
        time.sleep(0.005)


def test_step_that_takes_long_is_named_again_until_the_next_one_begins() -> None:
    output = io.StringIO()
    with Steps("setup", output=output, every=0.01) as steps:
        steps.begin("unpacking 60 packages")
        wait_for(output, "setup: still unpacking 60 packages, for 0 s\n")
        steps.begin("installing")
        wait_for(output, "setup: still installing, for 0 s\n")
    lines = output.getvalue().splitlines()
    assert lines[0] == "setup: unpacking 60 packages"
    assert "unpacking" not in "".join(lines[lines.index("setup: installing") :])


def test_ended_steps_print_nothing_more() -> None:
    output = io.StringIO()
    steps = Steps("skein", output=output, every=0.01)
    steps.begin("opening the data")
    steps.end()
    printed = output.getvalue()
    time.sleep(0.05)
    assert output.getvalue() == printed
    steps.end()


def test_steps_need_only_the_standard_library() -> None:
    code = f"import sys, local.steps; print(*sorted(set({HEAVY!r}) & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_start_of_the_stack_names_its_steps(tmp_path: Path) -> None:
    named: list[str] = []
    config = Config(port=0, data_dir=tmp_path / "data", openai_base_url="http://127.0.0.1:9/v1")
    with Stack(config, template=deployed_template(), step=named.append):
        assert named[0] == "opening the data"
        assert "loading the functions" in named


def test_setup_names_the_environment_and_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requirements, stamp = tmp_path / "run.txt", tmp_path / "stamp"
    requirements.touch()
    collected = "print('Collecting pydantic==2.1 (from x)')"
    monkeypatch.setattr(packages, "pip", lambda: [sys.executable, "-c", collected])
    monkeypatch.setattr(packages, "make_environment", lambda folder: folder / "bin" / "python")
    packages.install(tmp_path / ".venv", requirements, stamp)
    assert capsys.readouterr().out.splitlines() == [
        "setup: creating .venv",
        "setup: installing run.txt",
        "setup: downloading pydantic 2.1",
    ]
    assert stamp.exists()


def test_setup_names_the_data_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(data_files, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(packages, "download", lambda requirements, folder: [])
    data_files.install([])
    assert capsys.readouterr().out.startswith("setup: downloading the token ranks")
