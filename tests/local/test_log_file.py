"""The log of the local stack: rotation, the names of functions, and no text of a message."""

import io
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from local.events import Event
from local.functions import Functions, Handler
from local.log_file import FILE_NAME, LogFile, log_in, set_up_logs
from local.message_log import MessageLog, show_sms_received
from local.model.reporting import ModelApi, ReportingModel
from skein import logs
from skein.errors import Unreachable
from skein.models.common.base import NamedMember
from skein.models.runs.completion import ModelRequest
from tests.fakes.table import MemoryTable
from tests.support.builders import LINE, PHONE, World, bot, person
from tests.support.functions import a_function
from tests.support.routes import sms_route

ACCOUNT = "AC0123"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[io.StringIO, Path]]:
    """The terminal, and the path of the log file."""
    console = io.StringIO()
    logger = logging.getLogger("local")
    before = list(logger.handlers)
    with log_in(tmp_path) as file:
        set_up_logs(console, file)
        yield console, tmp_path / FILE_NAME
        logger.handlers[:] = before


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_log_file_second_start_keeps_the_lines_of_the_first(tmp_path: Path) -> None:
    for start in ("first", "second"):
        with log_in(tmp_path) as log:
            log.write(f"{start}\n")
    assert read(tmp_path / FILE_NAME) == "first\nsecond\n"


def test_log_file_over_its_limit_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with LogFile(path, max_bytes=100) as log:
        for number in range(12):
            log.write(f"line {number:02} of twenty bytes\n")
    files = sorted(each.name for each in tmp_path.iterdir())
    assert files == [FILE_NAME, *(f"{FILE_NAME}.{n}" for n in (1, 2))]
    assert all(each.stat().st_size <= 100 for each in tmp_path.iterdir())
    assert "line 11" in read(path)


def test_log_file_limit_is_ten_megabytes(tmp_path: Path) -> None:
    with log_in(tmp_path) as log:
        assert log._file.maxBytes == 10_000_000
        assert log._file.backupCount > 0


def test_log_file_threads_that_print_parts_of_lines_never_mix_them(tmp_path: Path) -> None:
    with log_in(tmp_path) as log:

        def print_lines(letter: str) -> None:
            for _ in range(200):
                print(letter * 10, end="", file=log)
                print(letter * 10, file=log)

        threads = [threading.Thread(target=print_lines, args=(letter,)) for letter in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = read(tmp_path / FILE_NAME).splitlines()
    assert sorted(lines) == sorted(letter * 20 for letter in "abc" for _ in range(200))


def test_functions_at_the_same_time_log_their_own_names(
    monkeypatch: pytest.MonkeyPatch, log: tuple[io.StringIO, Path]
) -> None:
    functions = Functions([])
    both = threading.Barrier(2, timeout=10)
    stream = io.StringIO()
    logs._configured()
    ours = logging.getLogger("skein")
    [handler] = [each for each in ours.handlers if isinstance(each, logging.StreamHandler)]
    monkeypatch.setattr(handler, "stream", stream)
    monkeypatch.setattr(ours, "level", logging.INFO)

    class Down:
        def complete(self, _: ModelRequest) -> Any:
            raise Unreachable("connection refused")

        def stream(self, request: ModelRequest, heard: Any) -> Any:
            return self.complete(request)

    model = ReportingModel(Down(), ModelApi("http://127.0.0.1:9/v1", "m", "m"))
    ask = ModelRequest(model="m", messages=(), max_output_tokens=1, timeout_seconds=1)

    @logs.logged
    def handler_of(event: Event, _: Any) -> None:
        both.wait()
        logging.getLogger("skein.tests").info("working", extra={"expected": event["name"]})
        both.wait()
        with pytest.raises(Unreachable):
            model.complete(ask)

    names = ("RunWorker", "Tick")
    for name in names:
        monkeypatch.setitem(functions._handlers, name, cast("Handler", handler_of))
    threads = [
        threading.Thread(target=functions.invoke, args=(a_function(name), {"name": name}))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert sorted(line["function_name"] for line in lines) == sorted(names)
    assert all(line["function_name"] == line["expected"] for line in lines)
    own = [line.split()[3] for line in read(log[1]).splitlines()]
    assert sorted(own) == sorted(names)


def test_log_line_outside_a_function_has_no_function_name(log: tuple[io.StringIO, Path]) -> None:
    logging.getLogger("local.stack").warning("call from %s", "+15005550100")
    assert " WARNING - local.stack call from +1500***0100" in read(log[1])


def test_terminal_shows_sms_and_the_file_does_not(log: tuple[io.StringIO, Path]) -> None:
    show_sms_received("+15005550100", "+15005550006", "Which\nexercise?")
    console, path = log
    [line] = console.getvalue().splitlines()
    assert line.endswith("sms   +15005550100 -> +15005550006  Which exercise?")
    assert read(path) == ""


def watched() -> World:
    """A world whose new messages are shown."""
    table = MemoryTable()
    world = World(overrides={"table": MessageLog(table, ACCOUNT)})
    table._clock, world.table = world.clock, table
    return world


@pytest.mark.parametrize(
    ("sender", "name"), [(person(), "Husam"), (bot(), "Coach")], ids=["to the app", "from the app"]
)
def test_terminal_shows_app_message_once_and_the_file_does_not(
    sender: NamedMember, name: str, log: tuple[io.StringIO, Path]
) -> None:
    world = watched()
    world.chat(person(), bot())
    for _ in range(2):  # the second is a repetition
        world.post("Morning run?", sender, client_id="1")
    console, path = log
    [line] = console.getvalue().splitlines()
    assert line.endswith(f"app   {name} -> chat_1  Morning run?")
    assert read(path) == ""


def test_terminal_leaves_sms_to_the_lines_about_sms(log: tuple[io.StringIO, Path]) -> None:
    world = watched()
    world.chat(
        person(),
        bot(),
        kind="direct",
        visibility="private",
        route=sms_route(line=LINE, phone=PHONE),
    )
    world.post("A run at seven?", bot())
    assert len(world.deliveries()) == 1
    world.post("Yes.", person(), client_id=f"{ACCOUNT}:SM1")
    assert log[0].getvalue() == ""
