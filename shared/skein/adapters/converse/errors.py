"""Map the errors of Bedrock's SDK to Skein's, by their codes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.exceptions import ConnectionError as NoConnectionError

from skein.errors import (
    KeyRefused,
    ModelFiltered,
    ModelRejected,
    ModelUnknown,
    SkeinError,
    Throttled,
    Unavailable,
    Unreachable,
)

if TYPE_CHECKING:
    from skein.models.common.prompt_caches import CachePlace

CODES: dict[str, type[SkeinError]] = {
    "AccessDeniedException": KeyRefused,
    "ExpiredTokenException": KeyRefused,
    "IncompleteSignatureException": KeyRefused,
    "InvalidSignatureException": KeyRefused,
    "UnrecognizedClientException": KeyRefused,
    "ModelNotReadyException": Throttled,
    "ServiceQuotaExceededException": Throttled,
    "ThrottlingException": Throttled,
    "TooManyRequestsException": Throttled,
    "ResourceNotFoundException": ModelUnknown,
    "ValidationException": ModelRejected,
}
# Bedrock reports these cases by the message alone.
ACCESS_PENDING = re.compile(r"use case details|Marketplace|[Mm]odel access", re.IGNORECASE)
UNKNOWN_MODEL = re.compile(
    r"model identifier is invalid|on-demand throughput isn.t supported|model ID .* not found",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content filter|blocked by .*polic", re.IGNORECASE)
POINT = re.compile(r"cache_?point|cache point|prompt caching", re.IGNORECASE)
PLACE = re.compile(r"#/(?:toolConfig/)?(tools|system|messages)\b")
FORMAT = re.compile(r"outputConfig|textFormat|output_config|output_format|json_schema|\bstrict\b")
PLACES: tuple[CachePlace, ...] = ("tools", "system", "messages")


def code_of(error: ClientError) -> str:
    """Return the code of an error, always with a capital letter: `ThrottlingException`."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    return code[:1].upper() + code[1:]  # the events of a stream begin with a small letter


def _message(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Message", ""))


def error_of(error: ClientError | BotoCoreError) -> SkeinError:
    """Map an error, without the API's message, which may quote the prompt."""
    if isinstance(error, ClientError):
        return _answered(error)
    name = type(error).__name__
    if isinstance(error, NoCredentialsError):
        return KeyRefused("there are no credentials of AWS for Bedrock")
    if isinstance(error, ParamValidationError):
        return ModelRejected(name)
    if isinstance(error, NoConnectionError) and not isinstance(error, ReadTimeoutError):
        return Unreachable(f"Bedrock cannot be reached: {name}")
    return Unavailable(name)


def _answered(error: ClientError) -> SkeinError:
    code, message = code_of(error), _message(error)
    kind = CODES.get(code, Unavailable)
    if kind in {KeyRefused, ModelUnknown} and ACCESS_PENDING.search(message):
        return KeyRefused(f"access to the model is denied, or still being set up: {code}")
    if kind is ModelRejected and UNKNOWN_MODEL.search(message):
        kind = ModelUnknown
    elif kind is ModelRejected and FILTERED.search(message):
        kind = ModelFiltered
    return kind(f"{code} request_id={error.response['ResponseMetadata'].get('RequestId')}")


def refused_points(error: ClientError) -> tuple[CachePlace, ...]:
    """Return the places where a model refuses cache points; empty for an error of another cause.

    If the error does not name a place, all cache points are refused.
    """
    message = _message(error)
    if code_of(error) != "ValidationException" or not POINT.search(message):
        return ()
    named = tuple(place for place in PLACES if place in PLACE.findall(message))
    return named or PLACES


def refuses_format(error: ClientError) -> bool:
    """Return whether a model refuses a schema, either as a text format or for a strict tool."""
    return code_of(error) == "ValidationException" and bool(FORMAT.search(_message(error)))
