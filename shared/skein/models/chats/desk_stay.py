"""A stay of a chat on the desk, with the texts that are shown only to the holder."""

from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from skein.models.chats.chat import Chat, chat_partition
from skein.models.chats.desk import DeskReason, Holder
from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part, rfc3339
from skein.models.common.storage import Exists, Item, Key, SortKeyPrefix, Update
from skein.models.visibility.ownership import StoredAuthors, StoredMadeFrom
from skein.models.visibility.provenance import NO_AUTHORS, NOTHING

ABOUT = timedelta(days=1)  # a stay's texts may refer to messages from this long before the stay
WORDS = ("reason", "summary", "briefing")
DeskEnd = Literal["handed_back", "silence", "discarded"]
"""Why a stay ended: the holder handed the chat back (or, without a holder, an operator dismissed
the request), or was silent for too long, or the chat was discarded while it waited."""


class DeskStay(Stored):
    """A stay of a chat on the desk: the request, its holder and its end.

    During the stay, `Chat.desk` is the authoritative state. This item lists the stay for operators.

    Attributes:
        id: `dsk_<ulid>`.
        since: When the chat was put on the desk.
        agent_id: The agent that asked for a person; None if no agent did.
        reason: Why the agent asks for a person, in its own words; shown only to the holder.
        summary: The agent's summary of the matter; shown only to the holder.
        authors: The people whose words the reason, summary and briefing may contain, as digests.
        made_from: The messages of the chat from which the agent wrote the reason and the summary.
        noticed_at: When the people of the chat were notified that a person was requested; None
            before that.
        holder: The person who holds or held the chat; None while the chat waits.
        briefing: The holder's note to the agents at the end.
        ended_at: When the stay ended; None while it lasts.
        ended_by: Why it ended.
        notified: If the holder did not end the stay, whether the people of the chat were notified
            of its end.
        version: The optimistic lock: every change raises it.
        expires_at: When the stay expires, in seconds since 1970, like a message of the same time.
    """

    PREFIX: ClassVar = SortKeyPrefix("DESK#")

    tenant: Tenant
    chat_id: Identifier
    id: Identifier
    since: Instant
    reason_code: DeskReason
    agent_id: Identifier | None = None
    reason: str | None = None
    summary: str | None = None
    authors: StoredAuthors = NO_AUTHORS
    made_from: StoredMadeFrom = NOTHING
    noticed_at: Instant | None = None
    holder: Holder | None = None
    taken_at: Instant | None = None
    answered_at: Instant | None = None
    briefing: str | None = None
    ended_at: Instant | None = None
    ended_by: DeskEnd | None = None
    notified: Annotated[bool, Field(exclude_if=lambda notified: not notified)] = False
    version: int = 1
    expires_at: int | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str, stay_id: str) -> "Key[DeskStay]":
        return Key(chat_partition(tenant, chat_id), f"{DeskStay.PREFIX}{key_part(stay_id)}")

    @property
    def key(self) -> "Key[DeskStay]":
        return self.key_of(self.tenant, self.chat_id, self.id)

    @property
    def has_words(self) -> bool:
        """Whether the stay has a reason, a summary or a briefing."""
        return any(getattr(self, name) is not None for name in WORDS)

    @property
    def without_words(self) -> Update:
        """The write that removes the reason, the summary, the briefing, and their sources."""
        return Update(self.key, set=dict.fromkeys((*WORDS, "made_from")), condition=Exists())

    def is_about(self, at: datetime) -> bool:
        """Return whether the stay's texts may refer to a message that was posted at this time.

        The texts may refer to messages from one day before the stay until its end.
        """
        return self.since - ABOUT <= at and (self.ended_at is None or at <= self.ended_at)

    def to_item(self) -> Item:
        """Return the stay as table attributes, with its index keys while it lasts."""
        listed = {
            "gsi1pk": desk_relation(self.tenant),
            "gsi1sk": f"{rfc3339(self.since)}#{self.chat_id}",
        }
        return self.attributes() | (listed if self.ended_at is None else {})


def desk_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's desk, which lists the oldest stay first."""
    return f"{key_part(tenant)}#DESK"


def is_current(stay: DeskStay, chat: Chat | None) -> bool:
    """Return whether a chat is on the desk with this stay; the index may still list ended stays."""
    return chat is not None and chat.desk is not None and chat.desk.session == stay.id
