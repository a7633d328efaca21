"""The port of a stack: a taken one is found before an installation, or the next one is used."""

import fcntl
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.config import Config
from local.errors import PortInUseError
from local.greeting import port_lines
from local.stack import Stack
from tools.install import port as check


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is in use; the next one may be, too."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@pytest.mark.parametrize("in_use", [False, True])
def test_taken_default_port_fails_before_the_installation_only_if_the_data_are_in_use(
    taken: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, in_use: bool
) -> None:
    monkeypatch.setattr(check, "DEFAULT_PORT", str(taken))
    with (tmp_path / "lock").open("w") as lock:
        if in_use:
            fcntl.flock(lock, fcntl.LOCK_EX)
        found = check.problem({"SKEIN_DATA_DIR": str(tmp_path)})
    assert (found is not None) is in_use
    assert f"another stack uses {tmp_path}" in (found or f"another stack uses {tmp_path}")
    assert check.problem({"SKEIN_DATA_DIR": str(tmp_path / "missing")}) is None


def test_taken_chosen_port_fails_before_the_installation(taken: int) -> None:
    assert check.problem({"SKEIN_PORT": str(taken)}) == (
        f"port {taken} is in use: choose another, with SKEIN_PORT or --port"
    )
    assert check.problem({"SKEIN_PORT": "0"}) is None


def test_next_free_port_is_used_with_a_clear_line_if_the_user_chose_none(
    taken: int, tmp_path: Path
) -> None:
    stack = Stack(Config(port=taken, next_port=True, data_dir=tmp_path))
    server = stack.listen()
    port = server.port
    server.stop()
    assert taken < port < taken + 10
    stack.url = f"http://127.0.0.1:{port}"
    assert f"{port}, because {taken} is in use" in port_lines(stack)
    assert f"export SKEIN_URL={stack.url}" in port_lines(stack)
    with pytest.raises(PortInUseError):
        Stack(Config(port=taken, data_dir=tmp_path)).listen()
