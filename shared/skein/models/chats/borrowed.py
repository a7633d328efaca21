"""Borrowed context: the last messages of another chat, stored for one prompt of an agent."""

from typing import Annotated, ClassVar

from pydantic import Field

from skein.models.chats.chat import chat_partition
from skein.models.common.base import (
    Identifier,
    Instant,
    MemberRef,
    Stored,
    Tenant,
    Value,
    key_part,
)
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.runs.run import ShownStaging
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import StoredAuthors
from skein.models.visibility.provenance import NO_AUTHORS

MAX_MESSAGES = 10
MAX_CHARACTERS = 2_000


class BorrowedMessage(Value):
    """One message of the borrowed context.

    Attributes:
        seq: The number of the message in its chat.
        author: The sender's name when the context was borrowed.
        text: The text, at most 2,000 characters.
        authors: The people whose words the message or its chat's title may contain, as digests.
    """

    seq: int
    author: str
    sender: MemberRef
    text: Annotated[str, Field(max_length=MAX_CHARACTERS)]
    authors: StoredAuthors = NO_AUTHORS


class BorrowedContext(Stored):
    """The messages of another chat that the agent's next prompt in this chat shows.

    Attributes:
        staging: The id of this borrowed context. Only a run whose prompt showed the context deletes
            it.
        source_chat_id: The chat of the messages, which may be deleted before they are shown.
        audience: The people who were present for all messages. The audience is checked again each
            time the messages are shown.
        last_message_at: When the newest of the messages was written.
    """

    PREFIX: ClassVar = SortKeyPrefix("BORROWED#")

    tenant: Tenant
    chat_id: Identifier
    agent_id: Identifier
    staging: str
    source_chat_id: Identifier
    source_title: str
    messages: tuple[BorrowedMessage, ...]
    audience: Audience
    last_message_at: Instant
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, agent_id: str) -> "Key[BorrowedContext]":
        return Key(chat_partition(tenant, chat_id), f"{BorrowedContext.PREFIX}{key_part(agent_id)}")

    @property
    def key(self) -> "Key[BorrowedContext]":
        return self.key_of(self.tenant, self.chat_id, self.agent_id)

    @property
    def shown(self) -> ShownStaging:
        """The reference that a run keeps when its prompt contains this borrowed context."""
        return ShownStaging(chat_id=self.chat_id, staging=self.staging)

    def to_item(self) -> Item:
        return self.attributes()
