"""Sessions: the part of a direct chat since the last long gap or reset."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Value


class Session(Value):
    """A session of a direct chat, which ends where the next session begins.

    Attributes:
        started_at: The time of the session's first message.
        first_seq: The session's first message.
        reset: Whether a person's reset began the session; otherwise a gap did.
        reset_seq: The newest reset of the chat, in this or an earlier session; 0 if the chat was
            never reset. Nothing more is derived from messages before it.
        before_at: The time of the last message before the session; None in the first session.
        earlier_reset_at: The time of the newest reset before this session, if any.
    """

    id: Identifier
    started_at: Instant
    first_seq: int
    reset: bool = False
    reset_seq: int = 0
    before_at: Instant | None = None
    earlier_reset_at: Annotated[Instant | None, Field(exclude_if=lambda at: at is None)] = None

    @property
    def reset_at(self) -> Instant | None:
        return self.started_at if self.reset else self.earlier_reset_at
