"""Store and read the items of messages' pictures and files."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from skein.models.chats.chat import Chat, Media, Message
from skein.models.chats.media import MediaFile
from skein.models.common.base import MemberRef
from skein.models.common.storage import Missing, Put, Write
from skein.models.config.overrides import Retention
from skein.ports import Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.pagination import read_items
from skein.services.outbox.dispatch import OUTBOX_GRACE


def media_kept_until(chat: Chat, posted_at: datetime) -> datetime:
    """Return when a message's files are deleted: no later than the message itself."""
    retention = chat.retention or Retention()
    days = min(retention.media_days, retention.message_days or retention.media_days)
    return posted_at + timedelta(days=days)


def sent_files(
    files: Iterable[Media], snapshot: ChatSnapshot, sender: MemberRef, now: datetime
) -> Iterator[Write]:
    """Yield the writes that create the items of a message's files, for the message's transaction.

    At this time, the provider still has the files. After the commit, one job per file fetches the
    file. If the job is lost, the due pointer of the item makes the tick send the job again. Files
    without an id get no item and are not fetched.
    """
    membership, chat = snapshot.member(sender), snapshot.chat
    if membership is None:
        return
    for media in files:
        if media.id is None:
            continue
        file = MediaFile(
            tenant=chat.tenant,
            chat_id=chat.id,
            id=media.id,
            sender=membership.member,
            content_type=media.content_type,
            seq=chat.last_seq + 1,
            source=media.url,
            created_at=now,
            kept_until=media_kept_until(chat, now),
        )
        yield Put(file.key, file.to_item(now + OUTBOX_GRACE), Missing())


def files_of(table: Table, messages: Iterable[Message]) -> Mapping[str, MediaFile]:
    """Read the files of messages in batches, and return them by id."""
    keys = {
        MediaFile.key_of(message.tenant, message.chat_id, media.id): None
        for message in messages
        for media in message.media
        if media.id is not None
    }
    return {file.id: file for file in MediaFile.read_each(read_items(table, list(keys)))}
