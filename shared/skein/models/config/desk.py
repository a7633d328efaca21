"""Settings of the desk, where people of the team take chats over; a tenant sets them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from skein.models.common.base import Name
from skein.models.common.json_types import NUMBER

DueWork = Literal["wait", "drop"]


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
            description="Whether plans and calls of services that are due while a person of the "
            "team holds their chat `wait` for the return or are dropped."
        ),
    ] = "wait"
