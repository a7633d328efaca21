"""Pictures and documents of a story, whose bytes are the words that they show."""

from collections.abc import Iterator
from datetime import timedelta

from skein.models.chats.chat import Message
from skein.models.chats.media import MediaFile
from skein.models.common.storage import Key, Put
from tests.attacks.steps import Shown
from tests.support.builders import TENANT, World
from tests.support.template import running

TYPES: dict[Shown, str] = {"picture": "image/jpeg", "document": "text/plain"}


def file_with(world: World, message: Message, shows: Shown, words: str) -> MediaFile:
    """Store the checked file of a message; the job that receives it describes it."""
    now, text = world.clock.now(), words if shows == "document" else None
    file = MediaFile(
        tenant=TENANT,
        chat_id=message.chat_id,
        id=message.media_ids[0],
        sender=message.sender,
        content_type=TYPES[shows],
        size=len(words),
        width=64 if shows == "picture" else None,
        height=64 if shows == "picture" else None,
        state="ready",
        seq=message.seq,
        excerpt=text,
        characters=len(text or ""),
        created_at=now,
        kept_until=now + timedelta(days=30),
    )
    world.table.write(Put(file.key, file.to_item()))
    with running("UpkeepWorker"):
        world.files.put(file.file_name, words.encode(), file.content_type)
        if text is not None:
            world.files.put(file.text_name, words.encode(), file.content_type)
    return file


def files_in(world: World, chat_id: str) -> Iterator[MediaFile]:
    """Yield the files of a chat, in their order."""
    partition = MediaFile.key_of(TENANT, chat_id, "med").pk
    for key in sorted(world.table.all_keys()):
        if key.pk == partition and key.sk.startswith(str(MediaFile.PREFIX)):
            item = world.table.get(Key(*key))
            assert item is not None
            yield MediaFile.from_item(item)


def words_in(world: World, message: Message) -> str:
    """What a message says, with what its files show."""
    if not message.media_ids:
        return message.full_text
    shown = {file.id: file for file in files_in(world, message.chat_id)}
    contents = [
        world.files.contents.get(shown[each].file_name, b"")
        for each in message.media_ids
        if each in shown
    ]
    return "\n".join([message.full_text, *(each.decode(errors="replace") for each in contents)])
