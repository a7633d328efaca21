"""Links to files of messages, which a phone or the provider opens without an API token.

Each link belongs to the person to whom the file was sent. Each time that a link is opened, Skein
checks whether this person may still see the file.
"""

import secrets
from dataclasses import dataclass

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message
from skein.models.chats.media import SMALL_TYPE, MediaFile
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import Put
from skein.models.delivery.delivery import Delivery, PartFile
from skein.models.delivery.media_link import LINK_LIFETIME, LINK_PATH, MediaLink
from skein.ports import Clock, Files, Table
from skein.settings import Settings

TOKEN_BYTES = 24
OPEN_SECONDS = 60  # how long the address of the file itself works
GONE = "the link has expired, or the file is gone"


def link_base(settings: Settings) -> str:
    """Return the URL of a link without its token."""
    return f"{settings.public_base_url.rstrip('/')}{LINK_PATH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLinks:
    """The service that creates links for deliveries."""

    table: Table
    clock: Clock
    settings: Settings

    def issue(self, delivery: Delivery, file: PartFile) -> str | None:
        """Create a link to a file for the person of a delivery; None if the file was deleted."""
        media_file = MediaFile.read(
            self.table, MediaFile.key_of(delivery.tenant, delivery.chat_id, file.media_id)
        )
        if media_file is None or media_file.state != "ready":
            return None
        token = secrets.token_urlsafe(TOKEN_BYTES)
        link = MediaLink(
            tenant=delivery.tenant,
            hash=MediaLink.hash_of(token),
            chat_id=delivery.chat_id,
            media_id=file.media_id,
            user_id=delivery.user_id,
            small=file.small,
            ends_at=self.clock.now() + LINK_LIFETIME,
        )
        self.table.write(Put(link.key, link.to_item()))
        return f"{link_base(self.settings)}{token}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLinks:
    """The service that checks a link to a file, and returns a temporary URL of the file."""

    table: Table
    clock: Clock
    files: Files

    def open(self, token: str) -> str:
        """Return a temporary URL of a link's file, which works for a minute.

        Raises:
            NotFound: The link has expired or never existed, the file was deleted, or the person may
                no longer see it.
        """
        link = MediaLink.read(self.table, MediaLink.key_of(MediaLink.hash_of(token)))
        if link is None or link.ends_at <= self.clock.now():
            raise NotFound(GONE)
        file = self._file(link)
        return self.files.download_url(
            file.small_name if link.small else file.file_name,
            content_type=SMALL_TYPE if link.small else file.content_type,
            inline=file.is_image,
            seconds=OPEN_SECONDS,
        )

    def _file(self, link: MediaLink) -> MediaFile:
        """Return the file of a link, if the link's person may still see the file.

        Raises:
            NotFound: The file or its message was deleted, or the person has left the chat.
        """
        person = MemberRef(kind="user", id=link.user_id)
        file_key = MediaFile.key_of(link.tenant, link.chat_id, link.media_id)
        member_key = Membership.key_of(link.tenant, link.chat_id, person)
        chat_key = Chat.key_of(link.tenant, link.chat_id)
        found = self.table.get_many([file_key, member_key, chat_key])
        file, member = MediaFile.read(found, file_key), Membership.read(found, member_key)
        chat = Chat.read(found, chat_key)
        if file is None or member is None or chat is None:
            raise NotFound(GONE)
        there = member.active and chat.discarded_at is None
        expired = file.kept_until <= self.clock.now()
        if not there or expired or file.state != "ready" or file.seq is None:
            raise NotFound(GONE)
        message = Message.read(self.table, Message.key_of(link.tenant, link.chat_id, file.seq))
        if message is None or all(each.id != file.id for each in message.media):
            raise NotFound(GONE)
        return file
