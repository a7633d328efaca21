"""Memories that were made from one person's private messages to an agent."""

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from skein.models.common.base import Identifier, key_part
from skein.models.common.storage import Key, SortKeyPrefix
from skein.models.items.agent_item import AgentItem
from skein.models.visibility.ownership import owned_partition
from skein.recall.passages import PASSAGE

OwnWordsText = Annotated[str, StringConstraints(min_length=1, max_length=PASSAGE)]


class OwnWordsMemory(AgentItem):
    """A memory made only from one person's messages; the sharing rules of these messages apply.

    Its sources are the individual messages in `made_from`. Only a sharing rule can show this memory
    to readers. Prompts for the person show other memories, which were made from the whole
    conversation.

    Attributes:
        id: `own_<ulid>`.
        text: At most one passage, so that the index has one vector for it.
        source_chat_id: The person's direct chat.
    """

    PREFIX: ClassVar = SortKeyPrefix("ALONE#")  # sorts before everything that prompts read
    LIVE_STATUS: ClassVar = "live"
    COUNTER: ClassVar = "revision"
    TEXTS: ClassVar = ("text",)

    text: OwnWordsText
    source_chat_id: Identifier
    status: Literal["live"] = "live"

    @property
    def seqs(self) -> tuple[int, ...]:
        """The numbers of the memory's source messages, ascending."""
        spans = self.made_from.spans
        return tuple(seq for span in spans for seq in range(span.first_seq, span.last_seq + 1))

    @property
    def last_seq(self) -> int:
        """The number of the last source message, which is part of the memory's key in the index."""
        return self.made_from.spans[-1].last_seq

    @staticmethod
    def own_key(
        tenant: str, agent_id: str, scope: str | None, chat_id: str, last_seq: int, own_id: str = ""
    ) -> Key:
        """Return the key of a memory. A chat's memories sort by their last source messages."""
        end = f"{key_part(chat_id)}#{last_seq:012d}#{key_part(own_id)}"
        return Key(owned_partition(tenant, agent_id, scope), f"{OwnWordsMemory.PREFIX}{end}")

    @property
    def key(self) -> Key:
        owned = (self.tenant, self.agent_id, self.scope)
        return self.own_key(*owned, self.source_chat_id, self.last_seq, self.id)
