"""The types of tool arguments, each with bounds.

A value that does not fit is returned to the model as an error, so that the model can correct the
value (`Tool.parse`). The bounds equal those of the models and services behind the tools. A text
contains no NUL character, and a name or an id is a single line.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from skein.models.chats.chat import MAX_TEXT
from skein.models.common.json_types import NUMBER
from skein.models.workspace.document import MAX_DOCUMENT_BYTES

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


_Text = AfterValidator(_text)
_Line = AfterValidator(_line)

# ---------------------------------------------------------------------- ids and names

Id = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ID),
    _Line,
]
DocumentName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), _Line
]
DocumentNames = Annotated[list[DocumentName], Field(max_length=10)]
SkillName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64), _Line
]
SkillNames = Annotated[list[SkillName], Field(max_length=10)]
SkillLabel = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=50), _Line
]
SkillLabels = Annotated[list[SkillLabel], Field(max_length=10)]
PlanName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), _Text
]
FieldName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), _Line
]
MediaType = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=151), _Line
]
ListPosition = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64), _Line
]

# ---------------------------------------------------------------------- numbers

Count = Annotated[
    int,
    Field(ge=1, le=50, json_schema_extra={NOT_SHOWN: True}),
    NUMBER,
]
Priority = Annotated[int, Field(ge=1, le=5), NUMBER]
MessageNumber = Annotated[int, Field(ge=1, le=MAX_NUMBER), NUMBER]
Version = Annotated[int, Field(ge=1, le=MAX_NUMBER), NUMBER]
Offset = Annotated[int, Field(ge=0, le=MAX_NUMBER), NUMBER]

# ---------------------------------------------------------------------- times

RunAfter = Annotated[str, StringConstraints(min_length=1, max_length=40), _Text]
Moment = Annotated[str, StringConstraints(min_length=1, max_length=40), _Text]
Cron = Annotated[str, StringConstraints(min_length=1, max_length=200), _Text]
TimeZone = Annotated[str, StringConstraints(min_length=1, max_length=64), _Text]

# ---------------------------------------------------------------------- texts

MessageText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), _Text]
GoalText = Annotated[str, Field(min_length=1, max_length=1_000), _Text]
Instruction = Annotated[str, Field(min_length=1, max_length=4_000), _Text]
MemoryText = Annotated[str, Field(min_length=1, max_length=10_000), _Text]
Query = Annotated[str, Field(min_length=1, max_length=1_000), _Text]
ProfileText = Annotated[str, Field(max_length=1_000), _Text]
ProfileTexts = Annotated[list[ProfileText], Field(max_length=20)]
DocumentText = Annotated[str, Field(max_length=MAX_DOCUMENT_BYTES), _Text]
DocumentPart = Annotated[str, Field(min_length=1, max_length=MAX_DOCUMENT_BYTES), _Text]
Concern = Annotated[str, Field(min_length=1, max_length=300), _Text]
Aim = Annotated[str, Field(max_length=1_000), _Text]
ThreadNote = Annotated[str, Field(max_length=2_000), _Text]
Blocking = Annotated[str, Field(max_length=500), _Text]
Finding = Annotated[str, Field(min_length=1, max_length=4_000), _Text]
