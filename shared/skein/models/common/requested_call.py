"""A recorded call of a tool that waits for somebody's yes."""

from typing import Annotated

from pydantic import Field

from skein.models.common.audience import Audience
from skein.models.common.base import Identifier, Value


class RequestedCall(Value):
    """A recorded call of a tool that is made if somebody agrees.

    It names the call and holds none of its words.

    Attributes:
        run_id: The run that asked.
        step: The step of that run.
        position: The position of the call in the step.
        tool: The name of the tool.
        version: The version of the tool; the call is made with no other.
        readers: The people who were to see the result.
        agreed_by: The person who agreed; None before, and for an operator.
    """

    run_id: Identifier
    step: int
    position: int
    tool: str
    version: int
    readers: Audience
    agreed_by: Annotated[Identifier | None, Field(exclude_if=lambda value: value is None)] = None

    @property
    def key(self) -> str:
        """The idempotency key of the call."""
        return f"{self.run_id}:{self.step}:{self.position}"
