"""Pictures and files of messages, stored as those that the worker has checked."""

from datetime import timedelta
from typing import Any

from skein.models.chats.chat import Media, Message
from skein.models.chats.media import MediaFile
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put
from skein.models.outbox.jobs import MediaJob
from tests.support.builders import NOON, TENANT, World, bot
from tests.support.template import running

PNG = b"\x89PNG picture"
JPEG = b"\xff\xd8\xff\xe0 the bytes of a picture"


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


def send_file(
    world: World,
    sender: NamedMember,
    *,
    text: str = "",
    content: bytes = JPEG,
    media_id: str = "med_1",
    chat_id: str = "chat_1",
    **fields: Any,
) -> MediaFile:
    """Post a message with one file that is ready, by default a picture of 1024 x 768 pixels."""
    kind = fields.setdefault("content_type", "image/jpeg")
    if kind.startswith("image/"):
        fields = {"width": 1_024, "height": 768} | fields
    media = (Media(id=media_id, content_type=kind, description=fields.get("description")),)
    seq = world.stored_chat(chat_id).last_seq + 1
    now = world.clock.now()
    file = MediaFile(
        tenant=TENANT,
        chat_id=chat_id,
        id=media_id,
        sender=sender,
        size=len(content),
        state=fields.pop("state", "ready"),
        seq=seq,
        created_at=now,
        kept_until=now + timedelta(days=30),
        **fields,
    )
    world.table.write(Put(file.key, file.to_item()))
    if file.state == "ready":
        with running("UpkeepWorker"):
            world.files.put(file.file_name, content, file.content_type)
    world.post(text, sender, chat_id=chat_id, media=media)
    world.queues.take(MediaJob)  # the file is checked already
    return file
