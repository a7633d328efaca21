"""A recorded tool call that waits for approval."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Stored, Value
from skein.models.common.http import McpQuestion, McpReply
from skein.models.visibility.audience import Audience


class RequestedCall(Value):
    """A recorded tool call that is made if someone approves it.

    It identifies the call without containing any of its text.

    Attributes:
        run_id: The run that asked.
        step: The step of that run.
        position: The position of the call in the step.
        tool: The name of the tool.
        version: The version of the tool; the call is made with this version only.
        readers: The people who would see the result.
        person: The person that the call is made for: the one who approved it or asked an operator.
    """

    run_id: Identifier
    step: int
    position: int
    tool: str
    version: int
    readers: Audience
    person: Annotated[Identifier | None, Field(exclude_if=lambda value: value is None)] = None

    @property
    def key(self) -> str:
        """The idempotency key of the call."""
        return f"{self.run_id}:{self.step}:{self.position}"


class CallData(Stored):
    """The data of a choice that asks whether to make a call.

    Attributes:
        asks: The question that the service itself asks about the call; None if it asks nothing.
    """

    call: RequestedCall
    asks: Annotated[McpQuestion | None, Field(exclude_if=lambda value: value is None)] = None


class AgreedCall(RequestedCall):
    """A call that someone approved.

    Attributes:
        reply: The person's answer to a question that the service asked about this call.
    """

    reply: Annotated[McpReply | None, Field(exclude_if=lambda value: value is None)] = None


class DecidedCall(Value):
    """A call that an operator has approved or rejected."""

    call: Annotated[RequestedCall, Field(description="The call.")]
    approved: Annotated[bool, Field(description="Whether the operator approved it.")]
