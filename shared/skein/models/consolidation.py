"""What becomes of a chat's messages once it is quiet: when, for whom, and what came of it."""

from datetime import datetime
from typing import Any

from skein.models.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.chat import chat_partition
from skein.models.completion import TokenUsage
from skein.models.due import NOT_DUE, due_mark
from skein.models.storage import Item, Key

HISTORY_DAYS = 90  # how long it is on record what consolidation did


class Consolidation(Stored):
    """That a chat is to be consolidated; beside the chat, since that carries a mark of its own.

    The chat says when (`Chat.consolidation_at`), and both are written together.

    Attributes:
        requested_at: Set when somebody wants it now, however busy the chat is.
    """

    tenant: Tenant
    chat_id: Identifier
    requested_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str) -> Key:
        """The key of a chat's consolidation."""
        return Key(chat_partition(tenant, chat_id), "META#CONSOLIDATION")

    @staticmethod
    def due(tenant: str, chat_id: str, at: datetime | None) -> dict[str, Any]:
        """The attributes that bring the finder at `at`, or not at all."""
        if at is None:
            return dict(NOT_DUE)
        return due_mark("consolidation", Consolidation.key_of(tenant, chat_id), at)

    @property
    def key(self) -> Key:
        """This item's key."""
        return self.key_of(self.tenant, self.chat_id)


class Kept(Value):
    """How many memories came of a chunk."""

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
    failure: str | None = None
    at: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, record_id: str) -> Key:
        """The key of a record; they sort by time."""
        return Key(chat_partition(tenant, chat_id), f"CONSOLIDATED#{record_id}")

    @property
    def key(self) -> Key:
        """This record's key."""
        return self.key_of(self.tenant, self.chat_id, self.id)

    def to_item(self) -> Item:
        """The record as table attributes; it expires."""
        gone = int(self.at.timestamp()) + HISTORY_DAYS * 86_400
        return self.attributes() | {"expires_at": gone}
