"""The mapping of AWS errors to Skein errors, in one place."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError

from skein.errors import Ambiguous, ConditionFailed, Contention, Throttled, TooLarge, Unavailable

# All errors that botocore raises for causes outside of our code.
AwsError = ClientError | BotoCoreError | ResponseParserError
AWS_ERRORS = (ClientError, BotoCoreError, ResponseParserError)

THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "Throttled",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
SERVER_FAULT = 500


class InProgress(Ambiguous):
    """An earlier request for the same transaction is still in progress."""


def meaning_of(error: AwsError, *, writing: bool) -> Exception:
    """Map an AWS error to a Skein error.

    Args:
        error: The error that the call raised.
        writing: Whether the call was a write. A write without an answer is `Ambiguous`; a read
            without an answer is `Unavailable`.

    Returns:
        A `SkeinError`, or a ValueError for an invalid request. Any other error (access denied, no
        such table) is a fault of the deployment and is returned unchanged.
    """
    if isinstance(error, ClientError):
        return _answered(error, writing=writing)
    name = type(error).__name__
    if isinstance(error, NoConnectionError):
        return Unavailable(f"failed to reach AWS: {name}")
    if isinstance(error, HTTPClientError | ResponseParserError):
        return _no_answer(name, writing=writing)
    return error


def _answered(error: ClientError, *, writing: bool) -> Exception:
    response = cast("Mapping[str, Any]", error.response)
    code = str(response.get("Error", {}).get("Code", ""))
    message = str(response.get("Error", {}).get("Message", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "TransactionCanceledException":
        return _canceled(response.get("CancellationReasons", ())) or error
    return (
        _reason(code, message)
        or (ConditionFailed(frozenset({0})) if code == "ConditionalCheckFailedException" else None)
        or (InProgress(code) if code == "TransactionInProgressException" else None)
        or (_no_answer(code, writing=writing) if status >= SERVER_FAULT else error)
    )


def _canceled(reasons: Sequence[Mapping[str, Any]]) -> Exception | None:
    codes = [reason.get("Code", "None") for reason in reasons]
    failed = frozenset(i for i, code in enumerate(codes) if code == "ConditionalCheckFailed")
    if failed:
        return ConditionFailed(failed)
    meanings = (_reason(reason.get("Code", ""), reason.get("Message", "")) for reason in reasons)
    return next((meaning for meaning in meanings if meaning is not None), None)


def _reason(code: str, message: str) -> Exception | None:
    if code in {"TransactionConflict", "TransactionConflictException"}:
        return Contention("another transaction is writing one of the items")
    if code in THROTTLES:
        return Throttled(f"AWS throttled the call: {code}")
    if code in {"ValidationError", "ValidationException"}:
        # DynamoDB has no error code for an item that is too large, only this message.
        if "size" in message and "exceed" in message and "Expression" not in message:
            return TooLarge("The item is too large for the table.")
        return ValueError(message)
    return None


def _no_answer(what: str, *, writing: bool) -> Exception:
    if writing:
        return Ambiguous(f"the outcome of a write to AWS is unknown: {what}")
    return Unavailable(f"AWS did not answer a read: {what}")
