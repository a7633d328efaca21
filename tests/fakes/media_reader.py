"""The reader of media, for fast tests: it decodes in their process."""

from typing import Any

from skein.adapters.media_decoding import decoded
from skein.adapters.media_reader import LibraryMediaReader


class MemoryMediaReader(LibraryMediaReader):
    """The real reader, which starts no process, so nothing limits what a file may take."""

    def _run(self, content: bytes, task: str, *numbers: int) -> tuple[dict[str, Any], bytes]:
        return decoded(task, content, *numbers)
