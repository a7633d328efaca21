"""Merge of users: move agents' items from the former user's scope to the known user's.

Documents move first, because threads list them by name. Then each other item moves on its own, so
that a crashed move continues where it stopped.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from skein.errors import ConditionFailed
from skein.models.chats.chat import Chat
from skein.models.common.storage import (
    Delete,
    Exists,
    Is,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Update,
    Write,
    all_of,
    at_version,
    key_kind,
)
from skein.models.items.agent_item import revision_key, touched
from skein.models.outbox.due import moved_pointer
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import owned_partition
from skein.planning.models.plan import Plan
from skein.ports import Table
from skein.workspace.document_names import under_free_name
from skein.workspace.models.document import (
    RENAMED,
    Document,
    Folder,
    PinnedDocuments,
    RenamedDocument,
    listed_with,
)
from skein.workspace.models.thread import Thread

logger = logging.getLogger(__name__)


def move_owned(table: Table, tenant: str, agent_id: str, old: str, new: str) -> None:
    """Move an agent's items from the scope of `old` to the scope of `new` (idempotent).

    If both scopes have an item with the same key, the item of `new` stays and the item of `old` is
    deleted. Documents are always kept: a document whose name is taken gets another name, and its
    threads list the new name.

    Raises:
        ConditionFailed: An item has changed since it was read; read again.
        Conflict: No name is free for a document.
    """
    scope = f"user:{new}"
    partition = owned_partition(tenant, agent_id, scope)
    revision = revision_key(tenant, agent_id, f"user:{old}")
    home = Folder(tenant=tenant, agent_id=agent_id, scope=f"user:{old}")
    folder = Folder(tenant=tenant, agent_id=agent_id, scope=scope)
    items = table.query(Query(revision.pk)).items
    names = _move_documents(table, items, folder, old, new)
    for item in items:
        key = Key(item["pk"], item["sk"])
        if key.sk.startswith((Document.PREFIX, RENAMED)):
            continue
        if key in (revision, home.pins_key):  # each pinned document is pinned again as it moves
            table.write(Delete(key))
            continue
        moved_key, moved = _moved(item, partition, scope, old, new, names)
        as_read = Is("version", item["version"]) if "version" in item else Exists()
        gone = Delete(key, as_read)
        try:
            put = Put(moved_key, moved, Missing())
            table.transact([put, gone, touched(tenant, agent_id, scope)])
        except ConditionFailed as failure:
            if 0 not in failure.failed:
                raise
            logger.warning(
                "item dropped in a merge: its name is already taken", extra={"agent_id": agent_id}
            )
            table.write(gone)
    for name in names:
        table.write(Delete(home.renamed_key(name)))


def rename_owned(table: Table, chat: Chat, agent_id: str, old: str, new: str) -> None:
    """Replace `old` by `new` in the audiences of the items that an agent has for a private chat.

    Raises:
        ConditionFailed: An item has changed since it was read; read again.
    """
    tenant, scope = chat.tenant, f"chat:{chat.id}"
    for item in table.query(Query(owned_partition(tenant, agent_id, scope))).items:
        before = item.get("audience")
        after = _renamed(before, old, new)
        if after == before:
            continue
        change = Update(
            Key(item["pk"], item["sk"]),
            set={"audience": after},
            add={"version": 1} if "version" in item else {},
            condition=Is("audience", before),
        )
        table.transact([change, touched(tenant, agent_id, scope)])


def _moved(
    item: Item, partition: str, scope: str, old: str, new: str, names: Mapping[str, str]
) -> tuple[Key, Item]:
    """Return an item's key and attributes in its new scope; the due time does not change."""
    key = Key(partition, item["sk"])
    moved = {name: value for name, value in item.items() if name not in {"pk", "sk"}}
    moved["audience"] = _renamed(item.get("audience"), old, new)
    if "scope" in item:
        moved["scope"] = scope
    if Thread.PREFIX.holds(item) or Thread.PREFIX.ended.holds(item):
        moved["documents"] = [names.get(name, name) for name in item.get("documents", ())]
    if key_kind(key.sk) == Plan.PREFIX.kind:  # a plan's id depends on its scope and name
        plan = Plan.from_item(moved)
        plan_id = Plan.id_of(plan.agent_id, plan.scope, plan.name, plan.generation)
        key = plan.model_copy(update={"id": plan_id}).key
        moved["id"] = plan_id
        if moved.get("set_by") == old:
            moved["set_by"] = new
    if "gsi2sk" in item:
        moved |= moved_pointer(item, key)
    return key, moved


def _renamed(audience: Any, old: str, new: str) -> Any:
    if not isinstance(audience, dict):
        return audience
    return Audience.model_validate(audience).renamed(old, new).model_dump(mode="json")


# ---------------------------------------------------------------------- documents


def _move_documents(
    table: Table, items: Iterable[Item], folder: Folder, old: str, new: str
) -> dict[str, str]:
    """Move the documents among `items` to `folder` (safe to repeat after a crash).

    Args:
        items: All items in the former user's scope, as read.
        folder: The destination: the folder of an agent for the known user.
        old: The id of the former user.
        new: The id of the known user.

    Returns:
        The new names by former name, for documents whose name changed. Documents that an earlier,
        crashed attempt moved are included.

    Raises:
        ConditionFailed: An item has changed since it was read; read again.
        Conflict: No name is free for one of the documents.
    """
    names: dict[str, str] = {}
    documents: list[Item] = []
    for item in items:
        if Document.PREFIX.holds(item):
            documents.append(item)
        elif RENAMED.holds(item):
            names |= RenamedDocument.from_item(item).by_old
    for item in documents:
        names |= _move_document(table, item, folder, old, new)
    return names


def _move_document(table: Table, item: Item, folder: Folder, old: str, new: str) -> dict[str, str]:
    """Move a document, under another name if its own name is taken.

    Two documents of the same name may have different content, so both are kept. The same
    transaction stores a new name in the former scope, because the threads that list the document
    move later.

    Returns:
        The new name by former name; empty if the name did not change.
    """
    document = Document.from_item(item)
    as_read = all_of(Is("version", document.version), Is("generation", document.generation))
    moved = under_free_name(table, document, folder, first=1)
    audience = moved.audience.renamed(old, new)
    moved = moved.model_copy(update={"audience": audience})
    writes: list[Write] = [
        Put(moved.key, moved.to_item(), Missing()),
        Delete(document.key, as_read),
    ]
    renamed = RenamedDocument(old=document.name, new=moved.name)
    if renamed.old != renamed.new:
        writes.append(Put(document.folder.renamed_key(renamed.old), renamed.attributes()))
    if moved.pinned:
        writes.append(_pin_write(table, moved, folder))
    table.transact(writes)
    return renamed.by_old


def _pin_write(table: Table, document: Document, folder: Folder) -> Write:
    """Return the write that pins the document in `folder`, even if this exceeds the limit."""
    pins = PinnedDocuments.from_optional(table.get(folder.pins_key))
    ids = listed_with(pins.documents, document.id, listed=True)
    after = PinnedDocuments(documents=ids, version=pins.version + 1)
    return Put(folder.pins_key, after.attributes(), at_version(pins.version))
