"""Every error Skein raises on purpose, in one tree.

SkeinError
  Rejected            the caller is wrong: 4xx, never retried
    Invalid           400  the request does not parse, or breaks a rule of its form
    Unauthenticated   401  nobody is signed in
    Forbidden         403  signed in, but without the scope or signature for this
    NotFound          404  no such thing for this caller
    Conflict          409  the thing is in a state that forbids this
    TooLarge          413  more than the table or the contract holds
    Unprocessable     422  well formed, but the values do not fit
    RateLimited       429  too many, too soon
  Transient           try again later: 503, retried by the queue
    Contention        an optimistic write lost every one of its tries
    Throttled         an outside service asks us to slow down
    Unavailable       an outside service is down or out of reach
      CircuitOpen     it failed too often just now, and is left alone for a while
    Ambiguous         the call may or may not have taken effect
  ConditionFailed     a conditional write found another state; services decide what that means
  RiderFailed         what was to be committed with a message no longer holds; nothing was posted
  LostLease           another worker took the run over; this one stops without a trace
  ReadersChanged      someone joined the chat for which an activation was built; build it again
  ModelRejected       the model provider refuses this very request; asking again will not help
  SmsRejected         the SMS provider refuses this very text
  MissingSecret       a secret is not there, or is no JSON object of texts: the operator must act
  ToolError           shown to the model
    Correctable       the model's arguments were wrong; it may try again
    Failed            the action could not be done
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class SkeinError(Exception):
    """The root of everything raised on purpose."""


class Rejected(SkeinError):
    """The caller is wrong; the same request will always be refused.

    Args:
        message: One sentence for the caller, free of secrets and of other people's data.
        details: Machine-readable particulars, JSON-ready.
    """

    status: ClassVar[int] = 400
    code: ClassVar[str] = "invalid"

    def __init__(self, message: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})


class Invalid(Rejected):
    """The request does not parse, or breaks a rule of its form."""


class Unauthenticated(Rejected):
    """Nobody is signed in."""

    status = 401
    code = "unauthenticated"


class Forbidden(Rejected):
    """Signed in, but without the scope or the signature that this needs."""

    status = 403
    code = "forbidden"


class NotFound(Rejected):
    """No such thing for this caller; says nothing of whether it exists for others."""

    status = 404
    code = "not_found"


class Conflict(Rejected):
    """The thing is in a state that forbids this."""

    status = 409
    code = "conflict"


class TooLarge(Rejected):
    """More than the table or the contract holds."""

    status = 413
    code = "too_large"


class Unprocessable(Rejected):
    """Well formed, but the values do not fit together."""

    status = 422
    code = "unprocessable"


class RateLimited(Rejected):
    """Too many, too soon.

    Args:
        message: As of any `Rejected`.
        retry_after_seconds: When the same request may be made again.
    """

    status = 429
    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message, details={"retry_after_seconds": retry_after_seconds})
        self.retry_after_seconds = retry_after_seconds


class Transient(SkeinError):
    """Nothing is wrong with the request; try it again later."""


class Contention(Transient):
    """An optimistic write lost every one of its tries."""


class Throttled(Transient):
    """An outside service asks us to slow down."""


class Unavailable(Transient):
    """An outside service is down or out of reach; nothing was done there."""


class CircuitOpen(Unavailable):
    """An outside service failed too often just now, and is left alone for a while."""

    def __init__(self, dependency: str) -> None:
        super().__init__(f"{dependency} failed too often just now and is left alone for a while")


class Ambiguous(Transient):
    """A call to the outside may or may not have taken effect."""


class ConditionFailed(SkeinError):
    """A conditional write found another state and changed nothing.

    Args:
        failed: Positions, in the transaction, of the writes whose conditions did not hold.
    """

    def __init__(self, failed: frozenset[int]) -> None:
        super().__init__(f"condition failed for write(s) {sorted(failed)}")
        self.failed = failed


class ExtraWriteFailed(SkeinError):
    """What was to be committed together with a message no longer holds; nothing was posted."""


class LostLease(SkeinError):
    """Another worker took the run over."""


class ReadersChanged(SkeinError):
    """Someone joined the chat that an activation's prompt showed; the activation is built again."""


class ModelRejected(SkeinError):
    """The model provider refuses this very request."""


class SmsRejected(SkeinError):
    """The SMS provider refuses this very text.

    Args:
        code: Twilio's error code (https://www.twilio.com/docs/api/errors), None when it gave none.
    """

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class MissingSecret(SkeinError):
    """A secret is not there, or is no JSON object of texts; only the operator can help."""


class ToolError(SkeinError):
    """A tool could not do what the model asked; the message is shown to the model."""


class Correctable(ToolError):
    """The model's arguments were wrong; it may try again with better ones."""


class Failed(ToolError):
    """The arguments were right, but the action could not be done."""
