"""Uploads by people's apps, the messages that include them, and links to files.

An app announces a file, uploads it to a signed URL, and posts a message that names the file. Until
the message is posted, only the person who uploaded the file can see it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.errors import Conflict, NotFound, TooLarge, Unprocessable
from skein.media.posting import UNUSED_FOR, PostWithMedia
from skein.models.chats.chat import Message
from skein.models.chats.media import MAX_BYTES, MEDIA_TYPES, MediaFile
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember, rfc3339
from skein.models.common.file import FileUpload, SignedUpload
from skein.models.common.storage import Absent, Exists, Is, Key, Missing, Put, Update, Write, all_of
from skein.models.outbox.due import due_pointer
from skein.ports import Clock, Files, Ids, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import NewMessage
from skein.services.chats.posted_media import media_kept_until
from skein.services.chats.views import ChatViews
from skein.services.outbox.dispatch import OUTBOX_GRACE
from skein.services.quotas.rate_limits import RateLimiter

UPLOAD_SECONDS = 600
LINK_SECONDS = 300


class BegunUpload(NamedTuple):
    """An upload that a client may send until `ends_at`."""

    file: MediaFile
    signed: SignedUpload
    ends_at: datetime


class FileLink(NamedTuple):
    """A signed URL of a file, which works until `ends_at`."""

    url: str
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaUploads:
    """The service that accepts uploads, and shows files to people who may read their messages."""

    table: Table
    clock: Clock
    ids: Ids
    files: Files
    views: ChatViews
    rate_limiter: RateLimiter

    def begin(
        self, tenant: str, person: NamedMember, chat_id: str, upload: FileUpload
    ) -> BegunUpload:
        """Announce a file for a message of a chat.

        Raises:
            NotFound: The chat does not exist, or the person is not a member.
            Conflict: The chat is discarded.
            TooLarge: The file has too many bytes.
            Unprocessable: The type is not accepted.
            RateLimited: The person has uploaded too much.
        """
        own = self.views.chat(tenant, person.id, chat_id)
        if own.chat.discarded_at is not None:
            raise Conflict("the chat is discarded")
        if upload.content_type not in MEDIA_TYPES:
            raise Unprocessable("this type of file is not accepted")
        if upload.size > MAX_BYTES:
            raise TooLarge(f"a file may have at most {MAX_BYTES:,} bytes")
        self.rate_limiter.admit_uploads(tenant, person.id, 1)
        now = self.clock.now()
        file = MediaFile(
            tenant=tenant,
            chat_id=chat_id,
            id=f"med_{self.ids.ulid()}",
            sender=own.membership.member,
            content_type=upload.content_type,
            size=upload.size,
            sha256=upload.sha256,
            created_at=now,
            kept_until=now + UNUSED_FOR,
        )
        self.table.write(Put(file.key, file.to_item(), Missing()))
        return self._signed(file)

    def begun(self, tenant: str, person: NamedMember, chat_id: str, media_id: str) -> BegunUpload:
        """Return the upload for a repeated announcement of a file, with a newly signed URL.

        Raises:
            NotFound: The person is not a member of the chat any more, or the file was deleted.
        """
        self.views.chat(tenant, person.id, chat_id)
        file = MediaFile.read(self.table, MediaFile.key_of(tenant, chat_id, media_id))
        if file is None:
            raise NotFound("file not found")
        return self._signed(file)

    def _signed(self, file: MediaFile) -> BegunUpload:
        upload = FileUpload(content_type=file.content_type, size=file.size, sha256=file.sha256)
        signed = self.files.upload_url(file.incoming_name, upload, seconds=UPLOAD_SECONDS)
        return BegunUpload(file, signed, self.clock.now() + timedelta(seconds=UPLOAD_SECONDS))

    def attach(self, new: NewMessage, media_ids: Sequence[str]) -> PostWithMedia:
        """Return a message with uploaded files, and the writes for the transaction that posts it.

        Raises:
            Unprocessable: A file is unknown, was not uploaded as announced, or is in another
                message.
        """
        if not media_ids:
            return PostWithMedia(new, lambda _: ())
        files = self._read(new, media_ids)
        if any(file.seq is None and not self._is_uploaded(file) for file in files):
            raise Unprocessable("a file was not uploaded as announced")
        media = tuple(file.named() for file in files)
        return PostWithMedia(
            new.model_copy(update={"media": media}),
            lambda snapshot: self._writes(new, self._read(new, media_ids), snapshot),
        )

    def link(self, tenant: str, user_id: str, chat_id: str, media_id: str) -> FileLink:
        """Sign a URL of a file for a member of its chat.

        Raises:
            NotFound: The file does not exist, or the person may not see it.
            Conflict: The file is not ready yet.
        """
        self.views.chat(tenant, user_id, chat_id)
        return self.link_in(tenant, chat_id, media_id)

    def link_in(self, tenant: str, chat_id: str, media_id: str) -> FileLink:
        """Sign a URL of a file for someone who may read its chat; see `link`."""
        file = MediaFile.read(self.table, MediaFile.key_of(tenant, chat_id, media_id))
        now = self.clock.now()
        if file is None or file.seq is None or file.kept_until <= now:
            raise NotFound("file not found")
        message = Message.read(self.table, Message.key_of(tenant, chat_id, file.seq))
        if message is None or media_id not in {media.id for media in message.media}:
            raise NotFound("file not found")
        if file.state == "pending":
            raise Conflict("the file is not ready yet")
        if file.state == "failed":
            raise NotFound("file not found")
        return self.signed(file)

    def signed(self, file: MediaFile) -> FileLink:
        """Sign a URL of a ready file, for someone who may see it."""
        url = self.files.download_url(
            file.file_name,
            content_type=file.content_type,
            inline=file.is_image,
            seconds=LINK_SECONDS,
        )
        return FileLink(url, self.clock.now() + timedelta(seconds=LINK_SECONDS))

    def _is_uploaded(self, file: MediaFile) -> bool:
        """Return whether the bucket has the file with the announced length and checksum."""
        found = self.files.head(file.incoming_name)
        if found is None or found.size != file.size:
            return False
        return found.sha256 in {None, file.sha256}

    def _read(self, new: NewMessage, media_ids: Sequence[str]) -> list[MediaFile]:
        keys = [MediaFile.key_of(new.tenant, new.chat_id, each) for each in media_ids]
        found: Mapping[Key, dict[str, object]] = self.table.get_many(keys)
        files = MediaFile.read_each(found, keys)
        now = self.clock.now()
        if len(files) < len(keys) or any(file.kept_until <= now for file in files):
            raise Unprocessable("a file is not one that you have uploaded for this chat")
        return files

    def _writes(
        self, new: NewMessage, files: Sequence[MediaFile], snapshot: ChatSnapshot
    ) -> Sequence[Write]:
        """Return the writes that attach files to the next message of the chat.

        If the post is a repeated call, no writes are needed: its `client_id` finds the message,
        which already has the files.
        """
        member = snapshot.member(new.sender)
        if member is None:
            return ()
        if any(file.sender.id not in {member.member.id, *member.formerly} for file in files):
            raise Unprocessable("a file is not one that you have uploaded for this chat")
        if any(file.seq is not None for file in files):
            if self._is_repeated(new, files, member):
                return ()
            raise Unprocessable("a file is in another message already")
        now, chat = self.clock.now(), snapshot.chat
        until = media_kept_until(chat, now)
        return [
            Update(
                file.key,
                set={
                    "seq": chat.last_seq + 1,
                    "kept_until": rfc3339(until),
                    **due_pointer("media", file.key, now + OUTBOX_GRACE),
                },
                condition=all_of(Exists(), Absent("seq"), Is("state", "pending")),
            )
            for file in files
        ]

    def _is_repeated(self, new: NewMessage, files: Sequence[MediaFile], member: Membership) -> bool:
        """Return whether the call is a retry whose message already contains all the files."""
        seqs = {file.seq for file in files}
        seq = seqs.pop() if len(seqs) == 1 else None
        message = (
            Message.read(self.table, Message.key_of(new.tenant, new.chat_id, seq)) if seq else None
        )
        if message is None or message.client_id != new.client_id:
            return False
        return message.sender.id in {member.member.id, *member.formerly}
