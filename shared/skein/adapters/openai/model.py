"""The language model, through any OpenAI-compatible chat completions API."""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
import weakref
from base64 import b64encode
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from skein.adapters.openai.errors import error_of, is_filtered
from skein.adapters.openai.stream import streamed_completion
from skein.adapters.system import done_within
from skein.adapters.template_tokens import harmless, restored
from skein.errors import (
    KeyRefused,
    MissingSecret,
    Unavailable,
)
from skein.models.runs.completion import (
    AnswerFault,
    ImageRef,
    ModelAnswer,
    ModelMessage,
    ModelRequest,
    TokenUsage,
    ToolCall,
    ToolSpec,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from httpx2 import Request, Response
    from openai import OpenAI
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice

    from skein.ports import ModelTokens

T = TypeVar("T")

LIBRARIES = ("openai",)  # imported at the first request, or by `load_adapters`
SDK_RETRIES = 1
PAUSE_SECONDS = 2.0  # the longest wait before the SDK's one retry
PROBE_TOKENS = 1
OPENAI_HOST = "api.openai.com"
_UNTIL = ContextVar("until", default=math.inf)  # when the caller of a call gives up
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
# Names of reasoning models. Unknown ones are recognized by their token counts.
REASONING_MODEL = re.compile(
    r"(?:^|[/:])(?:o\d|gpt-[5-9]|gpt-oss|deepseek-r|qwq|magistral|grok-[4-9])|think|reason",
    re.IGNORECASE,
)
# Finish reasons of OpenAI and of compatible APIs.
FAULTS: dict[str, AnswerFault] = {
    "length": "cut_off",
    "max_tokens": "cut_off",
    "content_filter": "filtered",
    "safety": "filtered",
    "refusal": "refused",
}

logger = logging.getLogger(__name__)


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
        api_key: Returns the key, or None without a key. The function is called when the key is
            needed, so that no secret is read before.
        base_url: The base URL of a compatible API; None for OpenAI's own.
        reasoning_tokens: The tokens that a reasoning model may use before its answer. These tokens
            are added to the limit of the answer, because they count toward that limit.
        signer: Returns the SDK object that signs requests if there is no key; None if requests need
            a key.
        tokens: Returns the counter that estimates the tokens of a streamed answer, if the provider
            does not count them. If None, such an answer counts 0 tokens.
    """

    def __init__(
        self,
        *,
        api_key: Callable[[], str | None],
        base_url: str | None,
        reasoning_tokens: int = 0,
        signer: Callable[[], Any] | None = None,
        tokens: Callable[[], ModelTokens] | None = None,
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._reasoning_tokens = reasoning_tokens
        self._signer = signer
        self._tokens = tokens
        self._connection: _Connection | None = None
        self._lock = threading.Lock()
        self._streams = True  # until the provider refuses

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Call the model once; the SDK retries a failed request once within the time-out.

        Raises:
            Throttled: The provider asks Skein to slow down, or the quota is used up.
            Unreachable: There is no connection to the provider.
            KeyRefused: The provider refuses the API key, or there is no key.
            ModelUnknown: The provider has no such model, or no such call at this address.
            Unavailable: The provider is too slow or broken. After this error or an error above, the
                run is deferred and does not fail, because the run is not at fault.
            ModelFiltered: The provider's content filter refuses this request.
            ModelRejected: The provider refuses this request for another reason.
        """
        return self._asked(request, lambda client: self._whole(client, request))

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """Call the model once, and report its text while it is generated.

        If the provider refuses to stream, or if the stream breaks off, the request is repeated
        without streaming. If the provider does not count the tokens of a streamed answer, they are
        estimated. After a refusal or a missing count, this client does not stream any more.

        Raises:
            Transient, ModelRejected: As in `complete`.
        """
        if not self._streams:
            return self.complete(request)
        over = threading.Event()

        def heard_in_time(text: str) -> None:
            if over.is_set():
                raise Unavailable("the model's answer took too long")  # closes the stream
            heard(restored(text))

        try:
            return self._asked(
                request, lambda client: self._streamed(client, request, heard_in_time)
            )
        finally:
            over.set()

    def _asked(self, request: ModelRequest, ask: Callable[[OpenAI], ChatCompletion]) -> ModelAnswer:
        """Call the chat completions API, and return the model's answer."""
        with self._connected() as connection:
            completion = self._call(connection, ask, request.timeout_seconds)
        try:
            return _answer(completion, request)
        except (AttributeError, TypeError, ValueError) as error:  # the SDK does not validate it
            raise Unavailable("the model's answer has an unexpected form") from error

    def _whole(self, client: OpenAI, request: ModelRequest) -> ChatCompletion:
        # The SDK converts each part of typed parameters by type, which takes more CPU than the rest
        # of the call. It sends an extra body as given.
        return client.chat.completions.create(
            model=request.model, messages=(), extra_body=self._parameters_of(request)
        )

    def _streamed(
        self, client: OpenAI, request: ModelRequest, heard: Callable[[str], None]
    ) -> ChatCompletion:
        """Read an answer as a stream; if that fails, request it without streaming."""
        import httpx2
        import openai

        parameters = self._parameters_of(request) | STREAMED
        try:
            with client.chat.completions.create(
                model=request.model, messages=(), stream=True, extra_body=parameters
            ) as chunks:
                completion = streamed_completion(chunks, heard)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if is_filtered(error):
                raise
            completion = self._whole(client, request)
            self._stop_streaming("the provider refuses to stream answers")
            return completion
        except (openai.APIStatusError, openai.APIConnectionError):
            raise
        except (openai.APIError, httpx2.TransportError, ValueError, AttributeError, TypeError):
            logger.info("a streamed answer broke off", exc_info=True)
            return self._whole(client, request)
        if completion is None:
            completion = self._whole(client, request)
            self._stop_streaming("the provider does not stream answers")
        elif completion.usage is None:
            self._stop_streaming("the provider counts no tokens of streamed answers")
            completion.usage = self._estimated(request, parameters, completion)
        return completion

    def _estimated(
        self, request: ModelRequest, parameters: Mapping[str, Any], completion: ChatCompletion
    ) -> CompletionUsage | None:
        """Estimate the tokens of a request and its answer from their text."""
        if self._tokens is None:
            return None
        message = completion.choices[0].message
        answered = [message.content or _refusal(completion.choices[0])]
        answered += [
            f"{call.function.name}{call.function.arguments}"
            for call in message.tool_calls or ()
            if call.type == "function"
        ]
        asked = [_text(each["content"]) for each in parameters["messages"]]
        asked += [json.dumps(tool, ensure_ascii=False) for tool in parameters.get("tools", ())]
        count = self._tokens().for_model(parameters["model"]).count
        images = sum(
            image.tokens(request.model, request.image_detail)
            for message in request.messages
            for image in message.images
            if image.media_id in request.image_bytes
        )
        usage = SimpleNamespace(
            prompt_tokens=sum(map(count, asked)) + images,
            completion_tokens=sum(map(count, answered)),
        )
        return cast("CompletionUsage", usage)

    def _stop_streaming(self, why: str) -> None:
        self._streams = False
        logger.warning("answers are not streamed any more", extra={"why": why})

    def _parameters_of(self, request: ModelRequest) -> dict[str, Any]:
        reasons = request.reasons or REASONING_MODEL.search(request.model) is not None
        tokens = self._reasoning_tokens if reasons else 0
        return _parameters(request, tokens, keyed=has_cache_keys(self._base_url))

    def close(self) -> None:
        """Close the connection after the current calls; the next call reconnects."""
        with self._lock:
            if self._connection is not None:
                self._give_up(self._connection)

    def models(self, *, seconds: float) -> frozenset[str]:
        """List the names of the provider's models.

        Args:
            seconds: The time-out.

        Raises:
            Transient, ModelRejected: As in `complete`. `ModelUnknown` means that the provider does
                not list its models at this address.
        """
        with self._connected() as connection:
            try:
                page = self._call(connection, lambda client: client.models.list(), seconds)
                return frozenset(str(model.id) for model in page.data)
            except (AttributeError, TypeError) as error:  # the SDK does not validate it
                raise Unavailable("the list of models has an unexpected form") from error

    def embeddings(
        self, model: str, texts: Sequence[str], *, dimensions: int, seconds: float
    ) -> list[list[float]]:
        """Ask for the embedding of each text, in order.

        Args:
            model: The name of the embedding model.
            texts: The texts of one request.
            dimensions: The number of components of a vector.
            seconds: The time-out of the whole call, including the client's own retry.

        Raises:
            Transient, ModelRejected: As in `complete`.
        """
        with self._connected() as connection:
            response = self._call(
                connection,
                lambda client: client.embeddings.create(
                    model=model, input=list(texts), dimensions=dimensions, encoding_format="float"
                ),
                seconds,
            )
        try:
            found = {
                int(one.index): [float(value) for value in one.embedding] for one in response.data
            }
            return [found[position] for position in range(len(texts))]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Unavailable("the embeddings have an unexpected form") from error

    def probe(self, model: str, *, seconds: float) -> None:
        """Ask a model for one token, to find out whether it answers.

        Raises:
            Transient, ModelRejected: As in `complete`.
        """
        hello = ModelMessage(role="user", content="Hi")
        self.complete(
            ModelRequest(
                model=model,
                messages=(hello,),
                max_output_tokens=PROBE_TOKENS,
                timeout_seconds=seconds,
            )
        )

    def _call(self, connection: _Connection, function: Callable[[OpenAI], T], seconds: float) -> T:
        """Call the SDK with a time-out, and map its errors."""
        import openai

        # A slow model may take all the time. Only connecting leaves time for the SDK's retry.
        connect_seconds = max((seconds - PAUSE_SECONDS) / (SDK_RETRIES + 1), 1.0)
        timeout = openai.Timeout(seconds, connect=connect_seconds)
        client = connection.client.with_options(timeout=timeout)
        until = time.monotonic() + seconds

        def asked() -> T:
            _UNTIL.set(until)
            return function(client)

        try:
            return done_within(seconds, asked)
        except TimeoutError as error:  # the SDK's time-out is per phase, not for the whole call
            raise Unavailable("the model's answer took too long") from error
        except openai.APIError as error:
            known = error_of(error)
            if isinstance(known, KeyRefused):
                with self._lock:
                    self._give_up(connection)  # the next call reads the key again
            raise known from error
        except UnicodeEncodeError as error:
            raise KeyRefused("the API key is not ASCII") from error
        except ValueError as error:
            raise Unavailable("the model's answer is not valid JSON") from error

    @contextmanager
    def _connected(self) -> Iterator[_Connection]:
        """Yield the shared connection, which stays open until the block ends."""
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

        If another thread has already replaced the connection, the new connection is kept. The
        caller must hold the lock.
        """
        connection.given_up = True
        if self._connection is connection:
            self._connection = None
        if not connection.calls:
            connection.client.close()

    def _client(self) -> OpenAI:
        from openai import DefaultHttpxClient, OpenAI

        try:
            api_key = self._api_key()  # first, since it may raise
        except MissingSecret as error:
            raise KeyRefused("there is no API key for the model") from error
        access: dict[str, Any] = {"api_key": api_key, "base_url": self._base_url}
        if api_key is None:
            if self._signer is None:
                raise KeyRefused("there is no API key for the model")
            access = {"provider": self._signer()}
        hooks: dict[str, list[Callable[..., Any]]] = {
            "request": [_no_late_retry],
            "response": [_no_long_pause],
        }
        http_client = DefaultHttpxClient(event_hooks=hooks)
        client = OpenAI(**access, max_retries=SDK_RETRIES, http_client=http_client)
        # The SDK closes an HTTP client that it created, but not one that was passed in.
        weakref.finalize(client, http_client.close)
        return client


def has_cache_keys(base_url: str | None) -> bool:
    """Return True for OpenAI's own API; other APIs may refuse `prompt_cache_key`."""
    return base_url is None or urlsplit(base_url).hostname == OPENAI_HOST


def _no_late_retry(_: Request) -> None:
    """Prevent the SDK's retry after the call's time-out.

    Raises:
        Unavailable: The time of the call is over.
    """
    if time.monotonic() >= _UNTIL.get():
        raise Unavailable("the model's answer took too long")


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


def _seconds(text: str) -> float:
    """Return the wait that a header asks for; infinity if the header holds a date."""
    try:
        return float(text)
    except ValueError:
        return math.inf


def _parameters(
    request: ModelRequest, reasoning_tokens: int, *, keyed: bool = False
) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message, request) for message in request.messages],
        "max_completion_tokens": request.max_output_tokens + reasoning_tokens,
    }
    if request.cache_key and keyed:
        parameters["prompt_cache_key"] = request.cache_key
    if request.tools:
        parameters["tools"] = tools_on_wire(request.tools)
    if request.answer_schema is not None:
        parameters["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.answer_schema},
        }
    return parameters


def tools_on_wire(tools: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Return tools in the form of a request's parameter `tools`."""
    return [{"type": "function", "function": tool.function} for tool in tools]


def _message(message: ModelMessage, request: ModelRequest) -> dict[str, Any]:
    text = harmless(message.content)
    images = [image for image in message.images if image.media_id in request.image_bytes]
    parts = [{"type": "text", "text": text}, *(_image(image, request) for image in images)]
    wire: dict[str, Any] = {"role": message.role, "content": parts if images else text}
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": harmless(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _image(image: ImageRef, request: ModelRequest) -> dict[str, Any]:
    """Return a picture as a part of a message, with its bytes in a data URL."""
    data = b64encode(request.image_bytes[image.media_id]).decode()
    url = f"data:{image.content_type};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url, "detail": request.image_detail}}


def _text(content: object) -> str:
    """Return the text of a message's content, without its pictures."""
    parts = content if isinstance(content, list) else [{"text": content}]
    return " ".join(str(part["text"]) for part in parts if "text" in part)


def _answer(completion: ChatCompletion, request: ModelRequest) -> ModelAnswer:
    if not completion.choices:
        raise Unavailable("the model's answer has no choices")
    choice = completion.choices[0]
    message = choice.message
    return ModelAnswer(
        model=completion.model or request.model,
        text=restored(message.content or _refusal(choice)),
        tool_calls=_tool_calls(choice, request),
        fault=_fault(choice),
        usage=_usage(completion.usage),
    )


def _tool_calls(choice: Choice, request: ModelRequest) -> tuple[ToolCall, ...]:
    """Return the tool calls of an answer, each with a unique id.

    If the provider gives no id, the id is made from the number of messages and the position of the
    call. This id is stable, and unique in a run.
    """
    calls = [call for call in choice.message.tool_calls or () if call.type in {"function", None}]
    ids: list[str] = []
    for call in calls:
        given = call.id if isinstance(call.id, str) and call.id not in ids else ""
        ids.append(given or f"call_{len(request.messages)}_{len(ids) + 1}")
    return tuple(
        ToolCall(id=id_, name=call.function.name, arguments=restored(call.function.arguments))
        for id_, call in zip(ids, calls, strict=True)
    )


def _fault(choice: Choice) -> AnswerFault | None:
    """Return the provider's reason why an answer is incomplete; None if it is complete."""
    if _refusal(choice):
        return "refused"
    return FAULTS.get(str(choice.finish_reason).lower())


def _refusal(choice: Choice) -> str:
    """Return the text of the model's refusal; empty if the model did not refuse."""
    words = getattr(choice.message, "refusal", None)
    return words if isinstance(words, str) else ""


def _usage(usage: CompletionUsage | None) -> TokenUsage:
    details = getattr(usage, "prompt_tokens_details", None)
    output_details = getattr(usage, "completion_tokens_details", None)
    return TokenUsage(
        input_tokens=_count(usage and usage.prompt_tokens),
        output_tokens=_count(usage and usage.completion_tokens),
        cached_tokens=_count(getattr(details, "cached_tokens", None)),
        reasoning_tokens=_count(getattr(output_details, "reasoning_tokens", None)),
    )


def _count(tokens: object) -> int:
    """Return a token count; 0 if the provider gives no count."""
    return tokens if isinstance(tokens, int) and tokens > 0 else 0
