"""Search the messages that a person may read, with the index of recall.

Each index belongs to an agent. A search therefore uses the indexes of the agents in the person's
newest chats, and finds only messages for which an agent was present. The cost of a search does not
depend on the length of the chats.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from skein.models.chats.chat import Chat
from skein.models.directory.user import User
from skein.models.visibility.audience import Audience
from skein.ports import Clock, Table
from skein.recall.candidates import OwnRequest
from skein.recall.layout import RecalledEntry
from skein.recall.search import Recall
from skein.services.chats.views import WINDOW, ChatViews
from skein.services.visibility.audience import scope_of

MAX_INDEXES = 8  # indexes that are searched in parallel
MAX_TOKENS = 5_000  # tokens of all messages that are returned
UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSearch:
    """The service with which people search the messages of their chats. It writes nothing."""

    table: Table
    clock: Clock
    views: ChatViews
    recall: Recall

    def find(
        self, tenant: str, user_id: str, query: str, *, limit: int
    ) -> tuple[RecalledEntry, ...]:
        """Find messages in a person's 50 newest chats, best first.

        Only chats of which the person is currently a member are searched. The ranking also uses
        only statistics of these chats.

        Args:
            query: The text to search for.

        Raises:
            Transient: The table or the vector index failed.
        """
        listed = self.views.chats(tenant, user_id, limit=WINDOW)
        chats = {own.chat.id: own.chat for own in listed.items}
        stored = User.read(self.table, User.key_of(tenant, user_id))
        zone = stored.time_zone if stored is not None else None
        request = OwnRequest(
            tenant=tenant,
            agent_id="",
            chat=None,
            scopes=(),
            readers=Audience(open=False, people=(user_id,)),
            query=query,
            tokens=MAX_TOKENS,
            now=self.clock.now(),
            zone=ZoneInfo(zone) if zone else UTC,
            own=chats,
            searched=indexes_of(chats.values()),
        )
        return self.recall.find(request).entries[:limit]


def indexes_of(chats: Iterable[Chat]) -> tuple[tuple[str, str | None], ...]:
    """Return the indexes that contain the messages of chats, as pairs of agent ID and scope.

    For each chat, an agent that joined early is chosen. If there are too many indexes, the indexes
    of the first chats are used.
    """
    found: dict[tuple[str, str | None], None] = {}
    for chat in chats:
        agents = [member.ref for member in chat.roster if member.kind == "agent"]
        if agents and len(found) < MAX_INDEXES:
            joined = [(chat.joined_late.get(str(agent), 0), agent.id) for agent in agents]
            found[min(joined)[1], scope_of(chat)] = None
    return tuple(found)
