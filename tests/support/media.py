"""Pictures and files of messages, stored as those that the worker has checked."""

from datetime import timedelta
from typing import Any

from skein.models.chats.chat import Message
from skein.models.chats.media import MediaFile
from skein.models.common.storage import Put
from tests.support.builders import NOON, TENANT, World, bot

PNG = b"\x89PNG picture"


def stored(world: World, media_id: str = "med_1", **fields: Any) -> MediaFile:
    """Store a file of a chat, and its content."""
    given: dict[str, Any] = {
        "tenant": TENANT,
        "chat_id": "chat_1",
        "id": media_id,
        "sender": bot(),
        "content_type": "image/png",
        "size": len(PNG),
        "state": "ready",
        "created_at": NOON,
        "kept_until": NOON + timedelta(days=30),
    }
    file = MediaFile(**given | fields)
    world.table.write(Put(file.key, file.to_item()))
    if file.state == "ready":
        world.files.put(file.file_name, PNG, file.content_type)
        if file.small_size:
            world.files.put(file.small_name, b"small", "image/jpeg")
    return file


def posted(world: World, text: str, *files: MediaFile, **fields: Any) -> Message:
    """Post a message of the agent with files, which then know their message."""
    message = world.post(text, bot(), media=tuple(file.named() for file in files), **fields).message
    for file in files:
        known = file.model_copy(update={"seq": message.seq})
        world.table.write(Put(known.key, known.to_item()))
    return message
