"""Read sources in the background, and publish each new text unless a guard holds it back."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from skein.errors import ConditionFailed, Conflict, Unprocessable
from skein.knowledge.fetching import Fetcher, ReadPages
from skein.knowledge.index import (
    NO_VALIDATORS,
    KnowledgeFiles,
    name_of_source,
    name_of_upload,
    pages_of,
    source_file,
)
from skein.knowledge.models.source import Source, SourceText
from skein.knowledge.publishing import PlannedChange, Publisher
from skein.models.common.storage import Delete
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
        due = source.next_at is not None and source.next_at <= now
        with suppress(ConditionFailed, Conflict):  # an operator has changed the source
            if source.deleted:
                self._drop(source)
            elif source.state == "reading" or due:
                self._read(source, min(deadline, now + READ_TIME))

    def _read(self, source: Source, until: datetime) -> None:
        """Read a source, and use its new text; if that fails, keep the old text and record why."""
        try:
            passages, validators = self._passages(source, until)
        except Unprocessable as refused:
            self._failed(source, str(refused))
            return
        content = source_file(passages, self.embeddings(), validators)
        text = SourceText(
            file=name_of_source(source.tenant, source.id, content),
            characters=sum(len(each.text) for each in passages),
            passages=len(passages),
            as_of=self.clock.now(),
        )
        self._take_over(source, text, content)

    def _passages(self, source: Source, until: datetime) -> ReadPages:
        if source.upload is not None:
            content = self.files.find(name_of_upload(source.tenant, source.upload))
            if content is None:
                raise Unprocessable("upload_id: the file is gone; it must be read within a day")
            return self.fetcher.file(content, source.upload), NO_VALIDATORS
        known = pages_of(self.files.get(source.text.file)) if source.text else ((), NO_VALIDATORS)
        return self.fetcher.pages(source.url or "", *known, until=until)

    def _take_over(self, source: Source, text: SourceText, content: bytes) -> None:
        """Store a text, and make it the newest version unless the guard holds it back.

        The guard holds back a web text that is much shorter than the previous one.

        Raises:
            Conflict: An operator has changed the source since it was read.
        """
        last, upload = source.text, source.upload
        values: dict[str, Any] = {
            "state": "ready", "error": None, "failures": 0, "held": None, "upload": None,
            "checked_at": text.as_of, "next_at": next_reading(source, text.as_of),
        }  # fmt: skip
        if last is not None and last.file == text.file:
            self.publisher.write(source, values)
            return
        source = self.publisher.write(
            source, {"files": tuple(dict.fromkeys((*source.files, text.file)))}
        )
        self.files.put(text.file, content)
        if upload is None and last is not None and text.characters * MUCH < last.characters:
            values |= {"state": "held", "held": text, "error": SHORTER}
            self.publisher.write(source, values)
            return

        def planned() -> PlannedChange:
            current = Source.read(self.table, source.key)
            if current is None or current.revision != source.revision:
                raise Conflict("the source was changed")
            return PlannedChange(source, values | with_text(source, text, text.as_of))

        try:
            self.publisher.publish(planned)
        except Unprocessable as refused:  # all sources together would be too large
            self._failed(source, str(refused))
            return
        if upload is not None:
            self.files.delete(name_of_upload(source.tenant, upload))

    def _failed(self, source: Source, why: str) -> None:
        """Keep the old text, and record why there is no newer one."""
        failures, now = source.failures + 1, self.clock.now()
        values = {
            "state": "failed" if source.text is None else "held",
            "error": why,
            "failures": failures,
            "next_at": min(now + AGAIN, next_reading(source, now) or now) if source.url else None,
            "upload": None,
        }
        self.publisher.write(source, values)
        logger.warning("source not read", extra={"source_id": source.id, "failures": failures})
        if failures == FAILURES:
            self.metrics.count("SourcesFailing")

    def _drop(self, source: Source) -> None:
        """Delete the files, the versions and the item of a deleted source."""
        self.publisher.sweep(source.tenant)
        self.files.delete(*source.files)
        if source.upload is not None:
            self.files.delete(name_of_upload(source.tenant, source.upload))
        keys = [each.key for each in self.publisher.versions(source)]
        self.table.transact([Delete(source.key), *map(Delete, keys)])


def with_text(
    source: Source, text: SourceText, now: datetime, *, by: str | None = None
) -> dict[str, Any]:
    """Return the field values that give a source a new version with this text.

    Args:
        by: The operator who makes the change; None for a reading in the background.
    """
    return {"text": text, "version": source.version + 1, "changed_at": now, "changed_by": by}


def next_reading(source: Source, now: datetime) -> datetime | None:
    """Return when a source is read again; None if it has no URL."""
    return now + timedelta(hours=source.refresh_hours) if source.url else None
