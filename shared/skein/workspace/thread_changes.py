"""Thread changes: functions that take an open thread and return the changed thread."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.storage import Item, Key
from skein.models.visibility.ownership import Readers
from skein.ports import Table
from skein.services.common.optimistic import invalid_arguments
from skein.workspace.models.document import Document
from skein.workspace.models.skill import MAX_SKILL_LABELS, SkillCatalog, SkillHead, SkillLabel
from skein.workspace.models.thread import Thread, ThreadStatus
from skein.workspace.skill_selection import all_heads

_LABEL: TypeAdapter[str] = TypeAdapter(SkillLabel)


class ThreadResources(NamedTuple):
    """The documents and skills that threads can use and that the readers of `reach` may see."""

    table: Table
    reach: Readers = Readers()

    def documents(self, thread: Thread, names: Sequence[str]) -> tuple[Document, ...]:
        """Get the documents of these names, without duplicates.

        Raises:
            NotFound: A document does not exist or may not be shown.
        """
        documents: dict[str, Document] = {}
        for name, document in self.look(thread, names).items():
            if document is None:
                raise NotFound(f"there is no document {name!r} of yours that a thread can hold")
            documents[document.name] = document
        return tuple(documents.values())

    def look(self, thread: Thread, names: Sequence[str]) -> dict[str, Document | None]:
        """Get documents by name. A deleted or hidden document is None."""
        keys = document_keys(thread, names)
        found = self.table.get_many(keys) if keys else {}
        return {name: document_in(thread, name, found, self.reach) for name in names}

    def skills(self, tenant: str, names: Iterable[str] = ()) -> dict[str, SkillHead]:
        """Get all skills of a tenant without their texts, and check that `names` exist.

        Raises:
            NotFound: A skill of `names` does not exist.
        """
        catalog = SkillCatalog.from_optional(self.table.get(SkillCatalog.key_of(tenant)))
        heads = all_heads(catalog)
        for name in names:
            if name not in heads:
                raise NotFound(f"there is no skill {name!r}")
        return heads


ThreadEdit = Callable[[Thread, ThreadResources], Thread]


def fields(changes: Mapping[str, Any]) -> ThreadEdit:
    """Return an edit that sets fields of a thread; an empty string clears a field."""

    def change(thread: Thread, resources: ThreadResources) -> Thread:
        after = validated(thread, changes)
        if "documents" in changes:
            names = tuple(each.name for each in resources.documents(thread, after.documents))
            after = after.model_copy(update={"documents": names})
        if "bound_skills" in changes:
            resources.skills(thread.tenant, after.bound_skills)
        return after

    return change


def attached(name: str) -> ThreadEdit:
    """Return an edit that adds a document to a thread (idempotent)."""

    def change(thread: Thread, resources: ThreadResources) -> Thread:
        [document] = resources.documents(thread, [name])
        if document.name in thread.documents:
            return thread
        return validated(thread, {"documents": (*thread.documents, document.name)})

    return change


def detached(name: str) -> ThreadEdit:
    """Return an edit that removes a document from a thread; the document itself is kept."""
    gone = Document.id_of(name)

    def change(thread: Thread, _: ThreadResources) -> Thread:
        kept = tuple(each for each in thread.documents if Document.id_of(each) != gone)
        return validated(thread, {"documents": kept})

    return change


def bound(name: str) -> ThreadEdit:
    """Return an edit that binds a skill to a thread (idempotent)."""

    def change(thread: Thread, resources: ThreadResources) -> Thread:
        resources.skills(thread.tenant, [name])
        kept = dict.fromkeys((*thread.bound_skills, name))
        return validated(thread, {"bound_skills": tuple(kept)})

    return change


def unbound(name: str) -> ThreadEdit:
    """Return an edit that unbinds a skill from a thread."""

    def change(thread: Thread, _: ThreadResources) -> Thread:
        kept = tuple(each for each in thread.bound_skills if each != name)
        return validated(thread, {"bound_skills": kept})

    return change


def combined(edits: Sequence[ThreadEdit]) -> ThreadEdit:
    """Return an edit that applies several edits to a thread, one after the other."""

    def change(thread: Thread, resources: ThreadResources) -> Thread:
        for edit in edits:
            thread = edit(thread, resources)
        return thread

    return change


def ended(
    status: ThreadStatus, at: datetime, *, evidence: str | None = None, learned: str | None = None
) -> ThreadEdit:
    """Return an edit that ends a thread, with its evidence and what was learned."""
    changes = {"status": status, "evidence": evidence, "learned": learned, "ended_at": at}
    return lambda thread, _: validated(thread, changes)


def operators(given: Mapping[str, Any], at: datetime) -> ThreadEdit | None:
    """Return the edit for an operator's request; None if only `active` is given.

    The caller applies `active` with `Threads.switch`.

    Raises:
        Unprocessable: `active` is true for a thread that ends, or `evidence` or `learned` is given
            without `status`.
    """
    ends = {name: given[name] for name in ("status", "evidence", "learned") if name in given}
    others = {name: given[name] for name in given if name not in {*ends, "active"}}
    if ends and "status" not in ends:
        raise Unprocessable("evidence and what was learned need a status")
    if ends and given.get("active"):
        raise Unprocessable("an ended thread cannot be active")
    if not ends:
        return fields(others) if others else None
    end = ended(at=at, **ends)
    return lambda thread, resources: end(fields(others)(thread, resources), resources)


# ---------------------------------------------------------------------- helpers


def check_open(thread: Thread) -> None:
    """Check that a thread is open.

    Raises:
        Conflict: The thread is completed or archived.
    """
    if not thread.live:
        raise Conflict(f"this thread is {thread.status}")


def validated(thread: Thread, changes: Mapping[str, Any]) -> Thread:
    """Return the thread with `changes`, validated; an empty string becomes None.

    Raises:
        Unprocessable: A value is invalid.
    """
    given = {name: None if value == "" else value for name, value in changes.items()}
    try:
        return Thread.model_validate(dict(thread) | given)
    except ValidationError as error:
        raise invalid_arguments(error) from None


def document_keys(thread: Thread, names: Iterable[str]) -> list[Key]:
    """Return the keys in the thread's folders for documents of these names."""
    return list(dict.fromkeys(folder.key(name) for name in names for folder in thread.folders))


def document_in(
    thread: Thread, name: str, found: Mapping[Key, Item], reach: Readers
) -> Document | None:
    """Find a thread's document among the items that were read.

    A thread has up to two folders of documents. If both have a document of this name, the document
    in the folder of the thread's own scope is returned.

    Args:
        name: The name of the document.
        found: The items that were read.
        reach: Decides which documents may be shown.
    """
    documents = Document.read_each(found, [folder.key(name) for folder in thread.folders])
    return next((document for document in documents if reach.shows(document)), None)


def with_inferred(
    thread: Thread, documents: Sequence[Document], heads: Mapping[str, SkillHead]
) -> Thread:
    """Fill a thread's missing mode and skill tags from its documents.

    The tags are the media types of the documents. The mode comes from the skills that have a mode
    and are tagged with the first document's media type: it is the first mode of the skill whose
    name sorts first.
    """
    types = dict.fromkeys(document.media_type for document in documents)
    tags = tuple(each for each in types if _is_label(each))[:MAX_SKILL_LABELS]
    known = [heads[name] for name in sorted(heads)]
    modes = (head.modes[0] for head in known if tags and tags[0] in head.tags and head.modes)
    names = tuple(document.name for document in documents)
    return thread.model_copy(
        update={
            "documents": names,
            "mode": thread.mode or next(modes, None),
            "skill_tags": thread.skill_tags or tags,
        }
    )


def _is_label(media_type: str) -> bool:
    try:
        return _LABEL.validate_python(media_type) == media_type
    except ValidationError:
        return False
