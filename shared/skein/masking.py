"""What may be seen of phone numbers, and of the words of errors, by those who only read logs."""

import os
import re
import traceback
from collections.abc import Iterator

from skein.errors import SkeinError, ToolError

NUMBER = re.compile(r"(\+|%2B)([1-9][0-9]{6,14})(?![0-9])")
WHOLE_NUMBER = 10  # digits; of a shorter one less is left to see
PACKAGE = os.path.join(os.path.dirname(__file__), "")  # a prefix of the paths of our own modules


def masked(text: str) -> str:
    """The text with every phone number in it reduced to its ends, such as `+1555***0006`.

    A number is recognised by its plus sign, as it is or as URLs spell it.
    """
    return NUMBER.sub(_ends, text)


def _ends(found: re.Match[str]) -> str:
    digits = found[2]
    if len(digits) < WHOLE_NUMBER:
        return f"{found[1]}{digits[0]}***{digits[-2:]}"
    return f"{found[1]}{digits[: min(4, len(digits) - 7)]}***{digits[-4:]}"


def in_our_words(error: BaseException) -> str:
    """What may be kept of an error: its kind, and its words if they are ours.

    The words of any other error may quote the value that it stumbled over, which may be what a
    person wrote. Of those only the kind and the place are told. The words of a `ToolError` are
    for the model and quote it.
    """
    kind = type(error).__name__
    if isinstance(error, SkeinError) and not isinstance(error, ToolError):
        return f"{kind}: {error}"
    frames = _frames(error)
    place = next((each for each in reversed(frames) if each.filename.startswith(PACKAGE)), None)
    if place is None:
        return kind
    return f"{kind} in {place.filename.removeprefix(PACKAGE)}, line {place.lineno}"


def traceback_without_words(error: BaseException) -> str:
    """The traceback of an error and of those that led to it, with no words but ours."""
    chain = [_one(each) for each in _causes(error)]
    return "\nwhich led to\n\n".join(reversed(chain))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, then what it came from, then what that came from ..."""
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
