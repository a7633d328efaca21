"""The installer: what is current stays, one installation runs at a time, and progress moves."""

import io
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.install import packages
from tools.quality import run_cost


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Install nothing; the arguments of pip."""
    calls: list[tuple[str, ...]] = []

    def run_pip(*arguments: str, note: object, title: str) -> None:
        time.sleep(0.05)
        calls.append(arguments)

    monkeypatch.setattr(packages, "LOCK", tmp_path / "cache" / "install.lock")
    monkeypatch.setattr(packages, "ROOT", tmp_path)
    monkeypatch.setattr(packages, "run_pip", run_pip)
    (tmp_path / "run.txt").write_text("one==1 \\\n")
    return calls


def test_install_two_at_once_install_one_time(
    installed: list[tuple[str, ...]], tmp_path: Path
) -> None:
    arguments = tmp_path / "venv", tmp_path / "run.txt", tmp_path / "venv" / ".installed"
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(packages.install, *arguments) for _ in range(2)]:
            done.result()
    [call] = installed
    assert call[:2] == ("--python", str(tmp_path / "venv" / "bin" / "python"))
    assert packages.is_current(arguments[2], arguments[1])


def test_install_changed_list_is_installed_again(
    installed: list[tuple[str, ...]], tmp_path: Path
) -> None:
    arguments = tmp_path / "venv", tmp_path / "run.txt", tmp_path / "venv" / ".installed"
    packages.install(*arguments)
    later = time.time() + 60
    os.utime(arguments[1], (later, later))
    packages.install(*arguments)
    assert len(installed) == 2


def test_make_environment_replaces_a_broken_one_and_keeps_a_working_one(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(tmp_path / "gone")
    assert packages.make_environment(tmp_path / "venv") == python
    (tmp_path / "venv" / "mine").touch()
    packages.make_environment(tmp_path / "venv")
    assert (tmp_path / "venv" / "mine").exists()
    assert packages.version_of(python) == ".".join(map(str, sys.version_info[:2]))


def test_run_pip_failure_raises_its_output() -> None:
    with pytest.raises(packages.InstallError, match="no such option: --no-such"):
        packages.run_pip("download", "--no-such", note=lambda _: "", title="setup")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_show_progress_on_a_terminal_rewrites_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "POLL_SECONDS", 0)
    ends, texts, output = iter([None, None, 0]), iter("abc"), Terminal()
    packages.show_progress(lambda: next(ends), lambda: next(texts), output)
    assert output.getvalue() == "\ra, 0 s\x1b[K\rb, 0 s\x1b[K\rc, 0 s\x1b[K\n"


def test_show_progress_in_a_log_writes_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "POLL_SECONDS", 0)
    ends, output = iter([None, None, 0]), io.StringIO()
    packages.show_progress(lambda: next(ends), lambda: "a", output)
    assert output.getvalue() == "a, 0 s\n"


def test_one_at_a_time_waits_for_another_installation(
    installed: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[str] = []

    def second() -> None:
        with packages.one_at_a_time():
            order.append("second")

    with packages.one_at_a_time():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert capsys.readouterr().out == "setup: waiting for another installation\n"


def test_package_bytes_counts_a_package_with_its_bytecode() -> None:
    sizes = run_cost.package_bytes(["pydantic", "no-such-package"])
    assert list(sizes) == ["pydantic"]
    assert sizes["pydantic"] > 1_000_000
    assert "openai" in run_cost.names_in(run_cost.REQUIREMENTS)
