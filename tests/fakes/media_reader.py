"""The reader of media, for fast tests: it decodes in their process."""

from typing import Any

from skein.adapters.media_decoding import decoded
from skein.adapters.media_reader import LibraryMediaReader
from skein.errors import MediaRefused


class MemoryMediaReader(LibraryMediaReader):
    """The real reader, which starts no process, so nothing limits what a file may take."""

    def _decoded(self, content: bytes, task: str, *numbers: int) -> tuple[dict[str, Any], bytes]:
        described, made = decoded(task, content, *numbers)
        if "refused" in described:
            raise MediaRefused(described["refused"])
        return described, made
