"""Recall in a world: index all chats, and ask."""

from typing import Any
from zoneinfo import ZoneInfo

from skein.errors import Unavailable
from skein.models.chats.chat import Chat
from skein.models.common.storage import Item
from skein.models.common.vector_search import VectorSearch
from skein.models.outbox.jobs import RecallJob
from skein.models.visibility.ownership import scopes_at
from skein.recall.candidates import RecallRequest
from skein.recall.search import Recall, RecallResult
from skein.services.visibility.audience import destination_of, scope_of
from tests.support.builders import LONG_INVOCATION, TENANT, World, bot, person

HUSAM, LENA, COACH = person(), person("usr_lena", "Lena"), bot()
DEPOSIT = "The landlord wants a deposit of 1450 euros for the flat in Hafen"
SECRET = "The deposit of 900 euros must stay between us"


class FailingVectors:
    """An index that cannot be reached."""

    def nearest(self, search: VectorSearch) -> list[Item]:
        raise Unavailable(search.model)


def deposits(**given: Any) -> World:
    """Return a world with a message in an open group, and another one in a private chat of Lena."""
    world = World(**given)
    world.agent(enabled_tools=("recall",))
    world.known(HUSAM, LENA)
    world.chat(HUSAM, LENA, COACH, respond="manual")
    world.chat(LENA, COACH, chat_id="chat_2", title="Aside", visibility="private", respond="manual")
    world.post(DEPOSIT, HUSAM)
    world.post(SECRET, LENA, chat_id="chat_2")
    indexed(world, "chat_1", "chat_2")
    return world


def indexed(world: World, *chat_ids: str) -> None:
    """Index all messages of chats."""
    for chat_id in chat_ids:
        job = RecallJob(tenant=TENANT, chat_id=chat_id, first_seq=1)
        world.app.recall_worker.take(job, deadline=world.clock.now() + LONG_INVOCATION)


def recall_of(world: World, **others: Any) -> Recall:
    ports = world.app.ports
    given: dict[str, Any] = {
        "table": ports.table,
        "vectors": ports.vectors,
        "embeddings": ports.embeddings,
        "vocabulary": ports.vocabulary,
        "tokens": ports.tokens,
        "parallel_map": ports.parallel_map,
    }
    return Recall(**given | others)


def request_in(world: World, query: str, chat_id: str | None = "chat_1", **changes: Any) -> Any:
    chat: Chat | None = world.stored_chat(chat_id) if chat_id is not None else None
    given: dict[str, Any] = {
        "tenant": TENANT,
        "agent_id": "agt_a",
        "chat": chat,
        "scopes": scopes_at(scope_of(chat)),
        "readers": destination_of(chat),
        "query": query,
        "tokens": 1_000,
        "now": world.clock.now(),
        "zone": ZoneInfo("UTC"),
    }
    return RecallRequest(**given | changes)


def recalled(
    world: World, query: str, chat_id: str | None = "chat_1", **changes: Any
) -> RecallResult:
    return recall_of(world).find(request_in(world, query, chat_id, **changes))


def texts_of(found: RecallResult) -> list[str]:
    return [entry.message.text for entry in found.entries]
