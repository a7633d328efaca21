"""`send_message` with files: copies with provenance, for nobody who could not see the original."""

import json
from typing import Any

import pytest

from skein.agent.tools.send_message import FILES_STAY, WAITS_WITHOUT_FILES
from skein.models.chats.media import MediaFile
from skein.models.common.base import NamedMember
from skein.models.common.storage import Delete, Put
from skein.services.runs.debounce import MEDIA_SECONDS
from tests.support.agents import results_of, settle
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import Script, ScriptedModel, calls
from tests.support.media import PNG, stored

HUSAM, SARAH, COACH = person(), person("sarah", "Sarah"), bot()


def world_with(*script: Script, others: tuple[NamedMember, ...] = (HUSAM,), **agent: Any) -> World:
    """A direct chat in which Husam has sent a picture, and another private chat of the agent."""
    world = World(model=ScriptedModel.saying(*script, default="Done."))
    world.agent(enabled_tools=("send_message", "write_document", "read_document"), **agent)
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.chat(
        *others, COACH, chat_id="chat_2", title="Sales", respond="manual", visibility="private"
    )
    file = stored(world, sender=HUSAM, size=700_000, small_size=5, description="A lake.")
    message = world.post("Look", HUSAM, media=(file.named(),)).message
    known = file.model_copy(update={"seq": message.seq})
    world.table.write(Put(known.key, known.to_item()))
    answer(world)
    return world


def answer(world: World) -> None:
    """Let the agent answer; it has waited for the file."""
    settle(world)
    world.clock.advance(MEDIA_SECONDS + 1)
    world.tick()
    settle(world)


def sent(name: str = "1.1", **more: Any) -> Script:
    return calls(("send_message", {"text": "Here it is", "media": [name], **more}))


def result_in(world: World) -> str:
    [run] = world.runs("chat_1")
    return results_of(world, run)[0].content


def copies_in(world: World, chat_id: str) -> list[MediaFile]:
    media = [each for message in world.messages(chat_id) for each in message.media]
    items = [world.table.get(MediaFile.key_of(TENANT, chat_id, str(each.id))) for each in media]
    return [MediaFile.from_item(item) for item in items if item is not None]


@pytest.mark.parametrize("name", ["1.1", "med_1"])
@pytest.mark.parametrize("chat_id", ["chat_1", "chat_2"])
def test_picture_is_copied_with_its_authors_and_description(name: str, chat_id: str) -> None:
    world = world_with(sent(name, chat_id=chat_id))
    copy = copies_in(world, chat_id)[-1]
    assert (copy.copied_from, copy.state, copy.sender.id) == ("med_1", "ready", COACH.id)
    assert (copy.description, copy.small_size) == ("A lake.", 5)
    assert copy.seq == next(
        each.seq for each in world.messages(chat_id) if each.text == "Here it is"
    )
    assert world.files.get(copy.file_name) == PNG
    assert world.files.get(copy.small_name) == b"small"
    original = world.table.get(MediaFile.key_of(TENANT, "chat_1", "med_1"))
    assert original is not None
    digests = MediaFile.from_item(original).words
    assert copy.authors.joined(digests) == copy.authors
    assert copy.kept_until > world.clock.now()


def test_private_picture_is_not_copied_to_chat_with_other_readers() -> None:
    world = world_with(sent(chat_id="chat_2"), others=(HUSAM, SARAH))
    assert FILES_STAY in result_in(world)
    assert copies_in(world, "chat_2") == []
    assert not [name for name in world.files.contents if "chat_2" in name]


@pytest.mark.parametrize("name", ["1.2", "9.1", "med_other", "no such document"])
def test_file_that_this_chat_does_not_have_is_not_sent(name: str) -> None:
    world = world_with(sent(name))
    assert "has no file" in result_in(world)


def test_file_of_another_chat_is_not_sent_by_its_id() -> None:
    world = World(model=ScriptedModel.saying(sent("med_2"), default="Done."))
    world.agent(enabled_tools=("send_message",))
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.chat(SARAH, COACH, chat_id="chat_2", visibility="private", respond="manual")
    file = stored(world, "med_2", chat_id="chat_2", sender=SARAH)
    message = world.post("Look", SARAH, chat_id="chat_2", media=(file.named(),)).message
    stored(world, "med_2", chat_id="chat_2", sender=SARAH, seq=message.seq)
    own = stored(world, sender=HUSAM, seq=1)
    world.post("Look", HUSAM, media=(own.named(),))
    answer(world)
    assert "has no file" in result_in(world)
    assert [each.id for each in copies_in(world, "chat_1")] == [own.id]


def test_document_is_sent_as_a_text_file() -> None:
    world = world_with(
        calls(("write_document", {"name": "Plan", "text": "Run on Monday."})), sent("Plan")
    )
    copy = copies_in(world, "chat_1")[-1]
    assert (copy.content_type, copy.characters) == ("text/plain", 14)
    assert world.files.get(copy.file_name) == b"Run on Monday."
    assert world.files.get(copy.text_name) == b"Run on Monday."


def test_message_with_files_waits_for_no_reply() -> None:
    world = world_with(sent(wait=True))
    assert WAITS_WITHOUT_FILES in result_in(world)


def offers_files(world: World) -> bool:
    [tool] = [each for each in world.model.requests[0].tools if each.name == "send_message"]
    return '"media"' in json.dumps(tool.parameters)


def test_files_are_offered_where_there_may_be_some() -> None:
    assert offers_files(world_with())
    world = World(model=ScriptedModel.saying(default="Done."))
    world.agent(enabled_tools=("send_message",), reply_mode="tools")
    world.chat(HUSAM, COACH)
    world.post("Hi", HUSAM)
    settle(world)
    assert not offers_files(world)


def test_copy_that_no_message_has_is_deleted_after_a_day() -> None:
    world = world_with(sent())
    copy = copies_in(world, "chat_1")[-1]
    unused = copy.model_copy(update={"id": "med_unused", "seq": None})
    world.table.write(Put(unused.key, unused.to_item()))
    world.files.put(unused.file_name, PNG, "image/png")
    world.clock.advance(31 * 86_400)
    world.tick()
    world.drain()
    assert world.files.get(unused.file_name) is None
    assert world.table.get(unused.key) is None
    world.table.write(Delete(copy.key))
