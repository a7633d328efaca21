"""Another chat's last messages, staged for one activation of an agent in this chat."""

from typing import Annotated, ClassVar

from pydantic import Field

from skein.models.audience import Audience
from skein.models.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.chat import chat_partition
from skein.models.run import ShownStaging
from skein.models.storage import Item, Key, SortKeyPrefix

MAX_MESSAGES = 10
MAX_CHARACTERS = 2_000


class BorrowedMessage(Value):
    """Who said what in the other chat."""

    author: str
    text: Annotated[str, Field(max_length=MAX_CHARACTERS)]


class Borrowed(Stored):
    """What an agent has borrowed for this chat; at most one, the newest.

    Attributes:
        staging: Names this very staging, so that only a run that was shown it clears it.
        source_chat_id: Where it comes from; that chat may be gone by the time it is shown.
        audience: Who was there for all of it, checked again when it is shown.
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
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, agent_id: str) -> Key:
        """Return the key of what an agent has borrowed for a chat."""
        return Key(chat_partition(tenant, chat_id), f"{Borrowed.PREFIX}{key_part(agent_id)}")

    @property
    def key(self) -> Key:
        """The key of this staging."""
        return self.key_of(self.tenant, self.chat_id, self.agent_id)

    @property
    def shown(self) -> ShownStaging:
        """What a run remembers whose prompt holds it."""
        return ShownStaging(chat_id=self.chat_id, staging=self.staging)

    def to_item(self) -> Item:
        """Return the staging as table attributes."""
        return self.attributes()
