"""The preview of what recall finds, for operators."""

from dataclasses import dataclass

from skein.errors import NotFound
from skein.interface.reading import keys_of_person, zone_of_entries
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.visibility.ownership import scopes_at
from skein.models.visibility.provenance import NO_INSIDERS
from skein.own_tools.items import insiders_for
from skein.ports import Clock, Table
from skein.recall.candidates import RecallRequest
from skein.recall.search import Recall, RecallResult
from skein.services.chat_state.snapshot import chat_of_agent
from skein.services.visibility.audience import destination_of, scope_of
from skein.services.visibility.sharing_reads import read_sharing
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPreview:
    """The service that shows operators what an agent would recall. It only reads."""

    table: Table
    clock: Clock
    recall: Recall
    settings: Settings

    def find(
        self, tenant: str, agent_id: str, query: str, *, chat_id: str | None, tokens: int
    ) -> RecallResult:
        """Find old messages as the tool `recall` would in a chat.

        Args:
            query: The text to search for.
            chat_id: One of the agent's chats, whose members are the readers; None for messages that
                everyone may see.
            tokens: The token budget, including headings.

        Raises:
            NotFound: The agent or the chat does not exist, or the agent is not a member of the
                chat.
            Transient: The table or the vector index failed.
        """
        chat, member = (
            chat_of_agent(self.table, tenant, agent_id, chat_id) if chat_id else (None, None)
        )
        agent_key, person_keys = Agent.key_of(tenant, agent_id), keys_of_person(chat)
        found = self.table.get_many([agent_key, *person_keys])
        agent = Agent.read(found, agent_key)
        if agent is None or agent.deleted_at is not None:
            raise NotFound("agent not found")
        person = next(iter(User.read_each(found, person_keys)), None)
        now = self.clock.now()
        sharing = read_sharing(self.table, chat, {}, now, self.settings) if chat else None
        return self.recall.find(
            RecallRequest(
                tenant=tenant,
                agent_id=agent_id,
                chat=chat,
                member=member,
                scopes=scopes_at(scope_of(chat)),
                readers=destination_of(chat),
                query=query,
                tokens=tokens,
                now=now,
                zone=zone_of_entries(person, agent.time_zone),
                insiders=insiders_for(self.table, agent, chat) if chat else NO_INSIDERS,
                thorough=True,
                reader_rules=sharing.for_readers if sharing is not None else None,
            )
        )
