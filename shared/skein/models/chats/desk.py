"""The desk: the state of a chat that waits for a person of the team, or was taken over.

The state is an attribute of the chat's own item. Each post is conditional on that item's version,
so no agent can post in a chat that was taken over in the meantime.
"""

from typing import Annotated, Literal

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Name, NamedMember, Value
from skein.models.config.desk import DueWork
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import StoredAuthors
from skein.models.visibility.provenance import NO_AUTHORS

MAX_BRIEFING = 4_000  # characters
DeskStatus = Literal["waiting", "held"]
DraftKind = Literal["answer", "briefing", "summary"]
DeskReason = Literal["agent", "words", "failed_answers", "tool", "operator"]
"""What put a chat on the desk: an agent's tool, a rule of the operator, or an operator."""


class Holder(Value):
    """A person of the team who holds a chat.

    The holder is not a member of the chat, and does not count as one of its readers.
    """

    id: Annotated[Identifier, Field(description="The operator, as the token's `sub`.")]
    name: Annotated[Name, Field(description="The name that the people of the chat see.")]
    team: Annotated[
        Name | None, Field(description="The team's name, which an SMS names, too; null for none.")
    ] = None

    @property
    def sender(self) -> NamedMember:
        return NamedMember(kind="team", id=self.id, name=self.name)


class DeskState(Value):
    """The state of a chat's current stay on the desk.

    Attributes:
        session: The id of the stay, `dsk_<ulid>`.
        state: Agents answer while the chat is `waiting`, and are silent while it is `held`.
        since: When the chat was put on the desk.
        agent_id: The agent that asked for a person; None if no agent did.
        holder: Who holds the chat; None while it is waiting.
        taken_at: When the holder took the chat.
        answered_at: When the holder first posted a message.
        spoke_at: When the holder last posted a message, or took the chat.
        spoke_seq: The holder's newest message; 0 for none.
        from_seq: The chat's `last_seq` when the holder took the chat.
        unanswered: For each agent that was stopped before it answered, the first message without an
            answer, by agent id. For other agents, the first message after `from_seq` counts.
        due_work: What happens to plans and calls of webhook services that become due while the chat
            is held: they wait or are dropped.
    """

    session: Identifier
    state: DeskStatus = "waiting"
    since: Instant
    reason_code: DeskReason
    agent_id: Identifier | None = None
    holder: Holder | None = None
    taken_at: Instant | None = None
    answered_at: Instant | None = None
    spoke_at: Instant | None = None
    spoke_seq: int = 0
    from_seq: int = 0
    unanswered: dict[Identifier, int] = Field(default_factory=dict)
    due_work: DueWork = "wait"

    @property
    def held(self) -> bool:
        """Whether a person of the team holds the chat."""
        return self.state == "held"


class Briefing(Value):
    """The note that a person of the team left for the agents when handing a chat back.

    Attributes:
        holder: The person who held the chat.
        text: The text; empty if the holder wrote nothing, or was silent for too long.
        from_seq: The chat's `last_seq` when the holder took the chat.
        seq: The chat's `last_seq` when the chat was handed back.
        audience: The people who were present from `from_seq` on.
        authors: The people whose words the text may contain, as digests.
        silent: Whether the chat was handed back automatically, because the holder was silent for
            too long.
    """

    holder: Holder
    text: Annotated[str, Field(max_length=MAX_BRIEFING)] = ""
    from_seq: int
    seq: int
    at: Instant
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    silent: Annotated[bool, Field(exclude_if=lambda silent: not silent)] = False
