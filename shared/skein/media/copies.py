"""Copies of files for the messages of agents; a copy keeps the provenance of its original.

A copy is created like an upload: first its item, then the file in the bucket, then the message that
includes it. If the run dies in between, the tick finds the item by its due pointer after a day, and
the copy is deleted.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from skein.errors import NotFound, Unprocessable
from skein.media.posting import UNUSED_FOR, PostWithMedia
from skein.models.chats.chat import Chat, Message
from skein.models.chats.media import EXCERPT_CHARACTERS, MAX_TEXT_CHARACTERS, MediaFile
from skein.models.common.base import NamedMember, rfc3339
from skein.models.common.storage import Absent, Is, Missing, Put, Update, Write, all_of
from skein.models.outbox.due import due_pointer
from skein.models.visibility.provenance import Authors
from skein.ports import Clock, Files, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import NewMessage
from skein.services.chats.posted_media import media_kept_until

NUMBERED = re.compile(r"([0-9]{1,12})\.([0-9]{1,2})")  # message and number, such as 12.1
PREFIX = "med_"
ID_DIGITS = 26
GONE = "the file is gone"
COPIED = (
    *("content_type", "size", "small_size", "width", "height"),
    *("description", "described_by", "excerpt", "characters"),
)


class DocumentText(NamedTuple):
    """A document of an agent that is sent as a file.

    Attributes:
        text: The document as it is now.
        authors: The people whose words the document can contain, by digest.
    """

    text: str
    authors: Authors


Original = MediaFile | DocumentText


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedFiles:
    """The service that finds the files that agents send, and copies them for their messages.

    Args:
        files: Returns the file store. It is called only when needed, which is rare.
    """

    table: Table
    clock: Clock
    files: Callable[[], Files]

    def find(self, chat: Chat, name: str) -> MediaFile:
        """Find a file of a chat by its id, or by a name such as `picture 12.1`.

        Raises:
            NotFound: There is no such file that can be sent.
        """
        numbered = NUMBERED.fullmatch(name)
        media_id = self._id_at(chat, int(numbered[1]), int(numbered[2])) if numbered else name
        file = MediaFile.read(self.table, MediaFile.key_of(chat.tenant, chat.id, media_id))
        if file is None or file.seq is None or file.kept_until <= self.clock.now():
            raise NotFound(GONE)
        media = self._message(chat, file.seq).media
        if file.state != "ready" or all(each.id != file.id for each in media):
            raise NotFound(GONE)
        return file

    def attach(
        self, new: NewMessage, sender: NamedMember, originals: Sequence[Original]
    ) -> PostWithMedia:
        """Copy files for a message, and return the message with the writes that attach the copies.

        The ids of the copies are derived from the message's `client_id`, so a repeated call does
        not create duplicates.

        Raises:
            Unprocessable: A file is gone.
            Transient: The file store or the table is out of reach.
        """
        if not originals:
            return PostWithMedia(new, lambda _: ())
        copies = [self._copy(new, sender, n, original) for n, original in enumerate(originals)]

        def writes(snapshot: ChatSnapshot) -> Sequence[Write]:
            now = self.clock.now()
            return [_put_into(copy, snapshot.chat, now) for copy in copies if copy.seq is None]

        media = tuple(copy.named() for copy in copies)
        return PostWithMedia(new.model_copy(update={"media": media}), writes)

    def _copy(
        self, new: NewMessage, sender: NamedMember, number: int, original: Original
    ) -> MediaFile:
        """Copy a file, and return the copy in the state `ready`."""
        now = self.clock.now()
        given = f"{new.client_id} {new.chat_id} {number}".encode()
        planned = MediaFile(
            tenant=new.tenant,
            chat_id=new.chat_id,
            id=f"{PREFIX}{hashlib.sha256(given).hexdigest()[:ID_DIGITS]}",
            sender=sender,
            created_at=now,
            kept_until=now + UNUSED_FOR,
            **_described(original, new.authors),
        )
        file = MediaFile.read(self.table, planned.key)
        copy = file if file is not None else planned
        if file is None:
            self.table.write(Put(copy.key, copy.to_item(), Missing()))
        if copy.state == "ready":
            return copy
        self._store(copy, original)
        self.table.write(Update(copy.key, set={"state": "ready"}, condition=Is("id", copy.id)))
        return copy.model_copy(update={"state": "ready"})

    def _store(self, copy: MediaFile, original: Original) -> None:
        files = self.files()
        if isinstance(original, DocumentText):
            content = original.text.encode()
            files.put(copy.file_name, content, copy.content_type)
            files.put(copy.text_name, content, copy.content_type)
            return
        if not files.copy(original.file_name, copy.file_name):
            raise Unprocessable(GONE)
        if original.small_size:
            files.copy(original.small_name, copy.small_name)
        if original.characters:
            files.copy(original.text_name, copy.text_name)

    def _id_at(self, chat: Chat, seq: int, number: int) -> str:
        media = self._message(chat, seq).media
        if not 1 <= number <= len(media) or media[number - 1].id is None:
            raise NotFound(GONE)
        return str(media[number - 1].id)

    def _message(self, chat: Chat, seq: int) -> Message:
        message = Message.read(self.table, Message.key_of(chat.tenant, chat.id, seq))
        if message is None:
            raise NotFound(GONE)
        return message


def _described(original: Original, held: Authors) -> dict[str, Any]:
    """Return the attributes that a copy takes from its original, together with the copy's authors.

    Args:
        held: The authors of the words that the sending run was shown, by digest.
    """
    if isinstance(original, MediaFile):
        words = {"copied_from": original.id, "authors": original.words.joined(held)}
        return {name: getattr(original, name) for name in COPIED} | words
    text = original.text[:MAX_TEXT_CHARACTERS]
    return {
        "authors": original.authors.joined(held),
        "content_type": "text/plain",
        "size": len(original.text.encode()),
        "excerpt": text[:EXCERPT_CHARACTERS] or None,
        "characters": len(text),
    }


def _put_into(copy: MediaFile, chat: Chat, now: datetime) -> Update:
    """Return the write that makes a copy part of a chat's next message."""
    until = media_kept_until(chat, now)
    return Update(
        copy.key,
        set={
            "seq": chat.last_seq + 1,
            "kept_until": rfc3339(until),
            **due_pointer("media", copy.key, until),
        },
        condition=all_of(Absent("seq"), Is("state", "ready")),
    )
