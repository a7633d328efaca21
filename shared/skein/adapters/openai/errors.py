"""Map the errors of the OpenAI SDK to Skein's, by status and machine-readable fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
    from openai import APIError

WORD = re.compile(r"[A-Za-z0-9_.:\[\]-]{1,80}")
# HTTP status codes. 402 (payment required) means that a quota is used up.
KEY_REFUSALS = frozenset({401, 403})
SLOW_DOWN = frozenset({402, 429})
NO_SUCH_CALL = frozenset({404, 405, 501})
RETRIABLE = frozenset({408, 409})
BAD_REQUEST = 400
MAY_BE_FILTERED = frozenset({400, 403})
SERVER_ERRORS = 500
# The codes and types of an unknown model, for providers that answer 400 in place of 404.
UNKNOWN_MODEL = frozenset(
    {"model_not_found", "invalid_model", "unknown_model", "model_decommissioned"}
)
# Some providers have no code for an unknown model and only say so in the message.
NO_CODE = frozenset({"", "none", "400", "invalid_request_error"})
UNKNOWN_MODEL_MESSAGE = re.compile(
    r"(?:error: )?(?:"
    r"(?:the )?(?:requested |specified )?model\b[^\n]{0,120}?"
    r"\b(?:does(?: not|n't) exist|not exist|not found|(?:could not|cannot) be found)\b"
    r"|(?:no such|unknown|invalid) model\b"
    r"|\S{1,120} is not a valid model\b"
    r")",
    re.IGNORECASE,
)
# The codes and types of a request that a content filter refuses.
FILTERED = frozenset(
    {
        "content_filter",
        "content_moderation",
        "content_policy_violation",
        "data_inspection_failed",
        "invalid_prompt",
        "moderation_blocked",
        "responsibleaipolicyviolation",
    }
)
# OpenRouter reports a flagged prompt with these fields (openrouter.ai/docs/errors).
MODERATION_FIELDS = frozenset({"flagged_input", "reasons"})


def error_of(error: APIError) -> SkeinError:
    """Map an error of the SDK: `ModelRejected` if the request is at fault, else `Transient`."""
    import openai

    reason, status = _reason(error), getattr(error, "status_code", None)
    found: SkeinError = Unavailable(reason)
    if status in NO_SUCH_CALL or (status is not None and _names_model(error)):
        found = ModelUnknown(f"the model or its address is unknown: {reason}")
    elif status in MAY_BE_FILTERED and is_filtered(error):
        found = ModelFiltered(f"the content filter refuses the request: {reason}")
    elif status in KEY_REFUSALS:
        found = KeyRefused(f"the API key is refused: {reason}")
    elif status in SLOW_DOWN:
        found = Throttled(reason)
    elif status is not None and status < SERVER_ERRORS and status not in RETRIABLE:
        found = ModelRejected(reason)
    elif isinstance(error, openai.APIConnectionError) and not isinstance(
        error, openai.APITimeoutError
    ):
        found = Unreachable(f"the model's address cannot be reached: {reason}")
    return found


def _names_model(error: APIError) -> bool:
    """Return whether an error says that the model is unknown, in its fields or its message.

    The message is checked only for status 400 without a code, because it may quote the prompt.
    """
    if error.code in UNKNOWN_MODEL or error.type in UNKNOWN_MODEL or error.param == "model":
        return True
    if getattr(error, "status_code", None) != BAD_REQUEST:
        return False
    if str(error.code or "").lower() not in NO_CODE:
        return False
    body: object = error.body
    message = body.get("message") if isinstance(body, dict) else body
    return isinstance(message, str) and UNKNOWN_MODEL_MESSAGE.match(message) is not None


def is_filtered(error: APIError) -> bool:
    """Return whether a content filter refused the request, judging by the fields of the error.

    Azure nests a second code in `innererror`. OpenRouter uses the status as the code, and puts a
    type or the findings of the moderation into `metadata`.
    """
    inner, metadata = _part(error, "innererror"), _part(error, "metadata")
    codes = (error.code, error.type, inner.get("code"), metadata.get("error_type"))
    if any(str(code or "").lower() in FILTERED for code in codes):
        return True
    return metadata.keys() >= MODERATION_FIELDS


def _part(error: APIError, name: str) -> dict[str, object]:
    """Return the named object in the body of an error; an empty object if it is missing."""
    body: object = error.body
    found = body.get(name) if isinstance(body, dict) else None
    return found if isinstance(found, dict) else {}


def _reason(error: Exception) -> str:
    """Describe a failure by its type and the API's machine-readable fields.

    The API's message is left out, since it may quote the prompt. The provider's `request_id` is
    included.
    """
    parts = [type(error).__name__]
    for name in ("status_code", "code", "type", "param", "request_id"):
        value = str(getattr(error, name, None) or "")
        if WORD.fullmatch(value):
            parts.append(f"{name}={value}")
    return " ".join(parts)
