"""Publish changes of sources: store new indexes, then name all of them in one write.

A change reserves the names of the files that it is about to store, so that none is left behind by
a worker that dies: the next change of the tenant deletes them. A prompt reads the head once, so it
sees all sources before a change or all after it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from skein.errors import ConditionFailed, Transient, Unprocessable
from skein.knowledge.files import KnowledgeFiles, name_of_index
from skein.knowledge.index import IndexedSource, IndexFile
from skein.knowledge.models.source import (
    MAX_CHARACTERS,
    MAX_PASSAGES,
    IndexedGroup,
    KnowledgeHead,
    Source,
)
from skein.models.common.storage import Is, Missing, Put, Update, Write, at_version
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.ports import Clock, Table, TextEmbeddings
from skein.services.common.optimistic import optimistic

NAMES = tuple(Source.model_fields)


class PlannedChange(NamedTuple):
    """A change of a source that is about to be made.

    Attributes:
        before: The source as it was read.
        after: The changed source.
        also: Further writes of the same transaction.
    """

    before: Source
    after: Source
    also: Sequence[Write] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """The service that changes sources together with the indexes that prompts search."""

    table: Table
    clock: Clock
    files: KnowledgeFiles
    embeddings: Callable[[], TextEmbeddings]

    def publish(self, change: Callable[[], PlannedChange]) -> Source:
        """Make a change, and replace the indexes that it concerns.

        Args:
            change: Reads the source, and returns the change.

        Raises:
            Unprocessable: The tenant's sources would have too many passages or characters.
            Transient: The table or the bucket failed.
        """
        source = optimistic(self.clock, lambda: self._publish(*change()))
        with suppress(Transient):  # the next change, or the job of a deleted source, sweeps again
            self.sweep(source.tenant)
        return source

    def sweep(self, tenant: str) -> None:
        """Delete the indexes that were replaced (idempotent)."""
        head = self.head(tenant)
        if head.stale:
            self.files.delete(*head.stale)
            with suppress(ConditionFailed):  # another change names them again
                self.table.write(_replaced(head, stale=())[1])

    def head(self, tenant: str) -> KnowledgeHead:
        found = KnowledgeHead.read(self.table, KnowledgeHead.key_of(tenant))
        return found or KnowledgeHead(tenant=tenant)

    def _publish(self, before: Source, after: Source, also: Sequence[Write]) -> Source:
        after, write = changed(before, after)
        if (before.group, before.version) == (after.group, after.version):
            self.table.transact([write, *also])
            return after
        head = self.head(after.tenant)
        made = self._groups(head, before, after)
        building = tuple(group.file for group, _ in made)
        head, reserved = _replaced(head, building=(*head.building, *building))
        self.table.write(reserved)
        for group, content in made:
            self.files.put(group.file, content)
        named = {after.group, before.group}
        kept = tuple(each for each in head.groups if each.group not in named)
        stale = {each.file for each in head.groups if each.group in named}
        stale = (stale | {*head.stale, *head.building}) - set(building)
        groups = (*kept, *(group for group, _ in made))
        _, new = _replaced(head, groups=groups, building=(), stale=tuple(sorted(stale)))
        self.table.transact([new, write, *also])
        return after

    def _groups(
        self, head: KnowledgeHead, before: Source, after: Source
    ) -> list[tuple[IndexedGroup, bytes]]:
        """Return the new groups of the source, before and after, with their indexes as files.

        Raises:
            Unprocessable: All groups together would be too large.
        """
        known = {each.group: each for each in head.groups}
        names = [each for each in dict.fromkeys((before.group, after.group)) if each is not None]
        made = [(name, self._index(known.get(name), name, after)) for name in names]
        others = [each for name, each in known.items() if name not in names]
        passages = sum(each.passages for each in others) + sum(len(i.passages) for _, i in made)
        characters = sum(each.characters for each in others)
        characters += sum(source.characters for _, index in made for source in index.sources)
        if after.group is not None and (passages > MAX_PASSAGES or characters > MAX_CHARACTERS):
            raise Unprocessable(
                f"text: all sources together may have at most {MAX_PASSAGES:,} passages and "
                f"{MAX_CHARACTERS:,} characters; with this one, they have {passages:,} and "
                f"{characters:,}"
            )
        return [
            self._group(head, after if name == after.group else before, index)
            for name, index in made
            if index.sources
        ]

    def _index(self, group: IndexedGroup | None, name: str, after: Source) -> IndexFile:
        """Return the index of a group with the source as it is after the change, or without it."""
        old: Sequence[IndexedSource] = ()
        if group is not None:
            content = self.files.get(group.file)
            old = IndexFile.unpacked(content, self.embeddings().dimensions).sources
        sources = [each for each in old if each.id != after.id]
        if name == after.group and after.text is not None:
            content = self.files.get(after.text.file)
            sources.append(
                IndexedSource.from_file(
                    content,
                    id=after.id,
                    version=after.version,
                    name=after.name,
                    as_of=after.text.as_of,
                )
            )
        ordered = sorted(sources, key=lambda each: each.id)
        return IndexFile.of(ordered, self.embeddings().dimensions)

    def _group(
        self, head: KnowledgeHead, like: Source, index: IndexFile
    ) -> tuple[IndexedGroup, bytes]:
        content = index.packed()
        group = IndexedGroup(
            file=name_of_index(head.tenant, head.version + 1, content),
            audience=like.audience,
            roles=tuple(sorted(set(like.roles))) if like.audience == "roles" else (),
            agents=tuple(sorted(set(like.agents))),
            sources=tuple(each.id for each in index.sources),
            passages=len(index.passages),
            characters=sum(each.characters for each in index.sources),
        )
        return group, content


def revised(source: Source, values: Mapping[str, Any]) -> Source:
    """Return a source with new values."""
    return Source.model_validate(dict(source) | dict(values))


def changed(before: Source, after: Source) -> tuple[Source, Update]:
    """Return a source with a new revision, and the write on condition of the one before."""
    after = after.model_copy(update={"revision": before.revision + 1})
    attributes, at = after.attributes(), after.next_at
    due = due_pointer("source", after.key, at) if at is not None else NOT_DUE
    values = {name: attributes.get(name) for name in NAMES} | {"due_tries": None} | due
    return after, Update(after.key, set=values, condition=Is("revision", before.revision))


def _replaced(head: KnowledgeHead, **changes: Any) -> tuple[KnowledgeHead, Write]:
    """Return a changed head, and the write on condition that the head is as it was read."""
    new = KnowledgeHead.model_validate(dict(head) | changes | {"version": head.version + 1})
    attributes = new.attributes()
    if not head.version:
        return new, Put(new.key, attributes, Missing())
    values = {name: attributes[name] for name in (*changes, "version")}
    return new, Update(new.key, set=values, condition=at_version(head.version))
