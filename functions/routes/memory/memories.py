"""Routes of agents' memories, for operators (function `admin_api`).

Memories that operators add are open. To reach memories of private chats, a request names the person
or the chat.
"""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import AgentId
from routes.crud import Crud
from routes.scope import OfChat, OfUser, WhyPrivate, in_open_scope, in_scope
from skein.bootstrap import service
from skein.memory.api.memories import (
    MemoryChange,
    MemoryPage,
    MemoryReplacement,
    MemoryResource,
    NewMemory,
)
from skein.memory.memories import Memories, MemoryState, RestsOn
from skein.memory.models.memory import Memory, MemoryKind
from skein.models.common.base import EntityId

MemoryId = Annotated[EntityId, Path(description="The id of a memory.")]
OfKind = Annotated[MemoryKind | None, Query(description="Only memories of this kind.")]
OfState = Annotated[
    MemoryState | None,
    Query(alias="state", description="`ended`: removed, superseded or faded."),
]
FromOne = Annotated[
    RestsOn | None,
    Query(
        description="`one_person`: open memories that one person's messages alone made, and that "
        "no operator has confirmed."
    ),
]

router = Crud(
    "memories",
    "memory",
    "/v1/agents/<agent_id>/memories/<memory_id>",
    MemoryId,
    parent=in_scope,
    service=Memories,
    shown=MemoryResource,
)

router.lists(
    MemoryPage,
    "List an agent's memories, active or ended",
    about="Lists memories of the open scope unless a user or a chat is given, oldest first.",
    kind=OfKind,
    status=OfState,
    rests_on=FromOne,
)
router.gets("Get a memory", about="Active and ended memories are found.")
router.changes(
    MemoryChange,
    "Confirm a memory, or make it public",
    409,
    about="Agents, consolidation and reflection neither change nor end a confirmed or public "
    "memory.",
)
router.deletes("Remove a memory", about="A removed memory can be restored.")


@router.post(
    "/v1/agents/<agent_id>/memories",
    "Add a memory to an agent",
    repeated="The memory already exists.",
)
def create_memory(agent_id: AgentId, new: NewMemory) -> tuple[MemoryResource, int]:
    """If a memory with the same text exists, it is returned with status 200."""
    owner = in_open_scope(router.caller, agent_id)
    added = service(Memories).add(
        owner,
        new.text,
        new.kind,
        made_by="api",
        constitutional=new.constitutional,
        public=new.public,
    )
    return MemoryResource.of(added.memory), 200 if added.known else 201


@router.post("/v1/agents/<agent_id>/memories/<memory_id>/restore", "Restore a memory", status=200)
def restore_memory(
    agent_id: AgentId,
    memory_id: MemoryId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> MemoryResource:
    """Removed and superseded memories can be restored.

    A restored journal entry fades at the same time as it would have without the removal.
    """
    reach = in_scope(router.caller, agent_id, user_id, chat_id, reason)
    return MemoryResource.of(service(Memories).restore(reach, memory_id))


@router.post(
    "/v1/agents/<agent_id>/memories/<memory_id>/supersede",
    "Replace a memory",
    409,
)
def supersede_memory(
    agent_id: AgentId,
    memory_id: MemoryId,
    new: MemoryReplacement,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> tuple[MemoryResource, int]:
    """The new memory keeps the kind, audience and source of the old one, which stays as superseded.

    To undo the call, restore the old memory and remove the new one.
    """
    reach = in_scope(router.caller, agent_id, user_id, chat_id, reason)
    memories = service(Memories)
    memory = router.once(
        Memory,
        lambda: memories.supersede(reach, memory_id, new.text),
        lambda new_id: memories.get(reach, new_id),
    )
    return MemoryResource.of(memory), 201
