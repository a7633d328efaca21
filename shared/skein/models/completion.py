"""What goes to a language model and what comes back, whoever the provider is."""

from typing import Annotated, Literal

from pydantic import AfterValidator

from skein.models.base import Value

Role = Literal["system", "user", "assistant", "tool"]


def well_formed(text: str) -> str:
    """The text without the halves of characters that escapes in JSON can spell."""
    return text.encode(errors="replace").decode()


# What a model says may end in the middle of a character; the table would not take that.
ModelText = Annotated[str, AfterValidator(well_formed)]


class TokenUsage(Value):
    """What a call cost, in tokens, as the provider counted them.

    Attributes:
        cached_tokens: How many of the input its prefix cache served; most charge less for those.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )


class ToolCall(Value):
    """The model asks for a tool; `arguments` is JSON text, as the model wrote it, unchecked.

    Attributes:
        cut_from: How many characters the arguments had, if only their beginning is recorded. Such a
            call is refused.
    """

    id: ModelText
    name: ModelText
    arguments: ModelText
    cut_from: int | None = None


class ToolSpec(Value):
    """A tool that is offered to the model, with its arguments as a strict JSON schema."""

    name: str
    description: str
    parameters: dict[str, object]


class ModelMessage(Value):
    """One message of a chat completion.

    Attributes:
        tool_calls: Of an assistant's message, what it asked for.
        tool_call_id: Of a tool's message, which call it answers.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


class ModelRequest(Value):
    """One call to a language model.

    Attributes:
        timeout_seconds: For all of it, the client's own retry included.
        answer_schema: A strict JSON schema that the answer is to follow; None for plain text.
    """

    model: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int
    timeout_seconds: float
    answer_schema: dict[str, object] | None = None


class ModelAnswer(Value):
    """What the model said; `text` is empty when it only called tools."""

    model: str
    text: ModelText
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage
