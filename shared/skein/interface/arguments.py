"""Types of tool arguments, each with bounds.

If a value is out of bounds, the model gets an error and can correct the value (`Tool.parse`). The
bounds are the same as in the models and services that the tools use. A text has no NUL character,
and a name or an id is a single line. A type that only one tool needs is in the module of that tool.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from skein.models.common.json_types import NUMBER

MAX_ID = 128
MAX_NUMBER = 999_999_999_999  # messages have numbers of at most 12 digits


class _MayBeEmpty:
    """The type of the marker `MAY_BE_EMPTY`."""


MAY_BE_EMPTY: Final = _MayBeEmpty()
"""Marks an argument for which "" is a value. For other arguments, "" means that none is given."""

NOT_SHOWN: Final = "not_shown"
"""Marks an optional argument that is accepted but not shown, to save tokens in the schema."""


def _text(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("text_type", "Text should not contain the character NUL")
    return text


def _line(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("line_type", "Text should be one line of visible characters")
    return text


TEXT: Final = AfterValidator(_text)
"""Checks that a text has no NUL character."""

LINE: Final = AfterValidator(_line)
"""Checks that a name or an id is a single line of visible characters."""

Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ID), LINE]
Count = Annotated[int, Field(ge=1, le=50, json_schema_extra={NOT_SHOWN: True}), NUMBER]
Priority = Annotated[int, Field(ge=1, le=5), NUMBER]
MessageNumber = Annotated[int, Field(ge=1, le=MAX_NUMBER), NUMBER]
Moment = Annotated[str, StringConstraints(min_length=1, max_length=40), TEXT]
Query = Annotated[str, Field(min_length=1, max_length=1_000), TEXT]
