"""A session: the stretch of a direct chat since the last gap or reset."""

from skein.models.base import Identifier, Instant, Value


class Session(Value):
    """A session of a direct chat; it ends where the next one begins.

    Attributes:
        started_at: When its first message was written.
        first_seq: That message.
        reset: Whether it began because the person said so; else it did after a gap.
        reset_seq: The newest message by which somebody began anew, in this session or an earlier
            one; what was said before is derived from no more. 0 if nobody ever did.
        before_at: When the last message before it was written; None in the chat's first session.
    """

    id: Identifier
    started_at: Instant
    first_seq: int
    reset: bool = False
    reset_seq: int = 0
    before_at: Instant | None = None
