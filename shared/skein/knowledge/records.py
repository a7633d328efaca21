"""The sources of a tenant: create, change, list, restore and delete them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from skein.errors import Conflict, NotFound, TooLarge, Unprocessable
from skein.knowledge.files import KnowledgeFiles, name_of_upload
from skein.knowledge.index import pages_of
from skein.knowledge.models.source import (
    MAX_FILE_BYTES,
    MAX_SOURCES,
    SOURCE_FIELDS,
    NamedSource,
    Source,
    SourceVersion,
    sources_partition,
)
from skein.knowledge.passages import SourcePassage
from skein.knowledge.publishing import PlannedChange, Publisher, revised
from skein.knowledge.reading import SourceReader, with_text
from skein.models.common.file import FileUpload, SignedUpload
from skein.models.common.storage import Missing, Put, Query
from skein.ports import Clock, Files, Ids, Table
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.knowledge.api import NewSource, SourceChange

UPLOAD_SECONDS = 600


class BegunSourceUpload(NamedTuple):
    """A file that a client may now upload."""

    id: str
    signed: SignedUpload


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
    reader: SourceReader

    def begin_upload(self, tenant: str, upload: FileUpload) -> BegunSourceUpload:
        """Sign a URL to which a client uploads a file for a source."""
        ending = "csv" if "csv" in upload.content_type else "file"
        upload_id = f"up_{self.ids.ulid().lower()}.{ending}"
        name = name_of_upload(tenant, upload_id)
        return BegunSourceUpload(
            upload_id, self.bucket().upload_url(name, upload, seconds=UPLOAD_SECONDS)
        )

    def create(self, tenant: str, new: "NewSource", *, by: str | None = None) -> Source:
        """Create a source, which is read in the background.

        Raises:
            Conflict: The tenant has too many sources.
            TooLarge: The text has too many bytes.
            Unprocessable: The text is empty, or the file was not uploaded.
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

        Another URL, text or file is read in the background; until then, the last text stays.

        Raises:
            NotFound: There is no such source.
            TooLarge: The text has too many bytes.
            Unprocessable: A field's value cannot work, or all sources together would be too large.
        """
        given, now = change.given, self.clock.now()
        upload = self._upload(tenant, given.pop("text", None), given.pop("upload_id", None))

        def attempt() -> PlannedChange:
            source = self.get(tenant, source_id)
            values: dict[str, Any] = {**given, "changed_at": now, "changed_by": by}
            if upload is not None:
                values |= {"upload": upload, "url": None}
            if upload is not None or given.get("url", source.url) != source.url:
                values |= {"state": "reading", "next_at": now + OUTBOX_GRACE}
            return self._revised(source, values, by)

        source = self.publisher.publish(attempt)
        if source.state == "reading":
            self.dispatch.send([source.job])
        return source

    def refresh(self, tenant: str, source_id: str) -> Source:
        """Read a URL again now, in the background.

        Raises:
            NotFound: There is no such source.
            Unprocessable: The source has no URL.
        """

        def attempt() -> PlannedChange:
            source = self.get(tenant, source_id)
            if source.url is None:
                raise Unprocessable("url: only a source with a URL is read again")
            return PlannedChange(source, source.model_copy(update={"next_at": self.clock.now()}))

        source = self.publisher.publish(attempt)
        self.dispatch.send([source.job])
        return source

    def accept(self, tenant: str, source_id: str, *, by: str | None = None) -> Source:
        """Take over the text that the guard holds back.

        Raises:
            NotFound: There is no such source.
            Conflict: No text is held back.
            Unprocessable: All sources together would be too large.
        """

        def attempt() -> PlannedChange:
            source = self.get(tenant, source_id)
            if source.held is None:
                raise Conflict("no text is held back")
            values = {"held": None, "state": "ready", "error": None}
            return with_text(source, source.held, values, self.clock.now(), by=by)

        return self._published(attempt)

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
        """Return the text of a version; 0 returns the text that is held back.

        Raises:
            NotFound: The source or the version does not exist.
        """
        source = self.get(tenant, source_id)
        text = self._version(source, version).text if version else source.held
        if text is None:
            raise NotFound("no text is held back")
        return pages_of(self.files.get(text.file))[0]

    def restore(
        self, tenant: str, source_id: str, version: int, *, by: str | None = None
    ) -> Source:
        """Give a source the fields and the text of an earlier version, as a new version.

        Raises:
            NotFound: The source or the version does not exist.
            Unprocessable: All sources together would be too large.
        """

        def attempt() -> PlannedChange:
            source = self.get(tenant, source_id)
            found = self._version(source, version)
            fields = dict(NamedSource.model_validate(found.fields))
            values = {**fields, "state": "ready", "error": None, "held": None, "upload": None}
            same = all(getattr(source, name) == value for name, value in values.items())
            if same and source.text == found.text:
                return PlannedChange(source, source)
            now = self.clock.now()
            return with_text(source, found.text, values, now, by=by, restored_from=version)

        return self._published(attempt)

    def delete(self, tenant: str, source_id: str) -> None:
        """Delete a source. From now on, no new prompt has its words.

        Raises:
            NotFound: There is no such source.
            Transient: The table or the bucket failed.
        """

        def attempt() -> PlannedChange:
            source = self.get(tenant, source_id)
            due = self.clock.now() + OUTBOX_GRACE
            return PlannedChange(
                source, source.model_copy(update={"deleted": True, "next_at": due})
            )

        source = self.publisher.publish(attempt)
        self.dispatch.send([source.job])

    def _published(self, attempt: Callable[[], PlannedChange]) -> Source:
        source = self.publisher.publish(attempt)
        optimistic(self.clock, lambda: self.reader.prune(self.get(source.tenant, source.id)))
        return source

    def _version(self, source: Source, version: int) -> SourceVersion:
        key = SourceVersion.key_of(source.tenant, source.id, version)
        found = SourceVersion.read(self.table, key)
        if found is None:
            raise NotFound("version not found")
        return found

    def _revised(self, source: Source, values: Mapping[str, Any], by: str | None) -> PlannedChange:
        """Return the change of fields, as a new version if the source has a text."""
        try:
            checked = NamedSource.model_validate(
                {name: values.get(name, getattr(source, name)) for name in SOURCE_FIELDS}
            )
        except ValueError as error:
            raise Unprocessable(str(error)) from None
        if (checked.audience == "roles") != bool(checked.roles):
            raise Unprocessable("roles: they belong to the audience `roles`, which needs one")
        if source.text is None:
            return PlannedChange(source, revised(source, values))
        return with_text(source, source.text, values, self.clock.now(), by=by)

    def _upload(self, tenant: str, text: str | None, upload_id: str | None) -> str | None:
        """Return where the text of a source is to be read; None for a URL.

        Raises:
            TooLarge: The text or the file has too many bytes.
            Unprocessable: The text is empty, or the file was not uploaded.
        """
        if text is not None:
            content = text.encode(errors="replace")
            if not text.strip():
                raise Unprocessable("text: it is empty")
            if len(content) > MAX_FILE_BYTES:
                raise TooLarge(f"text: a source has at most {MAX_FILE_BYTES:,} bytes")
            upload_id = f"up_{self.ids.ulid().lower()}.file"
            self.bucket().put(name_of_upload(tenant, upload_id), content, "text/markdown")
        elif upload_id is not None:
            found = self.bucket().head(name_of_upload(tenant, upload_id))
            if found is None:
                raise Unprocessable("upload_id: no such file was uploaded within a day")
            if found.size > MAX_FILE_BYTES:
                raise TooLarge(f"upload_id: a source has at most {MAX_FILE_BYTES:,} bytes")
        return upload_id
