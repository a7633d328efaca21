"""Records of background work on memories, for operators: consolidations and reflections."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from skein.models.chats.chat import chat_partition
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.runs.completion import TokenUsage
from skein.models.visibility.ownership import owned_partition

HISTORY = timedelta(days=90)  # how long records are kept
CONSOLIDATED = SortKeyPrefix("CONSOLIDATED#")
REFLECTED = SortKeyPrefix("REFLECTED#")


class BackgroundRecord(Stored):
    """The record of one question of a background task. It has no words of people.

    Attributes:
        usage: The tokens of the question, and of the larger questions that failed and were split
            into smaller ones.
        failure: Why the question failed, as `Failure.why`; None if it succeeded.
    """

    tenant: Tenant
    agent_id: Identifier
    id: Identifier
    usage: TokenUsage = TokenUsage()
    failure: str | None = None
    at: Instant

    @property
    def expires_at(self) -> datetime:
        return self.at + HISTORY

    def to_item(self) -> Item:
        """Return the record as table attributes; the record expires."""
        return self.attributes() | {"expires_at": int(self.expires_at.timestamp())}


class KeptCounts(Value):
    """Counts of what was stored from a chunk.

    Attributes:
        core: How many core memories were stored.
        journal: How many journal entries were stored.
        superseded: How many older memories were superseded.
        removed: How many memories were removed because they are wrong.
        doubles: How many memories were not stored, because the agent already had a memory with the
            same words.
        profile: How many fields of the person's profile were set.
        own_words: How many memories of the person's own words were stored.
    """

    core: int = 0
    journal: int = 0
    superseded: int = 0
    removed: int = 0
    doubles: int = 0
    profile: int = 0
    own_words: Annotated[int, Field(exclude_if=lambda made: not made)] = 0


class ConsolidationRecord(BackgroundRecord):
    """The record of the consolidation of one chunk of a chat for one agent.

    Attributes:
        id: `con_<ulid>`.
        from_seq: The first message of the chunk.
        to_seq: The last message of the chunk.
        messages: How many messages of people and agents the chunk has.
        passed_over: Whether the model was not asked, because all people who were present for the
            chunk have left the chat.
    """

    chat_id: Identifier
    from_seq: int
    to_seq: int
    messages: int
    kept: KeptCounts = KeptCounts()
    passed_over: bool = False

    @staticmethod
    def key_of(tenant: str, chat_id: str, record_id: str) -> "Key[ConsolidationRecord]":
        """Return the key of a record; keys sort by time."""
        return Key(chat_partition(tenant, chat_id), f"{CONSOLIDATED}{record_id}")

    @property
    def key(self) -> "Key[ConsolidationRecord]":
        return self.key_of(self.tenant, self.chat_id, self.id)


class ReflectionRecord(BackgroundRecord):
    """The record of one question about journal entries.

    The record has the ids of the memories, but not their text.

    Attributes:
        id: `ref_<ulid>`.
        scope: The scope of the journal entries; see `owned_partition`.
        considered: The ids of the journal entries in the question.
        promoted: The ids of the core memories that were made from some of these entries.
    """

    scope: str | None = None
    considered: tuple[Identifier, ...]
    promoted: tuple[Identifier, ...] = ()

    @staticmethod
    def key_of(
        tenant: str, agent_id: str, scope: str | None, record_id: str
    ) -> "Key[ReflectionRecord]":
        """Return the key of a record; keys sort by time."""
        return Key(owned_partition(tenant, agent_id, scope), f"{REFLECTED}{record_id}")

    @property
    def key(self) -> "Key[ReflectionRecord]":
        return self.key_of(self.tenant, self.agent_id, self.scope, self.id)
