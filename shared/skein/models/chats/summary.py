"""Agent summaries and chat summaries, which describe the current state of a chat."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Instant, Value
from skein.models.visibility.audience import Audience
from skein.models.visibility.provenance import MANY, Authors

MAX_AGENT_SUMMARY = 500
MAX_CHAT_SUMMARY = 4_000


class Summary(Value):
    """A summary of a chat.

    Attributes:
        from_seq: The first message that went into this summary or into one of its earlier versions.
        seq: The newest message that the summary covers.
        audience: The people who were present for all of these messages.
        authors: The people who wrote these messages, as digests.
        at: When the summary was made.
        title: The chat's title at that time, which the whole audience knew; None if the chat had no
            title.
    """

    text: Annotated[str, Field(min_length=1, max_length=MAX_CHAT_SUMMARY)]
    from_seq: int
    seq: int
    audience: Audience
    authors: Authors = MANY
    at: Instant
    title: Annotated[str | None, Field(exclude_if=lambda title: title is None)] = None


class SummaryState(Value):
    """The state of a summary's renewal; the cooldown begins at `claimed_at`.

    Attributes:
        claimed_at: When the newest attempt to renew the summary began.
        failures: How many attempts have failed in a row; each failure extends the cooldown.
        tried_seq: The newest message of an attempt that found nothing to summarise.
    """

    claimed_at: Instant | None = None
    failures: int = 0
    tried_seq: int = 0


class MadeTitle(Value):
    """The span of messages that the light model made a chat's title from."""

    from_seq: int
    seq: int


class PinnedSummary(Value):
    """The chat summary that prompts show until the history window moves.

    All prompts with the same window therefore begin with the same text.

    Attributes:
        start: The first message of the history window to which the summary belongs.
    """

    text: str
    seq: int
    start: int
    from_seq: int
    audience: Audience
    authors: Authors = MANY
