"""Sessions: the part of a direct chat since the last long gap or reset."""

from skein.models.common.base import Identifier, Instant, Value


class Session(Value):
    """A session of a direct chat, which ends where the next session begins.

    Attributes:
        started_at: The time of the session's first message.
        first_seq: The session's first message.
        reset: Whether a person's reset began the session; otherwise a gap did.
        reset_seq: The newest reset of the chat, in this session or an earlier one; 0 if there is
            none. Nothing is derived from earlier messages any more.
        before_at: The time of the last message before the session; None in the first session.
    """

    id: Identifier
    started_at: Instant
    first_seq: int
    reset: bool = False
    reset_seq: int = 0
    before_at: Instant | None = None
