"""The files of sources and of their indexes in the bucket."""

import hashlib
from collections.abc import Callable
from threading import Lock
from urllib.parse import quote

from cachetools import LRUCache

from skein.errors import Unavailable
from skein.knowledge.index import IndexFile
from skein.ports import Files, TextEmbeddings

MAX_CACHED = 64_000_000  # bytes of files whose indexes a container keeps
TYPE = "application/octet-stream"
DIGITS = 32  # of a digest in a name


class KnowledgeFiles:
    """The service that stores and reads files, which never change once they are stored.

    Args:
        files: Returns the bucket, which agents without sources never need.
        embeddings: Returns the embeddings, by whose size files are read.
    """

    def __init__(
        self, *, files: Callable[[], Files], embeddings: Callable[[], TextEmbeddings]
    ) -> None:
        self._files = files
        self._embeddings = embeddings
        self._lock = Lock()
        self._known: LRUCache[str, IndexFile] = LRUCache(
            MAX_CACHED, getsizeof=lambda file: file.size
        )

    def index(self, name: str) -> IndexFile | None:
        """Return an index; None if its file was replaced and deleted.

        Raises:
            Transient: The bucket failed.
        """
        with self._lock:
            known = self._known.get(name)
        if known is None:
            content = self._files().get(name)
            if content is None:
                return None
            known = IndexFile.unpacked(content, self._embeddings().dimensions)
            with self._lock:
                if known.size <= MAX_CACHED:
                    self._known[name] = known
        return known

    def get(self, name: str) -> bytes:
        """Return a file that must exist.

        Raises:
            Unavailable: The file does not exist, because another worker has replaced it.
            Transient: The bucket failed.
        """
        content = self.find(name)
        if content is None:
            raise Unavailable("a file of a source was replaced")
        return content

    def find(self, name: str) -> bytes | None:
        return self._files().get(name)

    def put(self, name: str, content: bytes) -> None:
        self._files().put(name, content, TYPE)

    def delete(self, *names: str) -> None:
        for name in names:
            self._files().delete(name)


def name_of_index(tenant: str, version: int, content: bytes) -> str:
    """Return a name that no other change of the head uses."""
    return f"knowledge/{_part(tenant)}/index/{version}-{_digest(content)}"


def name_of_source(tenant: str, source_id: str, content: bytes) -> str:
    return f"knowledge/{_part(tenant)}/sources/{_part(source_id)}/{_digest(content)}"


def name_of_upload(tenant: str, upload_id: str) -> str:
    """Return where a file lies until it is read; the bucket deletes it after a day."""
    return f"incoming/{_part(tenant)}/sources/{_part(upload_id)}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def _part(text: str) -> str:
    return quote(text, safe="").replace(".", "%2E")
