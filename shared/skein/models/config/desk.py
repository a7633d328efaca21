"""Settings of the desk, where people of the team take chats over; a tenant sets them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from skein.models.common.base import Name
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.working_hours import ALWAYS, WorkingHours

DueWork = Literal["wait", "drop"]
MAX_WORDS = 50


def _plain(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words without repeated spaces and without duplicates."""
    return tuple(dict.fromkeys(" ".join(word.split()) for word in words))


DeskWord = Annotated[str, StringConstraints(pattern=r"\w", min_length=1, max_length=100)]
NoticeText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=480)]


class DeskSettings(BaseModel):
    """Settings of the desk."""

    model_config = ConfigDict(frozen=True)

    team_name: Annotated[
        Name | None,
        Field(description="The team's name in SMS: `Mia from Acme: ...`; unset for none."),
    ] = None
    desk_silence_minutes: Annotated[
        int,
        Field(
            description="Minutes without a message of the holder after which a chat that a person "
            "of the team holds goes back to its agents.",
            ge=5,
            le=10_080,
        ),
        NUMBER,
    ] = 60
    desk_due_work: Annotated[
        DueWork,
        Field(
            description="Whether plans, calls of services and ends of waits that are due while a "
            "person of the team holds their chat `wait` for the return or are dropped."
        ),
    ] = "wait"
    desk_words: Annotated[
        tuple[DeskWord, ...],
        Field(
            description="Words of people that put their chat on the desk, such as `human`: whole "
            "words, without case.",
            max_length=MAX_WORDS,
        ),
        AfterValidator(_plain),
    ] = ()
    desk_failed_answers: Annotated[
        int,
        Field(
            description="Failed answers of an agent in a row that put the chat on the desk; 0 for "
            "no such rule.",
            ge=0,
            le=100,
        ),
        NUMBER,
    ] = 0
    desk_on_tool_failure: Annotated[
        JsonBool,
        Field(
            description="Whether a call of a tenant's own tool that fails, is refused or has an "
            "unknown outcome puts the chat on the desk."
        ),
    ] = False
    desk_notice: Annotated[
        NoticeText, Field(description="Notice to the people of a chat that is put on the desk.")
    ] = "I have asked our team to join. A person will answer here soon."
    desk_notice_closed: Annotated[
        NoticeText,
        Field(
            description="The same outside of desk_hours; `{time}` stands for the time of return.",
            pattern=r"\{time\}",
        ),
    ] = "Our team is not here now. A person will answer from {time} on."
    desk_hours: Annotated[
        WorkingHours, Field(description="Working hours of the team; always by default.")
    ] = ALWAYS
    desk_late_minutes: Annotated[
        int,
        Field(
            description="Minutes of working hours after which a chat that waits for a person of "
            "the team, or a call that waits for an operator, counts as late.",
            ge=1,
            le=10_080,
        ),
        NUMBER,
    ] = 15
