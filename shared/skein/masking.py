"""Masking of phone numbers and error messages for logs."""

import os
import re
import traceback
from collections.abc import Iterator

from skein.errors import SkeinError, ToolError

NUMBER = re.compile(r"(\+|%2B)([1-9][0-9]{6,14})(?![0-9])")
WHOLE_NUMBER = 10  # digits; shorter numbers show fewer of their digits
PACKAGE = os.path.join(os.path.dirname(__file__), "")  # the path prefix of Skein's own modules


def masked(text: str) -> str:
    """Mask every phone number in a text except its first and last digits, as in `+1555***0006`.

    A number is recognised by its plus sign, including its URL-encoded form.
    """
    return NUMBER.sub(_ends, text)


def _ends(found: re.Match[str]) -> str:
    digits = found[2]
    if len(digits) < WHOLE_NUMBER:
        return f"{found[1]}{digits[0]}***{digits[-2:]}"
    return f"{found[1]}{digits[: min(4, len(digits) - 7)]}***{digits[-4:]}"


def in_our_words(error: BaseException) -> str:
    """Describe an error for logs.

    Skein's own errors are described by their type and message. The message of any other error may
    quote the value that caused the error, which a person may have written. So other errors are
    described by their type and place only. The same applies to a `ToolError`, whose message is for
    the model and may quote the model's words.
    """
    kind = type(error).__name__
    if isinstance(error, SkeinError) and not isinstance(error, ToolError):
        return f"{kind}: {error}"
    frames = _frames(error)
    frame = next((each for each in reversed(frames) if each.filename.startswith(PACKAGE)), None)
    if frame is None:
        return kind
    return f"{kind} in {frame.filename.removeprefix(PACKAGE)}, line {frame.lineno}"


def traceback_without_words(error: BaseException) -> str:
    """Return the traceback of an error and its causes, each described by `in_our_words`."""
    chain = [_one(each) for each in _causes(error)]
    return "\nwhich led to\n\n".join(reversed(chain))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the chain of its causes."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        hidden = None if following.__suppress_context__ else following.__context__
        following = following.__cause__ or hidden


def _one(error: BaseException) -> str:
    frames = "".join(_frames(error).format())
    return f"Traceback (most recent call last):\n{frames}{in_our_words(error)}\n"


def _frames(error: BaseException) -> traceback.StackSummary:
    return traceback.extract_tb(error.__traceback__)
