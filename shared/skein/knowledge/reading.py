"""Read sources in the background, and take their text over unless a guard holds it back."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from skein.errors import ConditionFailed, Conflict, Unprocessable
from skein.knowledge.fetching import Fetcher
from skein.knowledge.files import KnowledgeFiles, name_of_source, name_of_upload
from skein.knowledge.index import Validators, pages_of, source_file
from skein.knowledge.models.source import (
    KEPT_VERSIONS,
    Source,
    SourceText,
    SourceVersion,
)
from skein.knowledge.passages import SourcePassage
from skein.knowledge.publishing import PlannedChange, Publisher, changed, revised
from skein.models.common.storage import Delete, Put, Query, Write
from skein.models.outbox.jobs import SourceJob
from skein.ports import Clock, Metrics, Table, TextEmbeddings

READ_TIME = timedelta(seconds=150)  # of the pages of a source; then comes its index
AGAIN = timedelta(hours=1)  # after a failure, unless the source is read more often
FAILURES = 3  # in a row, after which operators are told
MUCH = 2  # a text that is shorter than half of the last one is not taken over
SHORTER = "its text is shorter than half of the last one, so an operator must accept it"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReader:
    """Worker that reads sources, and deletes the files of deleted ones."""

    table: Table
    clock: Clock
    metrics: Metrics
    files: KnowledgeFiles
    fetcher: Fetcher
    publisher: Publisher
    embeddings: Callable[[], TextEmbeddings]

    def take(self, job: SourceJob, *, deadline: datetime) -> None:
        """Read a source if that is due, or delete what is left of it (idempotent).

        Raises:
            Transient: The table or the bucket failed; the job is retried.
        """
        source = Source.read(self.table, Source.key_of(job.tenant, job.source_id))
        if source is None:
            return
        now = self.clock.now()
        with suppress(ConditionFailed, Conflict):  # an operator has changed the source
            if source.deleted:
                self._drop(source)
            elif source.state == "reading" or (
                source.next_at is not None and source.next_at <= now
            ):
                self._read(source, min(deadline, now + READ_TIME))

    def _read(self, source: Source, until: datetime) -> None:
        """Read a source, and take its text over."""
        try:
            passages, validators = self._passages(source, until)
        except Unprocessable as refused:
            self._failed(source, str(refused))
            return
        content = source_file(passages, self.embeddings(), validators)
        self._take_over(source, content, passages)

    def _passages(
        self, source: Source, until: datetime
    ) -> tuple[Sequence[SourcePassage], Validators]:
        if source.upload is not None:
            content = self.files.find(name_of_upload(source.tenant, source.upload))
            if content is None:
                raise Unprocessable("file: it is gone; a file must be read within a day")
            return self.fetcher.file(content, source.upload), {}
        known, validators = pages_of(self.files.get(source.text.file)) if source.text else ([], {})
        read = self.fetcher.pages(source.url or "", known, validators, until=until)
        return read.passages, read.validators

    def _take_over(self, source: Source, content: bytes, passages: Sequence[SourcePassage]) -> None:
        """Store a text, and make it the newest version unless the guard holds it back."""
        now = self.clock.now()
        read = {
            "state": "ready", "error": None, "failures": 0, "held": None, "upload": None,
            "checked_at": now, "next_at": next_reading(source, now),
        }  # fmt: skip
        text = SourceText(
            file=name_of_source(source.tenant, source.id, content),
            characters=sum(len(each.text) for each in passages),
            passages=len(passages),
            as_of=now,
        )
        if source.text is not None and source.text.file == text.file:
            self._write(source, read)
            return
        source = self._write(source, {"files": tuple(dict.fromkeys((*source.files, text.file)))})
        self.files.put(text.file, content)
        last = source.text
        if source.upload is None and last is not None and text.characters * MUCH < last.characters:
            self._write(source, read | {"state": "held", "held": text, "error": SHORTER})
            return
        try:
            new = self.publisher.publish(lambda: self._planned(source, text, read))
        except Unprocessable as refused:
            self._failed(source, str(refused))
            return
        if source.upload is not None:
            self.files.delete(name_of_upload(source.tenant, source.upload))
        self.prune(new)

    def _planned(self, before: Source, text: SourceText, read: Mapping[str, Any]) -> PlannedChange:
        """Return the change that takes a text over.

        Raises:
            Conflict: An operator has changed the source since it was read.
        """
        current = Source.read(self.table, before.key)
        if current is None or current.revision != before.revision:
            raise Conflict("the source was changed")
        return with_text(before, text, read, self.clock.now())

    def _failed(self, source: Source, why: str) -> None:
        """Keep the old text, and say why there is no newer one."""
        failures = source.failures + 1
        now = self.clock.now()
        again = min(now + AGAIN, next_reading(source, now) or now) if source.url else None
        state = "failed" if source.text is None else "held"
        values = {"state": state, "error": why, "failures": failures, "next_at": again}
        self._write(source, values | {"upload": None})
        logger.warning("source not read", extra={"source_id": source.id, "failures": failures})
        if failures == FAILURES:
            self.metrics.count("SourcesFailing")

    def prune(self, source: Source) -> None:
        """Delete the files that no version needs any more (idempotent)."""
        query = Query.under(SourceVersion.partition(source.tenant, source.id), SourceVersion.PREFIX)
        versions = SourceVersion.each_of(self.table.query(query).items)
        texts = (source.text, source.held, *(each.text for each in versions))
        needed = {each.file for each in texts if each is not None}
        gone = [each for each in source.files if each not in needed]
        if gone:
            self.files.delete(*gone)
            self._write(source, {"files": tuple(each for each in source.files if each in needed)})

    def _drop(self, source: Source) -> None:
        """Delete the files, the versions and the item of a deleted source."""
        self.publisher.sweep(source.tenant)
        self.files.delete(*source.files)
        if source.upload is not None:
            self.files.delete(name_of_upload(source.tenant, source.upload))
        oldest = max(1, source.version - KEPT_VERSIONS)
        numbers = range(oldest, source.version + 1)
        keys = (SourceVersion.key_of(source.tenant, source.id, each) for each in numbers)
        self.table.transact([Delete(source.key), *map(Delete, keys)])

    def _write(self, source: Source, values: Mapping[str, Any]) -> Source:
        source, write = changed(source, revised(source, values))
        self.table.write(write)
        return source


def with_text(
    before: Source,
    text: SourceText,
    values: Mapping[str, Any],
    now: datetime,
    *,
    by: str | None = None,
    restored_from: int | None = None,
) -> PlannedChange:
    """Return the change that makes a text, or other fields, the newest version of a source.

    Args:
        values: Further new values of the source.
        by: The operator who makes the change; None for a reading in the background.
        restored_from: The version that is restored.
    """
    new = {"text": text, "version": before.version + 1, "changed_at": now, "changed_by": by}
    after = revised(before, {**values, **new})
    made = SourceVersion.of(after, text, restored_from=restored_from)
    writes: list[Write] = [Put(made.key, made.attributes())]
    if after.version > KEPT_VERSIONS:
        oldest = after.version - KEPT_VERSIONS
        writes.append(Delete(SourceVersion.key_of(after.tenant, after.id, oldest)))
    return PlannedChange(before, after, writes)


def next_reading(source: Source, now: datetime) -> datetime | None:
    """Return when a source is read again; None if it has no URL."""
    return now + timedelta(hours=source.refresh_hours) if source.url else None
