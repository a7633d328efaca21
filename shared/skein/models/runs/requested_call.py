"""A recorded call of a tool that waits for somebody's yes."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Stored, Value
from skein.models.common.http import McpQuestion, McpReply
from skein.models.visibility.audience import Audience


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
        person: The person for whom it is made: who agreed, or who asked an operator.
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
    """The data of the question whether to make a call.

    Attributes:
        call: The call.
        asks: The question of the service, if the service asks.
    """

    call: RequestedCall
    asks: Annotated[McpQuestion | None, Field(exclude_if=lambda value: value is None)] = None


class AgreedCall(RequestedCall):
    """A call to which somebody agreed.

    Attributes:
        reply: The answer to a question that the service asked about this call.
    """

    reply: Annotated[McpReply | None, Field(exclude_if=lambda value: value is None)] = None


class DecidedCall(Value):
    """A call on which an operator has decided."""

    call: Annotated[RequestedCall, Field(description="The call.")]
    approved: Annotated[bool, Field(description="Whether the operator approved it.")]
