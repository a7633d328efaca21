"""Store plans and documents under a new key when an erasure changes the name in the key."""

from skein.models.chats.chat import Chat
from skein.models.common.storage import Delete, Is, Missing, Put, Query, Write, all_of, at_version
from skein.planning.models.plan import Plan
from skein.ports import Table
from skein.services.common.optimistic import revise
from skein.services.items.store import replaced
from skein.workspace.document_edits import chat_key
from skein.workspace.document_names import under_free_name
from skein.workspace.models.document import Document, PinnedDocuments
from skein.workspace.models.thread import Thread


def under_free_id(table: Table, plan: Plan) -> Plan:
    """Return the plan with an id that fits its new name and that no other plan has."""
    generation = 0
    while True:
        plan_id = Plan.id_of(plan.agent_id, plan.scope, plan.name, generation)
        keys = Plan.keys_of(plan.tenant, plan.agent_id, plan.scope, plan_id)
        if not table.get_many(keys):
            return plan.model_copy(update={"id": plan_id, "generation": generation})
        generation += 1


def document_writes(table: Table, before: Document, after: Document) -> list[Write]:
    """Return the writes that store a changed document (optimistic lock).

    A new name means a new key. In lists, the new id then replaces the old id. In the threads of the
    folder, the new name replaces the old name.
    """
    as_read = all_of(Is("version", before.version), Is("generation", before.generation))
    after = after.model_copy(update={"version": before.version + 1})
    if after.name == before.name:
        return [Put(after.key, after.to_item(), as_read)]
    after = under_free_name(table, after, after.folder, first=1)
    return [
        Delete(before.key, as_read),
        Put(after.key, after.to_item(), Missing()),
        *_listed(table, before, after),
        *_renamed_in_threads(table, before, after),
    ]


def _listed(table: Table, before: Document, after: Document) -> list[Write]:
    """Return the write that replaces a document's old id in a list with the new id, if listed."""
    folder = before.folder
    key = chat_key(folder) if folder.chat_id is not None else folder.pins_key
    item = table.get(key)
    if item is None:
        return []
    known = Chat.from_item(item) if folder.chat_id is not None else PinnedDocuments.from_item(item)
    ids = tuple(after.id if each == before.id else each for each in known.documents)
    if ids == known.documents:
        return []
    if isinstance(known, Chat):
        return [revise(known, {"documents": ids})[1]]
    pins = PinnedDocuments(documents=ids, version=known.version + 1)
    return [Put(key, pins.attributes(), at_version(known.version))]


def _renamed_in_threads(table: Table, before: Document, after: Document) -> list[Write]:
    folder = before.folder
    if folder.agent_id is None:
        return []
    names = {before.name: after.name}
    page = table.query(Query.under(folder.partition, Thread.PREFIX))
    pairs = ((old, old.with_renamed_documents(names)) for old in Thread.each_of(page.items))
    return [write for old, new in pairs if new != old for write in replaced(old, new)]
