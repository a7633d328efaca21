"""What the errors of AWS mean to Skein: the one place that reads them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError

from skein.errors import Ambiguous, ConditionFailed, Contention, Throttled, TooLarge, Unavailable

# Everything that a call of botocore raises because of what happened outside.
AwsError = ClientError | BotoCoreError | ResponseParserError
AWS_ERRORS = (ClientError, BotoCoreError, ResponseParserError)

THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
SERVER_FAULT = 500


class InProgress(Ambiguous):
    """The same transaction, sent before, has not ended yet."""


def meaning_of(error: AwsError, *, writing: bool) -> Exception:
    """The error that Skein knows this one by.

    Args:
        error: What a call raised.
        writing: Whether the call would have changed something. Only then can a lost answer be
            `Ambiguous`; a read that got no answer is simply `Unavailable`.

    Returns:
        A `SkeinError`; a ValueError for a request that no engine would carry out; and the error
        itself when it is neither (access denied, no such table): a fault of the deployment.
    """
    if isinstance(error, ClientError):
        return _answered(error, writing=writing)
    name = type(error).__name__
    if isinstance(error, NoConnectionError):
        return Unavailable(f"AWS was not reached: {name}")
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
        return Contention("another transaction holds an item of this one")
    if code in THROTTLES:
        return Throttled(f"AWS asks to slow down: {code}")
    if code in {"ValidationError", "ValidationException"}:
        # DynamoDB has no code of its own for what is too large, only these words.
        if "size" in message and "exceed" in message and "Expression" not in message:
            return TooLarge("This is larger than the table holds.")
        return ValueError(message)
    return None


def _no_answer(what: str, *, writing: bool) -> Exception:
    if writing:
        return Ambiguous(f"AWS gave no clear answer to a write: {what}")
    return Unavailable(f"AWS gave no answer to a read: {what}")
