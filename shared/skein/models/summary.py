"""Where a chat stands: in an agent's own two lines, and in a shared paragraph."""

from typing import Annotated

from pydantic import Field

from skein.models.audience import Audience
from skein.models.base import Instant, Value

MAX_AGENT_SUMMARY = 500
MAX_CHAT_SUMMARY = 4_000


class Summary(Value):
    """What was said in a chat, in short.

    Attributes:
        from_seq: The first message that it rests on, over all its renewals.
        seq: The newest message that it covers.
        audience: Who was there for all of that.
        at: When it was made.
        title: What the chat was called then, which all of the audience knew; None if it had no
            title, or if the summary was stored without one.
    """

    text: Annotated[str, Field(min_length=1, max_length=MAX_CHAT_SUMMARY)]
    from_seq: int
    seq: int
    audience: Audience
    at: Instant
    title: Annotated[str | None, Field(exclude_if=lambda title: title is None)] = None


class SummaryState(Value):
    """What is known of a summary beside its words; the cooldown is counted from `claimed_at`.

    Attributes:
        claimed_at: When the newest attempt to renew it was about to be made.
        failures: How many attempts have failed in a row; the cooldown grows with them.
        tried_seq: Up to here there was nothing to summarise.
    """

    claimed_at: Instant | None = None
    failures: int = 0
    tried_seq: int = 0


class PinnedSummary(Value):
    """The chat summary that prompts show until their window moves on, so that they begin alike.

    Attributes:
        start: The first message of the window that belongs to it.
    """

    text: str
    seq: int
    start: int
    from_seq: int
    audience: Audience
