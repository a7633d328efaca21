"""What becomes of a chat's messages once it is quiet: when, for whom, and what came of it."""

from datetime import datetime, timedelta
from typing import Any

from skein.models.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.chat import chat_partition
from skein.models.completion import TokenUsage
from skein.models.due import NOT_DUE, due_mark
from skein.models.storage import Item, Key

HISTORY = timedelta(days=90)  # how long it is on record what consolidation did


class Consolidation(Stored):
    """That a chat is to be consolidated; beside the chat, since that carries a mark of its own.

    It is due as long as `Chat.consolidation_at` is set; both are set and cleared together.

    Attributes:
        requested_seq: Somebody wants everything up to here remembered now, however busy the chat.
        busy_until: A worker is at it, at most until then.
    """

    tenant: Tenant
    chat_id: Identifier
    requested_seq: int | None = None
    busy_until: Instant | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str) -> Key:
        """Return the key of a chat's consolidation."""
        return Key(chat_partition(tenant, chat_id), "META#CONSOLIDATION")

    @property
    def key(self) -> Key:
        """The key of this item."""
        return self.key_of(self.tenant, self.chat_id)

    def due(self, at: datetime | None) -> dict[str, Any]:
        """The attributes that bring the finder at `at`, or not at all."""
        if at is None:
            return dict(NOT_DUE)
        return due_mark("consolidation", self.key, at)

    def to_item(self, at: datetime | None) -> Item:
        """Return the consolidation as table attributes, due at `at` or not at all."""
        return self.attributes() | self.due(at)


class Kept(Value):
    """How many memories came of a chunk.

    Attributes:
        superseded: How many older ones gave way to them.
        doubles: How many were not stored, since the agent remembered the same already.
    """

    core: int = 0
    journal: int = 0
    superseded: int = 0
    doubles: int = 0


class ConsolidationRecord(Stored):
    """What one chunk of a chat gave one agent, or why it gave nothing.

    Attributes:
        id: `con_<ulid>`.
        from_seq: The first message of the chunk.
        to_seq: The last one.
        messages: How many people's and agents' messages it held.
        passed_over: The model was not asked: nobody who was there for it is still there.
        failure: Why nothing came of it; None if it went well.
    """

    tenant: Tenant
    chat_id: Identifier
    id: Identifier
    agent_id: Identifier
    from_seq: int
    to_seq: int
    messages: int
    kept: Kept = Kept()
    usage: TokenUsage = TokenUsage()
    passed_over: bool = False
    failure: str | None = None
    at: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, record_id: str) -> Key:
        """Return the key of a record; they sort by time."""
        return Key(chat_partition(tenant, chat_id), f"CONSOLIDATED#{record_id}")

    @property
    def key(self) -> Key:
        """The key of this record."""
        return self.key_of(self.tenant, self.chat_id, self.id)

    @property
    def expires_at(self) -> datetime:
        """From when on it is shown no more."""
        return self.at + HISTORY

    def to_item(self) -> Item:
        """Return the record as table attributes; it expires."""
        return self.attributes() | {"expires_at": int(self.expires_at.timestamp())}
