"""Publish changes of sources: store new indexes, then list all of them in one write.

Before a change stores files, it reserves their names. If its worker dies, the tenant's next change
deletes these files, so none is left behind. A prompt reads the list (the head) once, so it sees
either all sources before a change, or all sources after it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from skein.errors import ConditionFailed, Transient, Unprocessable
from skein.knowledge.index import IndexedSource, IndexFile, KnowledgeFiles, name_of_index
from skein.knowledge.models.source import (
    KEPT_VERSIONS,
    MAX_CHARACTERS,
    MAX_PASSAGES,
    IndexedGroup,
    KnowledgeHead,
    Source,
    SourceGroup,
    SourceText,
    SourceVersion,
)
from skein.models.common.base import rfc3339
from skein.models.common.storage import Delete, Missing, Put, Query, Update, Write
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.ports import Clock, Table, TextEmbeddings
from skein.services.common.optimistic import optimistic, revise


class PlannedChange(NamedTuple):
    """A change of a source that is about to be made.

    Attributes:
        source: The source as it was read.
        values: The new values of its fields.
        restored_from: The version that is restored, if any.
    """

    source: Source
    values: Mapping[str, Any]
    restored_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """The service that changes sources together with the indexes that prompts search."""

    table: Table
    clock: Clock
    files: KnowledgeFiles
    embeddings: Callable[[], TextEmbeddings]

    def publish(self, change: Callable[[], PlannedChange]) -> Source:
        """Make a change, and replace the indexes that contain the source.

        Args:
            change: Reads the source, and returns the change.

        Raises:
            Unprocessable: The tenant's sources would have too many passages or characters.
            Transient: The table or the bucket failed.
        """
        source = optimistic(self.clock, lambda: self._publish(*change()))
        with suppress(Transient):  # the next change, or the job of a deleted source, sweeps again
            self.sweep(source.tenant)
            if not source.deleted:
                self._prune(source)
        return source

    def write(self, source: Source, values: Mapping[str, Any]) -> Source:
        """Change only values of a source that no index contains.

        Raises:
            ConditionFailed: The source was changed since it was read.
        """
        source, write = _changed(source, values)
        self.table.write(write)
        return source

    def sweep(self, tenant: str) -> None:
        """Delete the indexes that were replaced (idempotent)."""
        head = self._head(tenant)
        if head.stale:
            self.files.delete(*head.stale)
            with suppress(ConditionFailed):  # another change names them again
                self.table.write(_replaced(head, stale=())[1])

    def versions(self, source: Source) -> list[SourceVersion]:
        """Return the versions of a source, newest first."""
        query = Query.under(SourceVersion.partition(source.tenant, source.id), SourceVersion.PREFIX)
        return list(SourceVersion.each_of(self.table.query(query).items))

    def _prune(self, source: Source) -> None:
        """Delete the files that no version needs any more (idempotent)."""
        texts = (source.text, source.held, *(each.text for each in self.versions(source)))
        needed = {text.file for text in texts if text is not None}
        gone = [each for each in source.files if each not in needed]
        if gone:
            self.files.delete(*gone)
            with suppress(ConditionFailed):  # the next change prunes again
                self.write(
                    source, {"files": tuple(each for each in source.files if each in needed)}
                )

    def _head(self, tenant: str) -> KnowledgeHead:
        found = KnowledgeHead.read(self.table, KnowledgeHead.key_of(tenant))
        return found or KnowledgeHead(tenant=tenant)

    def _publish(
        self, before: Source, values: Mapping[str, Any], restored_from: int | None
    ) -> Source:
        after, write = _changed(before, values)
        writes = [write, *_version(after, restored_from)] if "version" in values else [write]
        if (before.group, before.version) == (after.group, after.version):
            self.table.transact(writes)
            return after
        head = self._head(after.tenant)
        replaced = [each for each in head.groups if each.group in {before.group, after.group}]
        built = dict(self._built(head, replaced, before.group, after))
        groups = (*(each for each in head.groups if each not in replaced), *built)
        if after.group is not None:
            _check_size(groups)
        building = tuple(group.file for group in built)
        head, reserved = _replaced(head, building=(*head.building, *building))
        self.table.write(reserved)
        for group, content in built.items():
            self.files.put(group.file, content)
        stale = {*head.stale, *head.building, *(each.file for each in replaced)} - {*building}
        _, new = _replaced(head, groups=groups, building=(), stale=tuple(sorted(stale)))
        self.table.transact([new, *writes])
        return after

    def _built(
        self,
        head: KnowledgeHead,
        replaced: Sequence[IndexedGroup],
        left: SourceGroup | None,
        after: Source,
    ) -> Iterator[tuple[IndexedGroup, bytes]]:
        """Yield the source's groups, before and after the change, with their new indexes."""
        dimensions = self.embeddings().dimensions
        for name in dict.fromkeys((left, after.group)):
            files = (self.files.get(each.file) for each in replaced if each.group == name)
            old = (each for file in files for each in IndexFile.unpacked(file, dimensions).sources)
            sources = [each for each in old if each.id != after.id]
            if name == after.group and after.text is not None:
                sources.append(self._indexed(after, after.text))
            if name is not None and sources:
                index = IndexFile.of(sorted(sources, key=lambda each: each.id), dimensions)
                content = index.packed()
                yield (
                    IndexedGroup(
                        **name._asdict(),
                        file=name_of_index(head.tenant, head.version + 1, content),
                        passages=len(index.passages),
                        characters=sum(len(each.text) for each in index.passages),
                    ),
                    content,
                )

    def _indexed(self, source: Source, text: SourceText) -> IndexedSource:
        content, as_of = self.files.get(text.file), rfc3339(text.as_of)
        return IndexedSource.from_file(content, source.id, source.version, source.name, as_of)


def _check_size(groups: Iterable[IndexedGroup]) -> None:
    passages = sum(each.passages for each in groups)
    characters = sum(each.characters for each in groups)
    if passages > MAX_PASSAGES or characters > MAX_CHARACTERS:
        raise Unprocessable(
            f"text: all sources together may have at most {MAX_PASSAGES:,} passages and "
            f"{MAX_CHARACTERS:,} characters; with this one, they have {passages:,} and "
            f"{characters:,}"
        )


def _version(source: Source, restored_from: int | None) -> list[Write]:
    """Return the writes that keep the newest version of a source, and drop the oldest one."""
    made = SourceVersion.of(source, restored_from=restored_from)
    oldest = source.version - KEPT_VERSIONS
    gone = [Delete(SourceVersion.key_of(source.tenant, source.id, oldest))] if oldest > 0 else []
    return [Put(made.key, made.attributes()), *gone]


def _changed(before: Source, values: Mapping[str, Any]) -> tuple[Source, Update]:
    """Return a changed source, and the write that stores it unless another writer was faster."""
    at = values.get("next_at", before.next_at)
    due = due_pointer("source", before.key, at) if at is not None else NOT_DUE
    return revise(before, values, also={"due_tries": None, **due}, lock="revision")


def _replaced(head: KnowledgeHead, **values: Any) -> tuple[KnowledgeHead, Write]:
    """Return a changed head, and the write that stores it unless another writer was faster."""
    new, write = revise(head, values)
    return new, write if head.version else Put(new.key, new.attributes(), Missing())
