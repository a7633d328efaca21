"""The language model behind any OpenAI-compatible API of chat completions."""

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
from skein.models.completion import ModelAnswer, ModelMessage, ModelRequest, TokenUsage, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from httpx2 import Response
    from openai import OpenAI
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion

LIBRARIES = ("openai",)  # loaded at the first question, or before it (`bootstrap.preload`)
SDK_RETRIES = 1
WORD = re.compile(r"[A-Za-z0-9_.:\[\]-]{1,80}")
PAUSE_SECONDS = 2.0  # the longest wait before the SDK's one retry


@dataclass(slots=True)
class _Connection:
    """One client of the SDK and the calls that use it now.

    Attributes:
        calls: How many calls are in flight.
        given_up: No further call may use it; the last one in flight closes it.
    """

    client: OpenAI
    calls: int = 0
    given_up: bool = False


class OpenAIModel:
    """Asks through the official SDK, which is loaded and connected at the first question.

    Many threads may ask at once. They share one client, which is made under a lock and is never
    closed while a call uses it.

    Args:
        api_key: Gives the key when it is needed, so that no secret is read before.
        base_url: Of a compatible API; None for OpenAI's own.
    """

    def __init__(self, *, api_key: Callable[[], str], base_url: str | None) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._connection: _Connection | None = None
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Ask once; the SDK tries a failed request a second time within the same time-out.

        Raises:
            Throttled: The provider asks us to slow down, or the quota is used up.
            Unavailable: It is out of reach, too slow, broken, or does not take our key. None of
                that is the run's fault, so the run waits instead of failing.
            ModelRejected: It refuses this very request.
        """
        parameters = _parameters(request)
        with self._connected() as connection:
            completion = self._completion(connection, parameters, request.timeout_seconds)
        try:
            return _answer(completion, request)
        except (AttributeError, TypeError, ValueError) as error:  # the SDK checks nothing of it
            raise Unavailable("the model's answer has another form than it should") from error

    def close(self) -> None:
        """Give up the connection; calls in flight end first, and the next one makes a new one."""
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
        except TimeoutError as error:  # the SDK's holds for each phase, not for all that trickles
            raise Unavailable("the model's answer took too long") from error
        except openai.RateLimitError as error:
            raise Throttled(_reason(error)) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            with self._lock:
                self._give_up(connection)  # the key may have been changed: ask for it again
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
        """The shared connection, which stays open until the caller has finished."""
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
        """Offer a connection to no further call, and close it once no call uses it.

        Another thread may have replaced the connection by now; the new one stays. The caller holds
        the lock.
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
        # The SDK closes its own HTTP client in the end, but not one that it was given.
        weakref.finalize(client, http_client.close)
        return client


def _no_long_pause(response: Response) -> None:
    """Let the SDK not sleep for as long as a busy provider asks, up to two minutes.

    A function that sleeps is paid for, and would be at its end before the answer; the run waits
    outside instead.
    """
    asked = (("retry-after-ms", 1_000), ("retry-after", 1))
    if any(
        name in response.headers and _seconds(response.headers[name]) / divisor > PAUSE_SECONDS
        for name, divisor in asked
    ):
        response.headers["x-should-retry"] = "false"


def _seconds(told: str) -> float:
    """How long a header asks to wait; for ever where it names a date."""
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
    """Tokens as a number; where a provider does not count them, an answer is none the worse."""
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def _reason(error: Exception) -> str:
    """What kind of failure it was, as far as the API has words for it that a program may read.

    Its sentences are left out, since they may quote the prompt. `request_id` is the provider's own.
    """
    told = [type(error).__name__]
    for name in ("status_code", "code", "type", "param", "request_id"):
        value = str(getattr(error, name, None) or "")
        if WORD.fullmatch(value):
            told.append(f"{name}={value}")
    return " ".join(told)
