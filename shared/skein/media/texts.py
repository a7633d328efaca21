"""Texts of files: the whole text of a PDF or a text file."""

from collections.abc import Callable
from dataclasses import dataclass

from skein.models.chats.media import MediaFile
from skein.ports import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaTexts:
    """The service that reads the texts of a chat's files. It does not check who may read them."""

    files: Callable[[], Files]

    def text(self, file: MediaFile) -> str | None:
        """Return the whole text of a file; None if the file has no text.

        Raises:
            Transient: The bucket failed.
        """
        content = self.files().get(file.text_name) if file.excerpt is not None else None
        return content.decode(errors="replace") if content is not None else None
