"""The demo's tool, which shows new users a tool call: the opening hours of an invented gym."""

from typing import Annotated, Literal

from pydantic import Field

from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKEND = ("saturday", "sunday")


@tool(effect="read")
def gym_hours(
    call: CallContext,
    day: Annotated[Day, Field(description="The day of the week.")],
) -> str:
    """Look up when the demo's gym is open."""
    hours = "from 9 to 17" if day in WEEKEND else "from 6 to 22"
    return f"On {day.capitalize()}, the gym is open {hours}."
