"""The errors that Skein raises on purpose, in one tree.

SkeinError
  Rejected            the caller is wrong: 4xx, never retried
    Invalid           400  the request does not parse, or breaks a rule of its form
    Unauthenticated   401  the request has no valid sign-in
    Forbidden         403  signed in, but without the required scope or signature
    NotFound          404  the resource does not exist for this caller
    Conflict          409  the resource is in a state that forbids the request
      AlreadyAsked         a person already has an open question about the same subject
    TooLarge          413  larger than the table or the contract allows
    UnsupportedMediaType 415  the body is not JSON
    Unprocessable     422  well formed, but the values do not fit together
    RateLimited       429  too many requests
  Transient           try again later: 503, retried by the queue
    Contention        an optimistic lock failed in every attempt
    Throttled         an outside service asks Skein to slow down
    Unavailable       an outside service is down or out of reach
      CircuitOpen     the circuit breaker of the service is open
      StorageFull     the disk of the local stack is full
      Unreachable     no connection to the service's address
      KeyRefused      the service refuses the API key; the operator must act
      ModelUnknown    the service does not know the model or API operation; the operator must act
    Ambiguous         the call may or may not have taken effect
      AnswerTooLong   the service answered more than Skein reads
  ConditionFailed     a conditional write found another state; services decide the consequence
  ExtraWriteFailed    the condition of a write beside a message failed; nothing was posted
  NotActive           the work that a post belongs to is paused or over; nothing was posted
  LostLease           another worker took over the work; this worker writes nothing more
  ReadersChanged      the people who may see the content of a prompt have changed
  ModelRejected       the model provider refuses this request; a retry does not help
    ModelFiltered     the provider's content filter refuses the request
    GuardrailBlocked  the operator's guardrail blocked the request or the answer
  SmsRejected         the SMS provider refuses this SMS
  MediaRefused        a picture or file is not accepted; the reason is shown
  ConnectionGone      a connection of the live channel is closed
  DeviceGone          the push provider no longer knows a device
  PushRefused         the push provider refuses a token or a notification
  NoVectorIndex       the table has no vector index; recall searches by words only
  MissingSecret       a secret is missing or not a JSON object of strings; the operator must act
  ToolError           shown to the model
    Correctable       the model's arguments were wrong; it may try again
    Failed            the arguments were right, but the action failed
      Redirected      the service answered with a redirect that is not followed
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class SkeinError(Exception):
    """The base class of all errors that Skein raises on purpose."""


class Rejected(SkeinError):
    """The caller is wrong; the same request would be refused again.

    Args:
        message: One sentence for the caller, without secrets and other people's data.
        details: Machine-readable details, JSON-ready.
        reason: A value of `Reason` (`models/common/reason.py`), for logs and records; the caller
            does not see it.
    """

    status: ClassVar[int] = 400
    code: ClassVar[str] = "invalid"

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self.reason = reason


class Invalid(Rejected):
    """The request does not parse, or breaks a rule of its form."""


class Unauthenticated(Rejected):
    """The request has no valid sign-in."""

    status = 401
    code = "unauthenticated"


class Forbidden(Rejected):
    """The caller is signed in, but lacks the required scope or signature."""

    status = 403
    code = "forbidden"


class NotFound(Rejected):
    """The resource does not exist for this caller; it may exist for other callers."""

    status = 404
    code = "not_found"


class Conflict(Rejected):
    """The resource is in a state that forbids the request."""

    status = 409
    code = "conflict"


class AlreadyAsked(Conflict):
    """The person already has an open question about the same subject."""

    def __init__(self) -> None:
        super().__init__(
            "already asked: only the person's press or number answers the open question; ask them "
            "for it"
        )


class TooLarge(Rejected):
    """The request is larger than the table or the contract allows."""

    status = 413
    code = "too_large"


class UnsupportedMediaType(Rejected):
    """The content type of the body is not JSON."""

    status = 415
    code = "unsupported_media_type"


class Unprocessable(Rejected):
    """The request is well formed, but its values do not fit together."""

    status = 422
    code = "unprocessable"


class RateLimited(Rejected):
    """The caller exceeded a rate limit.

    Args:
        message: See `Rejected`.
        retry_after_seconds: The seconds after which the caller may retry the request.
    """

    status = 429
    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(
            message,
            details={"retry_after_seconds": retry_after_seconds},
            reason="rate_limited",
        )
        self.retry_after_seconds = retry_after_seconds


class Transient(SkeinError):
    """The request is valid, but cannot be served now; retry later."""


class Contention(Transient):
    """An optimistic lock failed in every attempt."""


class Throttled(Transient):
    """An outside service asks Skein to slow down."""


class Unavailable(Transient):
    """An outside service is down or out of reach; the call had no effect."""


class CircuitOpen(Unavailable):
    """The circuit breaker of an outside service is open after many recent failures."""

    def __init__(self, dependency: str) -> None:
        super().__init__(f"{dependency} failed too often; its circuit breaker is open")


class Unreachable(Unavailable):
    """An outside service cannot be reached at its address."""


class KeyRefused(Unavailable):
    """An API key is refused or missing; the operator must act."""


class ModelUnknown(Unavailable):
    """The model provider does not know the model or the API operation; the operator must act."""


class StorageFull(Unavailable):
    """The disk of the local stack is full; nothing was written."""


class Ambiguous(Transient):
    """A call to an outside service may or may not have taken effect."""


class AnswerTooLong(Ambiguous):
    """A service's answer is longer than Skein reads."""


class ConditionFailed(SkeinError):
    """A conditional write found another state and changed nothing.

    Args:
        failed: The positions, in the transaction, of the writes whose conditions did not hold.
    """

    def __init__(self, failed: frozenset[int]) -> None:
        super().__init__(f"condition failed for write(s) {sorted(failed)}")
        self.failed = failed


class ExtraWriteFailed(SkeinError):
    """The condition of a write in the same transaction as a message failed; nothing was posted."""


class NotActive(SkeinError):
    """The work that a message belongs to is paused or over; nothing was posted."""


class LostLease(SkeinError):
    """Another worker took over the run or the delivery."""


class ReadersChanged(SkeinError):
    """The people who may see the content that a prompt has used have changed.

    For example, the prompt showed messages of a chat, and a person has joined that chat since. Or a
    sharing rule has ended. The activation's prompt is then built again.
    """


class ModelRejected(SkeinError):
    """The model provider refuses this request; a retry does not help."""


class GuardrailBlocked(ModelRejected):
    """The operator's guardrail blocked the request to the model or the model's answer.

    Args:
        text: What the person reads in place of an answer.
    """

    def __init__(self, text: str) -> None:
        super().__init__("the guardrail blocked it")
        self.text = text


class ModelFiltered(ModelRejected):
    """The content filter of the model provider refuses this request."""


class SmsRejected(SkeinError):
    """The SMS provider refuses this SMS.

    Args:
        code: Twilio's error code (https://www.twilio.com/docs/api/errors); None if Twilio
            gave no code.
    """

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class MediaRefused(SkeinError):
    """A picture or file is not accepted.

    Args:
        reason: The reason, a `MediaReason` (`models/chats/media.py`).
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the file is not accepted: {reason}")
        self.reason = reason


class ConnectionGone(SkeinError):
    """A connection of the live channel is closed."""


class DeviceGone(SkeinError):
    """The push provider no longer knows a device, or the app is no longer installed on it."""


class PushRefused(SkeinError):
    """The push provider refuses the token of a device, or a notification."""


class NoVectorIndex(SkeinError):
    """The table has no vector index, or the index is not ready; recall searches by words only."""


class MissingSecret(SkeinError):
    """A secret is missing or not a JSON object of strings; the operator must act."""


class ToolError(SkeinError):
    """A tool call failed; the message is shown to the model."""


class Correctable(ToolError):
    """The model's arguments were wrong; it may try again with better ones."""


class Failed(ToolError):
    """The arguments were right, but the action failed."""


class Redirected(Failed):
    """The service's redirect is not followed; the request may have taken effect."""
