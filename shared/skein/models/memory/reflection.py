"""Records of reflection on journal entries that were about to fade."""

from skein.models.common.base import Identifier, Instant, Stored, Tenant
from skein.models.common.ownership import owned_partition
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.runs.completion import TokenUsage

HISTORY_DAYS = 90  # how long records of reflection are kept
REFLECTED = SortKeyPrefix("REFLECTED#")


class ReflectionRecord(Stored):
    """The record of one model call that decided about journal entries.

    The record holds the ids of the memories, not their text.

    Attributes:
        id: `ref_<ulid>`.
        scope: The scope of the journal entries; see `owned_partition`.
        considered: The ids of the journal entries that the model was asked about.
        promoted: The ids of the core memories that were made from some of them.
        failure: Why reflection failed; None if it succeeded.
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
        """Return the key of a record; keys sort by time."""
        return Key(owned_partition(tenant, agent_id, scope), f"{REFLECTED}{record_id}")

    @property
    def key(self) -> Key:
        """The key of this record."""
        return self.key_of(self.tenant, self.agent_id, self.scope, self.id)

    def to_item(self) -> Item:
        """Return the record as table attributes; the record expires."""
        gone = int(self.at.timestamp()) + HISTORY_DAYS * 86_400
        return self.attributes() | {"expires_at": gone}
