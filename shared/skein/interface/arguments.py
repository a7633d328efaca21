"""The types of tool arguments, each with bounds.

A value that does not fit is returned to the model as an error, so that the model can correct the
value (`Tool.parse`). The bounds are the same as in the models and services behind the tools. A text
contains no NUL character, and a name or an id is a single line. Types that only one tool needs are
in the module of that tool.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from skein.models.common.json_types import NUMBER

MAX_ID = 128
MAX_NUMBER = 999_999_999_999  # messages have numbers of at most 12 digits


class _MayBeEmpty:
    """The type of `MAY_BE_EMPTY`."""


MAY_BE_EMPTY: Final = _MayBeEmpty()
"""Marker of an argument for which "" is a value; for other arguments "" counts as not given."""

NOT_SHOWN: Final = "not_shown"
"""Key in the schema of an optional argument that is accepted but rarely worth its tokens."""


def _text(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("text_type", "Text should not contain the character NUL")
    return text


def _line(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("line_type", "Text should be one line of visible characters")
    return text


TEXT: Final = AfterValidator(_text)
"""Check of a text: it contains no NUL character."""

LINE: Final = AfterValidator(_line)
"""Check of a name or an id: it is a single line of visible characters."""

Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ID), LINE]
Count = Annotated[int, Field(ge=1, le=50, json_schema_extra={NOT_SHOWN: True}), NUMBER]
Priority = Annotated[int, Field(ge=1, le=5), NUMBER]
MessageNumber = Annotated[int, Field(ge=1, le=MAX_NUMBER), NUMBER]
Moment = Annotated[str, StringConstraints(min_length=1, max_length=40), TEXT]
Query = Annotated[str, Field(min_length=1, max_length=1_000), TEXT]
