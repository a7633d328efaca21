"""Add a message's files, or links to the files, to the parts of the message's delivery."""

from collections.abc import Sequence
from datetime import timedelta

from skein.channels.port import Channel
from skein.models.chats.chat import Message
from skein.models.chats.media import SMALL_TYPE, MediaFile
from skein.models.delivery.delivery import Delivery, DeliveryPart, PartFile
from skein.models.delivery.media_link import LINK_LIFETIME
from skein.ports import Table

FILE_WAIT = timedelta(seconds=20)  # after that, a notice replaces a file that is not ready
MINUTES = LINK_LIFETIME // timedelta(minutes=1)
LINKED = {
    True: f"A picture (this link works for {MINUTES} minutes):",
    False: f"A file (this link works for {MINUTES} minutes):",
}
NOT_SENT = {True: "A picture could not be sent.", False: "A file could not be sent."}
PENDING = "pending"
LINK_LENGTH = 120  # approximate length of a link, in characters


def files_of(table: Table, message: Message | None) -> tuple[MediaFile | None, ...]:
    """Return the files of a message, in order; None for a deleted file."""
    named = message.media if message is not None else ()
    if message is None or not named:
        return ()
    tenant, chat_id = message.tenant, message.chat_id
    keys = [MediaFile.key_of(tenant, chat_id, each.id) for each in named if each.id is not None]
    found = table.get_many(keys)
    return tuple(MediaFile.read(found, key) for key in keys)


def without_file(part: DeliveryPart) -> DeliveryPart:
    """Return the part without its file, which was deleted. A part without text gets a notice."""
    return part.model_copy(update={"file": None, "body": part.body or NOT_SENT[False]})


def with_files(
    parts: Sequence[DeliveryPart], files: Sequence[MediaFile | None], delivery: Delivery
) -> tuple[DeliveryPart, ...]:
    """Return the parts of a text, with the files of its message added.

    The first picture is sent with the beginning of the text. Each other file is sent in a separate
    part, because WhatsApp accepts only one file per message, and no text with a document. A file
    that the channel does not support is sent as a link. A notice replaces a file that is not
    ready.
    """
    made = list(parts)
    for file in files:
        if file is None or file.state != "ready":
            text = NOT_SENT[file is not None and file.is_image]
            made.append(DeliveryPart(body=text, segments=delivery.channel.units(text)))
            continue
        carried = _carried(file, delivery)
        if carried is None:
            made.append(_linked(file, delivery.channel))
        elif file.is_image and made and made[0].file is None:
            units = delivery.channel.media_units
            made[0] = made[0].model_copy(update={"file": carried, "segments": units})
        else:
            units = delivery.channel.media_units
            made.append(DeliveryPart(body="", file=carried, segments=units))
    return tuple(made)


def _carried(file: MediaFile, delivery: Delivery) -> PartFile | None:
    """Return the file or its smaller copy, if the channel can send one of them, or None."""
    person, line = delivery.to.person.address, delivery.to.line.address
    copies = ((False, file.content_type, file.size), (True, SMALL_TYPE, file.small_size))
    for small, kind, size in copies:
        if size and delivery.channel.carries(kind, size, person, line):
            return PartFile(media_id=file.id, small=small)
    return None


def _linked(file: MediaFile, channel: Channel) -> DeliveryPart:
    text = LINKED[file.is_image]
    units = channel.units(f"{text}\n{'x' * LINK_LENGTH}")
    return DeliveryPart(body=text, file=PartFile(media_id=file.id, as_link=True), segments=units)
