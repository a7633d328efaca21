"""Records of the results of consolidation."""

from datetime import datetime, timedelta

from skein.models.chats.chat import chat_partition
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.storage import Item, Key
from skein.models.runs.completion import TokenUsage

HISTORY = timedelta(days=90)  # how long records of consolidation are kept


class KeptCounts(Value):
    """Counts of the memories that a chunk gave.

    Attributes:
        core: How many core memories were stored.
        journal: How many journal entries were stored.
        superseded: How many older memories were superseded.
        doubles: How many memories were not stored, because the agent already had the same one.
        profile: How many fields of the person's profile were set.
    """

    core: int = 0
    journal: int = 0
    superseded: int = 0
    doubles: int = 0
    profile: int = 0


class ConsolidationRecord(Stored):
    """The record of consolidating one chunk of a chat for one agent.

    Attributes:
        id: `con_<ulid>`.
        from_seq: The first message of the chunk.
        to_seq: The last message of the chunk.
        messages: How many people's and agents' messages the chunk held.
        passed_over: Whether the model was not asked, because nobody who was present for the chunk
            is still in the chat.
        failure: Why consolidation failed; None if it succeeded.
    """

    tenant: Tenant
    chat_id: Identifier
    id: Identifier
    agent_id: Identifier
    from_seq: int
    to_seq: int
    messages: int
    kept: KeptCounts = KeptCounts()
    usage: TokenUsage = TokenUsage()
    passed_over: bool = False
    failure: str | None = None
    at: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, record_id: str) -> Key:
        """Return the key of a record; keys sort by time."""
        return Key(chat_partition(tenant, chat_id), f"CONSOLIDATED#{record_id}")

    @property
    def key(self) -> Key:
        """The key of this record."""
        return self.key_of(self.tenant, self.chat_id, self.id)

    @property
    def expires_at(self) -> datetime:
        """When the record expires."""
        return self.at + HISTORY

    def to_item(self) -> Item:
        """Return the record as table attributes; the record expires."""
        return self.attributes() | {"expires_at": int(self.expires_at.timestamp())}
