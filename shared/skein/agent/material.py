"""What an agent has before it whatever it is at: documents on show, and the skills of its work.

Their ids come with what is read first: an agent's shelves stand beside its goals, and a chat knows
its own. So they are fetched together with all else that is read by its key (`agent/reading.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skein.agent.document_sections import OnShow
from skein.models.audience import Audience
from skein.models.chat import Chat
from skein.models.document import SHELF, Document, DocumentReach, Folder, Shelf
from skein.models.intent import owned_partition
from skein.models.skill import CORE
from skein.models.storage import Item, Key
from skein.services.skill_choice import Selection, keys_of_skills, selection


@dataclass(frozen=True, slots=True)
class Material:
    """What is to be fetched.

    Attributes:
        documents: Those on show: where each is kept, and its id.
        skills: Names.
    """

    tenant: str
    documents: tuple[tuple[Folder, str], ...]
    skills: tuple[str, ...] = (CORE,)

    @property
    def keys(self) -> list[Key]:
        """The keys of all of it."""
        documents = [folder.key(document_id) for folder, document_id in self.documents]
        return [*documents, *keys_of_skills(self.tenant, self.skills)]

    def found_documents(self, found: Mapping[Key, Item], place: Audience) -> tuple[OnShow, ...]:
        """Those of the documents that are there and may be shown at `place`."""
        shown = []
        for folder, document_id in self.documents:
            item = found.get(folder.key(document_id))
            if item is None:  # deleted this very moment
                continue
            document = Document.from_item(item)
            if DocumentReach(folders=(folder,), place=place).shows(document):
                shown.append(OnShow(document.name, document, of_chat=folder.chat_id is not None))
        return tuple(shown)

    def found_skills(self, found: Mapping[Key, Item]) -> Selection:
        """The skills, from what was read of the tenant's own, and else ours."""
        return selection(self.tenant, self.skills, found)


def material_of(
    tenant: str, agent_id: str, scope: str | None, chat: Chat | None, owned: Sequence[Item]
) -> Material:
    """What is on show for an agent that looks at `chat`: its open things, its others, the chat's.

    Args:
        tenant: Whose.
        agent_id: Whose.
        scope: Which of the agent's partitions holds what it makes there.
        chat: None for a run without one.
        owned: What was read of the agent's partitions.
    """
    shelves = {item["pk"]: Shelf.from_item(item) for item in owned if item["sk"] == SHELF}
    documents: list[tuple[Folder, str]] = []
    for each in dict.fromkeys((None, scope)):
        shelf = shelves.get(owned_partition(tenant, agent_id, each))
        if shelf is not None:
            folder = Folder(tenant=tenant, agent_id=agent_id, scope=each)
            documents += [(folder, document_id) for document_id in shelf.documents]
    if chat is not None:
        folder = Folder(tenant=tenant, chat_id=chat.id)
        documents += [(folder, document_id) for document_id in chat.documents]
    return Material(tenant, tuple(documents))
