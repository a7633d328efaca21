"""Pictures and files of messages: their items, and the names of their objects in the bucket."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal
from urllib.parse import quote

from pydantic import Field

from skein.models.chats.chat import Media, chat_partition
from skein.models.common.base import (
    Identifier,
    Instant,
    NamedMember,
    Tenant,
    key_part,
)
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.outbox.due import LeasedItem, due_pointer
from skein.models.outbox.jobs import MediaJob
from skein.models.visibility.ownership import StoredAuthors
from skein.models.visibility.provenance import NO_AUTHORS, Authors

MediaState = Literal["pending", "ready", "failed"]
MediaReason = Literal["too_large", "type_refused", "unreadable", "gone", "upload_missing"]

SMALL_TYPE = "image/jpeg"  # the media type of smaller copies of pictures
SMALL_BYTES = 600 * 1024  # the size limit of an MMS
MAX_BYTES = 5_000_000
MAX_PIXELS = 25_000_000
MAX_PER_MESSAGE = 10
EXCERPT_CHARACTERS = 6_000
MAX_DESCRIPTION_TRIES = 3
MAX_TEXT_CHARACTERS = 400_000
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/webp", "image/heic"})
TEXT_TYPES = frozenset({"application/pdf", "text/plain", "text/vcard"})
MEDIA_TYPES = IMAGE_TYPES | TEXT_TYPES


class MediaFile(LeasedItem):
    """A picture or file of a chat. It is visible only to those who may read its message.

    Attributes:
        sender: The person or agent that sent or uploaded the file.
        authors: For an agent's file, the people whose words the file may contain, as digests.
        content_type: The media type as claimed; once the file is ready, the real one.
        size: The length in bytes; 0 while it is unknown.
        sha256: The checksum that the client stated for an upload, in hexadecimal.
        width, height: The size in pixels of a picture that is ready.
        reason: Why the file failed.
        seq: The message that contains the file; None until a message contains it.
        source: The provider's URL, until the file has been fetched.
        copied_from: The id of the file that this is a copy of.
        description: What a picture shows, or how a document begins.
        described_by: The model that described the picture; None for a document.
        description_tries: How often a model was asked to describe the picture.
        excerpt: The beginning of the text of a document.
        characters: The length of the whole text of a document.
        small_size: The length in bytes of a smaller copy (JPEG) of a large picture; 0 if there is
            no copy.
        kept_until: When the file and this item are deleted.
    """

    PREFIX: ClassVar = SortKeyPrefix("FILE#")  # sorts outside of memberships and the chat

    tenant: Tenant
    chat_id: Identifier
    id: Identifier
    sender: NamedMember
    authors: StoredAuthors = NO_AUTHORS
    content_type: Annotated[str, Field(max_length=200)]
    size: int = 0
    sha256: str | None = None
    width: int | None = None
    height: int | None = None
    state: MediaState = "pending"
    reason: MediaReason | None = None
    seq: int | None = None
    source: Annotated[str | None, Field(repr=False)] = None
    copied_from: Identifier | None = None
    description: str | None = None
    described_by: str | None = None
    description_tries: Annotated[int, Field(exclude_if=lambda tries: not tries)] = 0
    excerpt: str | None = None
    characters: int = 0
    small_size: Annotated[int, Field(exclude_if=lambda size: not size)] = 0
    created_at: Instant
    kept_until: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, media_id: str) -> "Key[MediaFile]":
        return Key(chat_partition(tenant, chat_id), f"{MediaFile.PREFIX}{key_part(media_id)}")

    @property
    def key(self) -> "Key[MediaFile]":
        return self.key_of(self.tenant, self.chat_id, self.id)

    @property
    def is_image(self) -> bool:
        return self.content_type in IMAGE_TYPES

    @property
    def described(self) -> bool:
        return self.description is not None

    def describable(self, now: datetime) -> bool:
        """Return whether a model must be asked to describe the picture."""
        ready = self.is_image and self.state == "ready" and self.kept_until > now
        wanted = self.seq is not None and not self.described
        return ready and wanted and self.description_tries < MAX_DESCRIPTION_TRIES

    @property
    def words(self) -> Authors:
        """The people whose words the file may contain, as digests."""
        return Authors.in_digests([self.sender.person_id]).joined(self.authors)

    @property
    def incoming_name(self) -> str:
        """The name of the file as it was uploaded, before the check."""
        return self.file_names[0]

    @property
    def file_name(self) -> str:
        """The name of the checked file, without metadata."""
        return file_name_of(self.tenant, self.chat_id, self.id)

    @property
    def text_name(self) -> str:
        return self.file_names[2]

    @property
    def small_name(self) -> str:
        return self.file_names[3]

    @property
    def file_names(self) -> tuple[str, str, str, str]:
        """The names of all objects that may be stored for the file."""
        return file_names(self.tenant, self.chat_id, self.id)

    @property
    def job(self) -> MediaJob:
        return MediaJob(tenant=self.tenant, chat_id=self.chat_id, media_id=self.id)

    def named(self) -> Media:
        """Return the file's entry in its message."""
        return Media(id=self.id, content_type=self.content_type, description=self.description)

    def to_item(self, due_at: datetime | None = None) -> Item:
        """Return the table attributes, with the due pointer.

        Args:
            due_at: When the file must be processed; by default, when it must be deleted.
        """
        return self.attributes() | due_pointer("media", self.key, due_at or self.kept_until)


def file_name_of(tenant: str, chat_id: str, media_id: str) -> str:
    """Return the name of a checked file, without metadata."""
    return file_names(tenant, chat_id, media_id)[1]


def file_names(tenant: str, chat_id: str, media_id: str) -> tuple[str, str, str, str]:
    """Return the names of a file's possible objects: as sent, checked, as text, and small copy."""
    path = "/".join(map(_file_part, (tenant, chat_id, media_id)))
    checked = f"media/{path}"
    return f"incoming/{path}", checked, f"{checked}.txt", f"{checked}.small"


def _file_part(text: str) -> str:
    """Escape a text for use between the `/` of a file's name.

    Dots are escaped too, so that `.` and `..` have no special meaning.
    """
    return quote(text, safe="").replace(".", "%2E")
