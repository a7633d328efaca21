"""The language model, through the Converse API of Amazon Bedrock."""

from __future__ import annotations

import logging
import math
import threading
import time
from contextlib import closing
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from skein.adapters.converse.answer import StreamBroken, answer_of, assembled
from skein.adapters.converse.families import HOLDS_SCHEMAS, REASONS
from skein.adapters.converse.wire import Form, parameters_of
from skein.adapters.system import done_within
from skein.errors import KeyRefused, Unavailable
from skein.models.common.prompt_caches import cache_rule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.exceptions import ClientError

    from skein.adapters.aws.clients import Aws
    from skein.adapters.model_providers import AdapterParts
    from skein.models.common.prompt_caches import CachePlace
    from skein.models.runs.completion import ModelAnswer, ModelRequest

    Ask = Callable[[dict[str, Any]], dict[str, Any]]

READ_SECONDS = 90  # as long as a call of a model may take
TRIES = 2
_UNTIL = ContextVar("until", default=math.inf)  # when the caller of a call gives up

logger = logging.getLogger(__name__)


class ConverseModel:
    """`LanguageModel` on Bedrock; the SDK finds the credentials and signs the requests.

    Many threads may call the model at once. The client is created at the first call.

    Args:
        aws: The factory of clients.
        endpoint_url: The endpoint; None for AWS's own.
        reasoning_tokens: The tokens that a reasoning model may use before its answer. These tokens
            are added to the limit of the answer, because they count toward that limit.
    """

    def __init__(
        self, aws: Aws, *, endpoint_url: str | None = None, reasoning_tokens: int = 0
    ) -> None:
        self._aws, self._url = aws, endpoint_url
        self._reasoning_tokens = reasoning_tokens
        self._lock = threading.Lock()
        self._client: Any = None
        # What models have refused so far, by their names.
        self._points: dict[str, tuple[CachePlace, ...]] = {}
        self._no_formats: set[str] = set()
        self._denied: set[str] = set()  # models whose missing access is logged

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Call the model once; the SDK retries a failed request once within the time-out.

        Raises:
            Throttled: Bedrock asks Skein to slow down, or the model is not ready.
            Unreachable: There is no connection to Bedrock.
            KeyRefused: The role may not call the model, or the account's access to the model is
                not set up yet.
            ModelUnknown: There is no such model or inference profile in this region.
            Unavailable: Bedrock is too slow or broken. After this error or an error above, the run
                is deferred and does not fail, because the run is not at fault.
            ModelFiltered: Bedrock's content filter refuses this request.
            ModelRejected: Bedrock refuses this request for another reason.
        """
        return self._answered(request, lambda given: self._bedrock().converse(**given))

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """Call the model once, and report its text while it is generated.

        If the stream breaks off, the request is repeated without streaming.

        Raises:
            Transient, ModelRejected: As in `complete`.
        """
        over = threading.Event()

        def heard_in_time(text: str) -> None:
            if over.is_set():
                raise Unavailable("the model's answer took too long")  # closes the stream
            heard(text)

        try:
            return self._answered(request, lambda given: self._streamed(given, heard_in_time))
        finally:
            over.set()

    def _streamed(self, given: dict[str, Any], heard: Callable[[str], None]) -> dict[str, Any]:
        """Read an answer as a stream; if that fails, request it without streaming."""
        from botocore.eventstream import ParserError
        from botocore.exceptions import EventStreamError, HTTPClientError
        from urllib3.exceptions import HTTPError

        breaks = (EventStreamError, HTTPClientError, HTTPError, ParserError, StreamBroken)
        stream = self._bedrock().converse_stream(**given)["stream"]
        try:
            with closing(stream):
                return assembled(stream, heard)
        except (*breaks, KeyError, TypeError):
            logger.info("a streamed answer broke off", exc_info=True)
            response: dict[str, Any] = self._bedrock().converse(**given)
            return response

    def _answered(self, request: ModelRequest, ask: Ask) -> ModelAnswer:
        until = time.monotonic() + request.timeout_seconds

        def asked() -> dict[str, Any]:
            _UNTIL.set(until)
            return self._asked(request, ask)

        try:
            return answer_of(done_within(request.timeout_seconds, asked), request)
        except TimeoutError as error:
            raise Unavailable("the model's answer took too long") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # the SDK checks nothing
            raise Unavailable("the model's answer has an unexpected form") from error

    def _asked(self, request: ModelRequest, ask: Ask) -> dict[str, Any]:
        """Call Bedrock; if it refuses cache points or schemas, call it once more without them.

        Raises:
            Transient, ModelRejected: As in `complete`.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        from skein.adapters.converse.errors import error_of

        try:
            try:
                return ask(parameters_of(request, self._form_of(request)))
            except ClientError as error:
                if not self._learned(request, error):
                    raise
                return ask(parameters_of(request, self._form_of(request)))
        except (ClientError, BotoCoreError) as error:
            known = error_of(error)
            if isinstance(known, KeyRefused):
                self._tell_once(request.model, str(known))
            raise known from error

    def _learned(self, request: ModelRequest, error: ClientError) -> bool:
        """Remember what a model refuses; return whether a request without it may succeed."""
        from skein.adapters.converse.errors import refused_points, refuses_format

        model, form = request.model, self._form_of(request)
        if new := [one for one in refused_points(error) if one in form.cache.places]:
            self._points[model] = tuple({*form.left_out, *new})
            logger.warning("a model refuses cache points", extra={"model": model, "places": new})
            return set(form.left_out) < {*form.left_out, *new}
        if form.text_format and refuses_format(error):
            self._no_formats.add(model)
            logger.warning("a model refuses schemas", extra={"model": model})
            return True
        return False

    def _form_of(self, request: ModelRequest) -> Form:
        model, thinks = request.model, request.reasons or REASONS.search(request.model)
        return Form(
            cache=cache_rule_of(model),
            left_out=self._points.get(model, ()),
            text_format=bool(HOLDS_SCHEMAS.search(model)) and model not in self._no_formats,
            max_tokens=request.max_output_tokens + (self._reasoning_tokens if thinks else 0),
        )

    def _tell_once(self, model: str, why: str) -> None:
        """Log once that a model cannot be used; its runs are deferred until it can."""
        if model not in self._denied:
            self._denied.add(model)
            logger.error("Bedrock denies access to a model", extra={"model": model, "why": why})

    def _bedrock(self) -> Any:
        """Return the client, which is created once."""
        with self._lock:
            if self._client is None:
                client = self._aws.client(
                    "bedrock-runtime",
                    read_seconds=READ_SECONDS,
                    tries=TRIES,
                    endpoint_url=self._url,
                )
                client.meta.events.register("before-send.bedrock-runtime", _no_late_retry)
                self._client = client
            return self._client


def _no_late_retry(**_: object) -> None:
    """Prevent the SDK's retry after the call's time-out.

    Raises:
        Unavailable: The time of the call is over.
    """
    if time.monotonic() >= _UNTIL.get():
        raise Unavailable("the model's answer took too long")


def create(parts: AdapterParts) -> ConverseModel:
    """Create the adapter; `MODEL_ADAPTERS` names this function."""
    settings = parts.settings
    return ConverseModel(
        parts.aws(),
        endpoint_url=settings.bedrock_endpoint_url,
        reasoning_tokens=settings.reasoning_tokens,
    )
