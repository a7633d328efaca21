"""Texts of files: what a PDF or a text file says, in whole."""

from collections.abc import Callable
from dataclasses import dataclass

from skein.models.chats.chat import Chat
from skein.models.chats.media import MediaFile
from skein.ports import Clock, Files, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaTexts:
    """The service that reads the texts of a chat's files. It does not check who may read them."""

    table: Table
    files: Callable[[], Files]
    clock: Clock

    def file(self, chat: Chat, media_id: str) -> MediaFile | None:
        """Return a file of a chat that is ready; None if there is none of this id."""
        item = self.table.get(MediaFile.key_of(chat.tenant, chat.id, media_id))
        file = MediaFile.from_item(item) if item else None
        stored = file is not None and file.state == "ready" and file.kept_until > self.clock.now()
        return file if stored else None

    def text(self, file: MediaFile) -> str | None:
        """Return the whole text of a file; None if it has none.

        Raises:
            Transient: The bucket failed.
        """
        content = self.files().get(file.text_name) if file.excerpt is not None else None
        return content.decode(errors="replace") if content is not None else None
