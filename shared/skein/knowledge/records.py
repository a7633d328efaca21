"""The sources of a tenant: create, change, list, restore and delete them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from skein.errors import Conflict, NotFound, Unprocessable
from skein.knowledge.index import KnowledgeFiles, name_of_upload, pages_of
from skein.knowledge.models.source import (
    MAX_SOURCES,
    SOURCE_FIELDS,
    NamedSource,
    Source,
    SourceVersion,
    sources_partition,
)
from skein.knowledge.passages import SourcePassage
from skein.knowledge.publishing import PlannedChange, Publisher
from skein.knowledge.reading import with_text
from skein.media.uploads import UPLOAD_SECONDS
from skein.models.common.file import FileUpload, SignedUpload
from skein.models.common.storage import Missing, Put, Query
from skein.ports import Clock, Files, Ids, Table
from skein.services.common.optimistic import invalid_arguments
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.knowledge.api import NewSource, SourceChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The service of a tenant's sources."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    bucket: Callable[[], Files]
    files: KnowledgeFiles
    publisher: Publisher

    def begin_upload(self, tenant: str, upload: FileUpload) -> tuple[str, SignedUpload, datetime]:
        """Return the id of an upload, the signed URL for the file, and the time the URL expires."""
        ending = "csv" if "csv" in upload.content_type else "file"
        upload_id = f"up_{self.ids.ulid().lower()}.{ending}"
        name = name_of_upload(tenant, upload_id)
        signed = self.bucket().upload_url(name, upload, seconds=UPLOAD_SECONDS)
        return upload_id, signed, self.clock.now() + timedelta(seconds=UPLOAD_SECONDS)

    def create(self, tenant: str, new: "NewSource", *, by: str | None = None) -> Source:
        """Create a source, which is read in the background.

        Raises:
            Conflict: The tenant has too many sources.
            Unprocessable: The file was not uploaded.
        """
        page = self.table.query(Query.under(sources_partition(tenant), Source.PREFIX))
        if len(page.items) >= MAX_SOURCES:
            raise Conflict(f"a tenant has at most {MAX_SOURCES} sources")
        now = self.clock.now()
        source = Source(
            tenant=tenant,
            id=f"src_{self.ids.ulid()}",
            upload=self._upload(tenant, new.text, new.upload_id),
            next_at=now + OUTBOX_GRACE,
            created_at=now,
            changed_by=by,
            **{name: getattr(new, name) for name in SOURCE_FIELDS},
        )
        self.table.write(Put(source.key, source.to_item(source.next_at), Missing()))
        self.dispatch.send([source.job])
        return source

    def get(self, tenant: str, source_id: str) -> Source:
        """Return a source.

        Raises:
            NotFound: There is no such source.
        """
        source = Source.read(self.table, Source.key_of(tenant, source_id))
        if source is None or source.deleted:
            raise NotFound("source not found")
        return source

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Source]:
        """List a page of a tenant's sources, oldest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        page = list_partition(
            self.table,
            sources_partition(tenant),
            (Source.PREFIX,),
            Source.from_item,
            limit=limit,
            cursor=cursor,
        )
        return Listing(tuple(each for each in page.items if not each.deleted), page.next_cursor)

    def change(
        self, tenant: str, source_id: str, change: "SourceChange", *, by: str | None = None
    ) -> Source:
        """Change some of a source's fields, which makes a new version.

        A new URL, text or file is read in the background. Until it is read, the previous text
        stays.

        Raises:
            NotFound: There is no such source.
            Unprocessable: A field's value is invalid, or all sources together would be too large.
        """
        now = self.clock.now()
        given = change.given | {"changed_at": now, "changed_by": by}
        upload = self._upload(tenant, given.pop("text", None), given.pop("upload_id", None))
        if upload is not None:
            given |= {"upload": upload, "url": None}

        def planned() -> PlannedChange:
            source = self.get(tenant, source_id)
            values = given | _checked(
                {name: getattr(source, name) for name in SOURCE_FIELDS} | given
            )
            if upload is not None or values["url"] != source.url:
                values |= {"state": "reading", "next_at": now + OUTBOX_GRACE}
            if source.text is not None:
                values |= with_text(source, source.text, now, by=by)
            return PlannedChange(source, values)

        source = self.publisher.publish(planned)
        if source.state == "reading":
            self.dispatch.send([source.job])
        return source

    def refresh(self, tenant: str, source_id: str) -> Source:
        """Read a URL again now, in the background.

        Raises:
            NotFound: There is no such source.
            Unprocessable: The source has no URL.
        """

        def planned() -> PlannedChange:
            source = self.get(tenant, source_id)
            if source.url is None:
                raise Unprocessable("url: only a source with a URL is read again")
            return PlannedChange(source, {"next_at": self.clock.now()})

        source = self.publisher.publish(planned)
        self.dispatch.send([source.job])
        return source

    def versions(
        self, tenant: str, source_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[SourceVersion]:
        """List a page of a source's newest 10 versions, newest first.

        Raises:
            NotFound: There is no such source.
            Invalid: The cursor does not belong to this list.
        """
        self.get(tenant, source_id)
        return list_partition(
            self.table,
            SourceVersion.partition(tenant, source_id),
            (SourceVersion.PREFIX,),
            SourceVersion.from_item,
            limit=limit,
            cursor=cursor,
        )

    def passages(self, tenant: str, source_id: str, version: int) -> Sequence[SourcePassage]:
        """Return the text of a version. Version 0 is the text that is held back.

        Raises:
            NotFound: The source or the version does not exist.
        """
        found = self._version(self.get(tenant, source_id), version)
        return pages_of(self.files.get(found.text.file))[0]

    def restore(
        self, tenant: str, source_id: str, version: int, *, by: str | None = None
    ) -> Source:
        """Give a source the fields and the text of an earlier version, as a new version.

        Version 0 stands for the text that is held back; restoring version 0 accepts this text.

        Raises:
            NotFound: The source or the version does not exist.
            Unprocessable: All sources together would be too large.
        """

        def planned() -> PlannedChange:
            source = self.get(tenant, source_id)
            found = self._version(source, version)
            values = _checked(found.fields) | {
                "text": found.text, "state": "ready", "error": None, "held": None, "upload": None,
            }  # fmt: skip
            if all(getattr(source, name) == value for name, value in values.items()):
                return PlannedChange(source, {})
            values |= with_text(source, found.text, self.clock.now(), by=by)
            return PlannedChange(source, values, restored_from=version or None)

        return self.publisher.publish(planned)

    def delete(self, tenant: str, source_id: str) -> None:
        """Delete a source. From now on, no new prompt shows its text.

        Raises:
            NotFound: There is no such source.
            Transient: The table or the bucket failed.
        """
        gone = {"deleted": True, "next_at": self.clock.now() + OUTBOX_GRACE}
        source = self.publisher.publish(lambda: PlannedChange(self.get(tenant, source_id), gone))
        self.dispatch.send([source.job])

    def _version(self, source: Source, version: int) -> SourceVersion:
        if version == 0 and source.held is not None:
            return SourceVersion.of(source.model_copy(update={"text": source.held}))
        key = SourceVersion.key_of(source.tenant, source.id, version)
        found = SourceVersion.read(self.table, key)
        if found is None:
            raise NotFound("version not found")
        return found

    def _upload(self, tenant: str, text: str | None, upload_id: str | None) -> str | None:
        """Return the id of the upload with a source's text or file; None if neither is given.

        Raises:
            Unprocessable: The file was not uploaded.
        """
        if text is not None:
            upload_id = f"up_{self.ids.ulid().lower()}.file"
            content = text.encode(errors="replace")
            self.bucket().put(name_of_upload(tenant, upload_id), content, "text/markdown")
        elif (
            upload_id is not None and self.bucket().head(name_of_upload(tenant, upload_id)) is None
        ):
            raise Unprocessable("upload_id: no such file was uploaded within a day")
        return upload_id


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a source, after checking that they are valid together.

    Raises:
        Unprocessable: A field is invalid, or the fields contradict each other.
    """
    try:
        return dict(
            NamedSource.model_validate(
                {name: fields[name] for name in SOURCE_FIELDS if name in fields}
            )
        )
    except ValidationError as error:
        raise invalid_arguments(error) from None
