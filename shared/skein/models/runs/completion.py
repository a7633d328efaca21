"""Requests to language models and their answers, for all providers."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field

from skein.models.common.base import Identifier, Value
from skein.models.common.image_models import ImageDetail, tokens_of_image
from skein.models.runs.strict_schema import is_strict

Role = Literal["system", "user", "assistant", "tool"]
AnswerFault = Literal["empty", "cut_off", "refused", "filtered", "unspoken"]
"""Why an answer cannot be used as it is; `docs/runs.md` explains each."""


def well_formed(text: str) -> str:
    """Remove NUL characters, and replace lone surrogates with question marks.

    The escapes of a model's JSON can produce both.
    """
    return text.replace("\0", "").encode(errors="replace").decode()


# A model's text may end in the middle of a character, which the table would reject, and may contain
# NUL characters, which apps and phones do not show.
ModelText = Annotated[str, AfterValidator(well_formed)]


class TokenUsage(Value):
    """The tokens of a model call, as the provider counted them.

    Attributes:
        cached_tokens: Input tokens that the provider's prompt cache served; often cheaper.
        cache_written_tokens: Input tokens that were written to the cache; sometimes more expensive.
            The number is never stored in this value, because release 0.3.0 rejects unknown fields.
        reasoning_tokens: Output tokens of the model's hidden reasoning, which is not shown.
    """

    input_tokens: Annotated[int, Field(description="Tokens of prompts.")] = 0
    output_tokens: Annotated[int, Field(description="Tokens of answers.")] = 0
    cached_tokens: int = 0
    cache_written_tokens: Annotated[int, Field(exclude=True)] = 0
    reasoning_tokens: Annotated[int, Field(exclude_if=lambda tokens: not tokens)] = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def counts(self, part: float = 1) -> dict[str, int]:
        """Return the counts by name, multiplied by `part`; cache writes only if not 0."""
        counted = {
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
        }
        if self.cache_written_tokens:
            counted["cache_written_tokens"] = self.cache_written_tokens
        return {name: round(tokens * part) for name, tokens in counted.items()}

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class ToolCall(Value):
    """A tool call of the model; `arguments` is the unchecked JSON text of the model.

    Attributes:
        cut_from: The original number of characters, if the recorded arguments were cut. Such a
            call is refused.
    """

    id: Annotated[ModelText, Field(description="The id, an opaque text.")]
    name: Annotated[ModelText, Field(description="The name of the tool.")]
    arguments: Annotated[
        ModelText, Field(description="The arguments as the model wrote them: JSON text, unchecked.")
    ]
    cut_from: int | None = None


class ToolSpec(Value):
    """A tool that the model may call, with its arguments as a JSON schema.

    Attributes:
        saves: Whether its calls save data; this is not sent to the model.
    """

    name: str
    description: str
    parameters: dict[str, object]
    saves: Annotated[bool, Field(exclude=True)] = False

    @cached_property  # cached, because every prompt counts the tokens of dozens of tools
    def text(self) -> str:
        """The tool as JSON; its tokens count towards the prompt's budget."""
        return json.dumps(self.model_dump())

    @property
    def function(self) -> dict[str, object]:
        """The tool in the form of chat completions and of training data.

        The provider enforces the schema if strict mode accepts it.
        """
        spec = self.model_dump()
        return spec | {"strict": True} if is_strict(self.parameters) else spec


class ImageRef(Value):
    """A reference to a picture for a model: prompts are recorded without its bytes."""

    chat_id: Annotated[Identifier, Field(description="The chat of the picture.")]
    media_id: Annotated[Identifier, Field(description="The id of the picture.")]
    seq: Annotated[int, Field(description="The message that has the picture.")]
    number: Annotated[int, Field(description="The number of the picture in its message, from 1.")]
    content_type: Annotated[str, Field(description="The media type, such as `image/jpeg`.")]
    width: Annotated[int, Field(description="The width in pixels.")]
    height: Annotated[int, Field(description="The height in pixels.")]

    def tokens(self, model: str, detail: ImageDetail) -> int:
        """Return the number of tokens of the picture in a prompt of a model."""
        return tokens_of_image(model, self.width, self.height, detail)

    @property
    def label(self) -> str:
        """The picture's name in prompts: the number of its message, then the picture's number."""
        return f"{self.seq}.{self.number}"


class ModelMessage(Value):
    """One message of a chat completion.

    Attributes:
        tool_calls: For an assistant's message, its tool calls.
        tool_call_id: For a tool's message, the id of the call that it answers.
        images: The pictures that follow the text; `ModelRequest.image_bytes` has their bytes.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    images: Annotated[tuple[ImageRef, ...], Field(exclude_if=lambda images: not images)] = ()


class StableEnd(NamedTuple):
    """Where the beginning of a request ends that the request of the next turn repeats unchanged.

    Attributes:
        messages: The number of messages that stay the same.
        characters: How many characters of the next message stay the same.
        appended: If the history is a timeline, the position in that message, in characters, where
            the timeline ends. The request of the next turn only appends to the timeline.
    """

    messages: int
    characters: int = 0
    appended: int = 0


class ModelRequest(Value):
    """One call to a language model.

    Attributes:
        max_output_tokens: The limit of the answer itself, without the model's reasoning.
        reasons: Whether the model is known to reason before it answers, regardless of its name.
        timeout_seconds: The time-out of the whole call, including the client's own retry.
        answer_schema: The strict JSON schema of the answer; None for plain text.
        image_bytes: The pictures of the messages, by their ids. A picture without bytes is not
            sent.
        image_detail: How closely the model looks at the pictures.
        stable_end: Where the stable part ends, for the provider's prompt cache; None if no later
            request begins in the same way.
        gaps: Seconds between the newest requests of the chat. They show whether caching saves
            money.
        cache_key: A text that is the same for all requests with the same beginning, so that they
            reach the same cache; may be empty.
    """

    model: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int
    reasons: bool = False
    timeout_seconds: float
    answer_schema: dict[str, object] | None = None
    image_bytes: Annotated[Mapping[str, bytes], Field(exclude=True, repr=False)] = {}
    image_detail: ImageDetail = "auto"
    stable_end: StableEnd | None = None
    gaps: tuple[float, ...] = ()
    cache_key: str = ""


class ModelAnswer(Value):
    """An answer of a model.

    Attributes:
        text: The text, or the text of a refusal; empty if the model only called tools.
        fault: The provider's reason why the answer is incomplete; None for a complete answer.
    """

    model: str
    text: ModelText
    tool_calls: tuple[ToolCall, ...] = ()
    fault: AnswerFault | None = None
    usage: TokenUsage
