"""The newest order to write to the person of a direct chat, as that chat's prompts show it."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Value


class ContactOrder(Value):
    """An operator's order that made the agent write to the person of a direct chat.

    Attributes:
        instruction: What an operator told the agent to write about; None if the text was given.
        text: The text that an operator gave; None if the agent wrote its own.
        asker: The person on whose behalf the agent wrote.
        at: When the agent wrote.
    """

    id: Identifier
    instruction: Annotated[str | None, Field(exclude_if=lambda words: words is None)] = None
    text: Annotated[str | None, Field(exclude_if=lambda words: words is None)] = None
    asker: str
    at: Instant
