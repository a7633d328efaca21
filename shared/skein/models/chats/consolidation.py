"""The item that says when the messages of a chat are due to be consolidated into memories."""

from datetime import datetime
from typing import Any, Self

from skein.models.chats.chat import Chat, ChatKind, chat_partition
from skein.models.common.base import Identifier, Tenant
from skein.models.common.storage import Item, Key
from skein.models.outbox.due import NOT_DUE, DueKind, LeasedItem, due_pointer


class Consolidation(LeasedItem):
    """The item with the due pointer for the consolidation of a chat.

    The item is separate from the chat, since the chat has its own due pointer. The due pointer and
    `Chat.consolidation_at` are set and cleared together.

    Attributes:
        kind: The chat's kind, which decides which function finds the due pointer: the tick for a
            direct chat, the hourly finder for a group.
        requested_seq: The highest message that an operator wants consolidated now, even if the chat
            is busy.
    """

    tenant: Tenant
    chat_id: Identifier
    kind: ChatKind
    requested_seq: int | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str) -> "Key[Consolidation]":
        return Key(chat_partition(tenant, chat_id), "META#CONSOLIDATION")

    @property
    def key(self) -> "Key[Consolidation]":
        return self.key_of(self.tenant, self.chat_id)

    @classmethod
    def of(cls, chat: Chat, *, requested_seq: int | None = None) -> Self:
        """Return a chat's item, for a write that makes consolidation due or no longer due."""
        return cls(tenant=chat.tenant, chat_id=chat.id, kind=chat.kind, requested_seq=requested_seq)

    def due(self, at: datetime | None) -> dict[str, Any]:
        """Return the attributes that make the item due at `at`, or not due if `at` is None."""
        if at is None:
            return dict(NOT_DUE)
        due_kind: DueKind = "direct_consolidation" if self.kind == "direct" else "consolidation"
        return {"due_tries": None} | due_pointer(due_kind, self.key, at)

    def to_item(self, at: datetime | None) -> Item:
        """Return the item's table attributes: due at `at`, or not due if `at` is None."""
        return self.attributes() | self.due(at)
