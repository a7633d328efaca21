"""The searchable text of sources: one immutable file for each audience."""

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from skein.knowledge.passages import SourcePassage
from skein.ports import TextEmbeddings
from skein.services.common.text_index import IndexQuery, TextIndex, from_bytes, in_bytes, scores

HEAD = struct.Struct(">I")  # the length of the part before the vectors
# From this score on, a passage may answer a question. docs/knowledge.md tells how it was fitted.
ANSWERS = 0.48

IN_MEMORY = 8  # times the size of a file, whose texts and postings are compressed

Validators = Mapping[str, Sequence[str]]
NO_VALIDATORS: Validators = {}


class IndexedSource(NamedTuple):
    """One version of a source, with the vectors of its passages.

    Attributes:
        as_of: When its text was read, in the form of RFC 3339.
        vectors: The vectors, in the form of `in_bytes`, one after the other.
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
        """Return the source whose passages are in a file that `source_file` made."""
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
        size: About how many bytes it takes in memory, if it was read from a file.
    """

    sources: Sequence[IndexedSource]
    index: TextIndex
    size: int = 0

    @classmethod
    def of(cls, sources: Sequence[IndexedSource], dimensions: int) -> "IndexFile":
        """Index sources, whose vectors have this many components."""
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
    """Return the passages of all files, best first; equally good ones keep their order."""
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
