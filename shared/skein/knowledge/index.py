"""The searchable text of sources: one immutable file for each audience, in the bucket."""

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

from cachetools import LRUCache

from skein.errors import Unavailable
from skein.knowledge.passages import SourcePassage
from skein.ports import Files, TextEmbeddings
from skein.services.common.text_index import IndexQuery, TextIndex, from_bytes, in_bytes, scores

HEAD = struct.Struct(">I")  # the length of the part before the vectors
# From this score on, a passage may answer a question. docs/knowledge.md tells how it was fitted.
ANSWERS = 0.48

IN_MEMORY = 8  # times the size of a file, whose texts and postings are compressed
MAX_CACHED = 64_000_000  # bytes of files whose indexes a container keeps
TYPE = "application/octet-stream"
DIGITS = 32  # of a digest in a name

Validators = Mapping[str, Sequence[str]]
NO_VALIDATORS: Validators = {}


class IndexedSource(NamedTuple):
    """One version of a source, with the vectors of its passages.

    Attributes:
        as_of: When the text of the version was read, in the form of RFC 3339.
        vectors: The vectors of the passages, each in the form of `in_bytes`, joined in order.
    """

    id: str
    version: int
    name: str
    as_of: str
    passages: Sequence[SourcePassage]
    vectors: bytes

    @classmethod
    def from_file(
        cls, content: bytes, source_id: str, version: int, name: str, as_of: str
    ) -> "IndexedSource":
        """Return the source whose passages are in a file made by `source_file`."""
        (rows, _), vectors = _unpacked(content)
        return cls(source_id, version, name, as_of, _passages(rows), vectors)


def source_file(
    passages: Sequence[SourcePassage],
    embeddings: TextEmbeddings,
    validators: Validators = NO_VALIDATORS,
) -> bytes:
    """Return the passages of a source and their vectors as a file.

    Args:
        validators: For each address of a web page, its `ETag` and `Last-Modified`.
    """
    embedded = embeddings.embed([each.searched for each in passages])
    vectors = b"".join(in_bytes(each.vector) for each in embedded)
    return _packed([passages, validators], vectors)


def pages_of(content: bytes) -> tuple[list[SourcePassage], Validators]:
    """Return the passages and the validators of a file that `source_file` made."""
    (rows, validators), _ = _unpacked(content)
    return _passages(rows), validators


class FoundPassage(NamedTuple):
    """A passage of a source that readers may see, with its score; see `scores`."""

    source_id: str
    version: int
    name: str
    as_of: str
    place: str
    text: str
    url: str | None
    score: float = 0.0


@dataclass(frozen=True)
class IndexFile:
    """The sources of one audience, and the index of their passages.

    Attributes:
        size: The approximate size in memory in bytes, if the index was read from a file.
    """

    sources: Sequence[IndexedSource]
    index: TextIndex
    size: int = 0

    @classmethod
    def of(cls, sources: Sequence[IndexedSource], dimensions: int) -> "IndexFile":
        """Index sources; `dimensions` is the number of components of their vectors."""
        texts = [
            f"{source.name}\n{each.searched}" for source in sources for each in source.passages
        ]
        vectors = from_bytes(b"".join(source.vectors for source in sources), dimensions)
        return cls(sources, TextIndex.of(texts, vectors))

    @classmethod
    def unpacked(cls, content: bytes, dimensions: int) -> "IndexFile":
        """Return the index from the bytes that `packed` made."""
        (rows, lengths, postings, norms), vectors = _unpacked(content)
        sources, start = list[IndexedSource](), 0
        for source_id, version, name, as_of, passages in rows:
            end = start + len(passages) * dimensions
            own = _passages(passages), vectors[start:end]
            sources.append(IndexedSource(source_id, version, name, as_of, *own))
            start = end
        index = TextIndex(lengths, postings, from_bytes(vectors, dimensions), norms)
        return cls(sources, index, size=IN_MEMORY * len(content))

    def packed(self) -> bytes:
        """Return the index as a file."""
        rows = [each[:-1] for each in self.sources]
        parts = [rows, self.index.lengths, self.index.postings, self.index.norms]
        return _packed(parts, b"".join(each.vectors for each in self.sources))

    @cached_property
    def passages(self) -> tuple[FoundPassage, ...]:
        """All passages, in the order of their sources."""
        return tuple(
            FoundPassage(each.id, each.version, each.name, each.as_of, *passage)
            for each in self.sources
            for passage in each.passages
        )


def best_passages(files: Sequence[IndexFile], query: IndexQuery) -> list[FoundPassage]:
    """Return the passages of all files, best first. Equally good passages keep their order."""
    scored = scores([file.index for file in files], query)
    found = [
        passage._replace(score=score)
        for file, values in zip(files, scored, strict=True)
        for passage, score in zip(file.passages, values, strict=True)
    ]
    return sorted(found, key=lambda each: -each.score)


def _passages(rows: Iterable[Sequence[Any]]) -> list[SourcePassage]:
    return [SourcePassage(*each) for each in rows]


def _packed(parts: Any, vectors: bytes) -> bytes:
    head = zlib.compress(json.dumps(parts, separators=(",", ":")).encode())
    return HEAD.pack(len(head)) + head + vectors


def _unpacked(content: bytes) -> tuple[Any, bytes]:
    (length,) = HEAD.unpack_from(content)
    end = HEAD.size + length
    return json.loads(zlib.decompress(content[HEAD.size : end])), content[end:]


class KnowledgeFiles:
    """The service that stores and reads files, which never change once they are stored.

    Args:
        files: Returns the bucket. It is called only if an agent has sources.
        embeddings: Returns the embeddings. Reading a file requires the number of components of a
            vector.
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
        """Return an index; None if its file was deleted because a newer one has replaced it.

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
    """Return a name for a new index file; no other change of the sources uses this name."""
    return f"knowledge/{_part(tenant)}/index/{version}-{_digest(content)}"


def name_of_source(tenant: str, source_id: str, content: bytes) -> str:
    return f"knowledge/{_part(tenant)}/sources/{_part(source_id)}/{_digest(content)}"


def name_of_upload(tenant: str, upload_id: str) -> str:
    """Return the name of an uploaded file until it is read. The bucket deletes it after a day."""
    return f"incoming/{_part(tenant)}/sources/{_part(upload_id)}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def _part(text: str) -> str:
    return quote(text, safe="").replace(".", "%2E")
