"""The language model, through any OpenAI-compatible chat completions API."""

from __future__ import annotations

import math
import re
import threading
import weakref
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skein.adapters.system import done_within
from skein.errors import ModelRejected, Throttled, Unavailable
from skein.models.runs.completion import (
    ModelAnswer,
    ModelMessage,
    ModelRequest,
    TokenUsage,
    ToolCall,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from httpx2 import Response
    from openai import OpenAI
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion

LIBRARIES = ("openai",)  # imported at the first request, or by `bootstrap.preload`
SDK_RETRIES = 1
WORD = re.compile(r"[A-Za-z0-9_.:\[\]-]{1,80}")
PAUSE_SECONDS = 2.0  # the longest wait before the SDK's one retry


@dataclass(slots=True)
class _Connection:
    """One SDK client and the number of calls that use it now.

    Attributes:
        client: The SDK client.
        calls: How many calls are in flight.
        given_up: Whether new calls must not use the client; the last call in flight closes it.
    """

    client: OpenAI
    calls: int = 0
    given_up: bool = False


class OpenAIModel:
    """`LanguageModel` on the official SDK, which is imported at the first request.

    Many threads may call the model at once. They share one client, which is created under a lock
    and never closed while a call uses it.

    Args:
        api_key: Returns the key; called when the key is needed, so that no secret is read before.
        base_url: The base URL of a compatible API; None for OpenAI's own.
    """

    def __init__(self, *, api_key: Callable[[], str], base_url: str | None) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._connection: _Connection | None = None
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model once; the SDK retries a failed request once within the time-out.

        Raises:
            Throttled: The provider asks Skein to slow down, or the quota is used up.
            Unavailable: The provider is out of reach, too slow or broken, or refuses the API key.
                The run did not cause this, so the run is deferred and does not fail.
            ModelRejected: The provider refuses this request.
        """
        parameters = _parameters(request)
        with self._connected() as connection:
            completion = self._completion(connection, parameters, request.timeout_seconds)
        try:
            return _answer(completion, request)
        except (AttributeError, TypeError, ValueError) as error:  # the SDK does not validate it
            raise Unavailable("the model's answer has another form than it should") from error

    def close(self) -> None:
        """Give up the connection after the calls in flight; the next call opens a new one."""
        with self._lock:
            if self._connection is not None:
                self._give_up(self._connection)

    def _completion(
        self, connection: _Connection, parameters: dict[str, Any], seconds: float
    ) -> ChatCompletion:
        import openai

        attempt_seconds = max((seconds - PAUSE_SECONDS) / (SDK_RETRIES + 1), 1.0)
        client = connection.client.with_options(timeout=attempt_seconds)
        try:
            completion: ChatCompletion = done_within(
                seconds, lambda: client.chat.completions.create(**parameters)
            )
        except TimeoutError as error:  # the SDK's time-out is per phase, not for the whole call
            raise Unavailable("the model's answer took too long") from error
        except openai.RateLimitError as error:
            raise Throttled(_reason(error)) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            with self._lock:
                self._give_up(connection)  # the key may have changed: the next call reads it again
            raise Unavailable(_reason(error)) from error
        except (
            openai.APIConnectionError,
            openai.InternalServerError,
            openai.ConflictError,
        ) as error:
            raise Unavailable(_reason(error)) from error
        except openai.APIStatusError as error:
            raise ModelRejected(_reason(error)) from error
        except openai.APIError as error:
            raise Unavailable(_reason(error)) from error
        except ValueError as error:
            raise Unavailable("the model's answer is no JSON") from error
        return completion

    @contextmanager
    def _connected(self) -> Iterator[_Connection]:
        """Hold the shared connection, which stays open until the caller is done."""
        with self._lock:
            if self._connection is None:
                self._connection = _Connection(self._client())
            connection = self._connection
            connection.calls += 1
        try:
            yield connection
        finally:
            with self._lock:
                connection.calls -= 1
                if connection.given_up:
                    self._give_up(connection)

    def _give_up(self, connection: _Connection) -> None:
        """Keep new calls off a connection, and close the connection once no call uses it.

        If another thread has replaced the connection, the new one stays. The caller holds the lock.
        """
        connection.given_up = True
        if self._connection is connection:
            self._connection = None
        if not connection.calls:
            connection.client.close()

    def _client(self) -> OpenAI:
        from openai import DefaultHttpxClient, OpenAI

        api_key = self._api_key()  # first, since it may raise
        http_client = DefaultHttpxClient(event_hooks={"response": [_no_long_pause]})
        client = OpenAI(
            api_key=api_key,
            base_url=self._base_url,
            max_retries=SDK_RETRIES,
            http_client=http_client,
        )
        # The SDK closes an HTTP client that it created, but not one that was passed in.
        weakref.finalize(client, http_client.close)
        return client


def _no_long_pause(response: Response) -> None:
    """Prevent the SDK's retry if the provider asks for a long wait.

    A wait of more than 2 seconds is long; the SDK would wait for up to two minutes. A sleeping
    function costs money and would reach its time-out before the answer. So the run is deferred
    instead.
    """
    asked = (("retry-after-ms", 1_000), ("retry-after", 1))
    if any(
        name in response.headers and _seconds(response.headers[name]) / divisor > PAUSE_SECONDS
        for name, divisor in asked
    ):
        response.headers["x-should-retry"] = "false"


def _seconds(told: str) -> float:
    """Return the wait that a header asks for; infinity if the header holds a date."""
    try:
        return float(told)
    except ValueError:
        return math.inf


def _parameters(request: ModelRequest) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "max_completion_tokens": request.max_output_tokens,
    }
    if request.tools:
        parameters["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": True,
                },
            }
            for tool in request.tools
        ]
    if request.answer_schema is not None:
        parameters["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.answer_schema},
        }
    return parameters


def _message(message: ModelMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _answer(completion: ChatCompletion, request: ModelRequest) -> ModelAnswer:
    if not completion.choices:
        raise Unavailable("the model's answer has no choices")
    message = completion.choices[0].message
    return ModelAnswer(
        model=completion.model or request.model,
        text=message.content or "",
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments)
            for call in message.tool_calls or ()
            if call.type == "function"
        ),
        usage=_usage(completion.usage),
    )


def _usage(told: CompletionUsage | None) -> TokenUsage:
    details = getattr(told, "prompt_tokens_details", None)
    return TokenUsage(
        input_tokens=_count(told and told.prompt_tokens),
        output_tokens=_count(told and told.completion_tokens),
        cached_tokens=_count(getattr(details, "cached_tokens", None)),
    )


def _count(tokens: object) -> int:
    """Return a token count; 0 if the provider gives none, since the answer is still valid."""
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def _reason(error: Exception) -> str:
    """Describe a failure by its type and the API's machine-readable fields.

    The API's message is left out, since it may quote the prompt. `request_id` is the provider's.
    """
    told = [type(error).__name__]
    for name in ("status_code", "code", "type", "param", "request_id"):
        value = str(getattr(error, name, None) or "")
        if WORD.fullmatch(value):
            told.append(f"{name}={value}")
    return " ".join(told)
