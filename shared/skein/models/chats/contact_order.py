"""An operator's newest instruction to write to the person of a direct chat, shown in prompts."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Value


class ContactOrder(Value):
    """An operator's instruction that made the agent write to the person of a direct chat.

    Attributes:
        instruction: What the agent was told to write about; None if the operator gave the exact
            text.
        text: The exact text that the operator gave; None if the agent wrote its own text.
        asker: The person on whose behalf the agent wrote.
        at: When the agent wrote.
    """

    id: Identifier
    instruction: Annotated[str | None, Field(exclude_if=lambda words: words is None)] = None
    text: Annotated[str | None, Field(exclude_if=lambda words: words is None)] = None
    asker: str
    at: Instant
