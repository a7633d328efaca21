"""What an agent made of the journal entries that were about to fade."""

from skein.models.base import Identifier, Instant, Stored, Tenant
from skein.models.completion import TokenUsage
from skein.models.ownership import owned_partition
from skein.models.storage import Item, Key, SortKeyPrefix

HISTORY_DAYS = 90  # how long it is on record
REFLECTED = SortKeyPrefix("REFLECTED#")


class ReflectionRecord(Stored):
    """One question about some journal entries, and what came of it.

    It holds no words of the memories, only which they were.

    Attributes:
        id: `ref_<ulid>`.
        scope: Which of the agent's partitions it was about; see `owned_partition`.
        considered: The journal entries that the agent was asked about, by id.
        promoted: The core memories that were made of some of them, by id.
        failure: Why nothing came of it; None if it went well.
    """

    tenant: Tenant
    agent_id: Identifier
    scope: str | None = None
    id: Identifier
    considered: tuple[Identifier, ...]
    promoted: tuple[Identifier, ...] = ()
    usage: TokenUsage = TokenUsage()
    failure: str | None = None
    at: Instant

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, record_id: str) -> Key:
        """Return the key of a record; they sort by time."""
        return Key(owned_partition(tenant, agent_id, scope), f"{REFLECTED}{record_id}")

    @property
    def key(self) -> Key:
        """The key of this record."""
        return self.key_of(self.tenant, self.agent_id, self.scope, self.id)

    def to_item(self) -> Item:
        """Return the record as table attributes; it expires."""
        gone = int(self.at.timestamp()) + HISTORY_DAYS * 86_400
        return self.attributes() | {"expires_at": gone}
