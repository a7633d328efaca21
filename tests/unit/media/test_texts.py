"""The whole text of a file, which `read_document` reads by the id of the file."""

from typing import Any

import pytest

from skein.models.common.storage import Update
from tests.support.agents import COACH, HUSAM, results_of, settle, stage, the_run
from tests.support.builders import World
from tests.support.fakes import calls
from tests.support.media import send_file
from tests.support.template import running

REFUSED = ("failed", "error: no message of this chat has a file of this id with a text")


def _sent(chat_id: str = "chat_1", **reads: Any) -> World:
    """Return a world in which a person has sent a PDF, and the agent reads it in `chat_1`."""
    world = stage(calls(("read_document", {"name": "med_1", **reads})))
    private: dict[str, Any] = {"kind": "direct", "visibility": "private"}
    world.chat(HUSAM, COACH, **private)
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="manual", **private)
    pdf: dict[str, Any] = {
        "content_type": "application/pdf",
        "excerpt": "One",
        "characters": 30_000,
    }
    file = send_file(world, HUSAM, chat_id=chat_id, **pdf)
    if chat_id != "chat_1":
        world.post("What does it say?", HUSAM)
    with running("UpkeepWorker"):
        world.files.put(file.text_name, b"One\n" + b"x" * 29_996, "text/plain")
    return world


def _read(world: World) -> tuple[str, str]:
    world.clock.advance(20)  # the answer waits so long for a file that is not ready
    settle(world)
    [result] = [one for one in results_of(world, the_run(world)) if one.name == "read_document"]
    return result.status, result.content


def test_agent_reads_on_in_a_file_of_the_active_chat() -> None:
    status, text = _read(_sent(offset=2))
    assert status == "done"
    head, note, first, *_, cut = text.splitlines()
    assert (head, note) == (
        "=== med_1 (application/pdf) ===",
        "[from character 2 on, within a line]",
    )
    assert first == "| e"
    assert cut.startswith("[cut: 19,998 of 30,000 characters are missing; read on with")


def test_reading_beyond_the_end_is_corrected() -> None:
    assert _read(_sent(offset=30_001)) == (
        "correctable",
        "error: it has 30,000 characters",
    )


@pytest.mark.parametrize("gone", ["text", "message", "file", "elsewhere"])
def test_file_that_the_agent_may_not_see_is_refused(gone: str) -> None:
    world = _sent(chat_id="chat_2" if gone == "elsewhere" else "chat_1")
    if gone == "text":
        world.files.contents.clear()
    elif gone == "message":
        message = world.messages()[0]
        world.table.write(Update(message.key, set={"files": None}))
    elif gone == "file":
        world.clock.advance(31 * 86_400)
    assert _read(world) == REFUSED
