"""The tool of the recorded day: free times of an invented clinic."""

from typing import Annotated

from pydantic import Field

from local.demo_tools import Day
from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext

FREE = {"monday": "9:00 and 11:30", "wednesday": "10:00 and 16:30", "thursday": "14:00"}


@tool(effect="read")
def free_times(
    call: CallContext,
    day: Annotated[Day, Field(description="The day of the week.")],
) -> str:
    """Look up the free times of the clinic on a day."""
    return f"Free on {day.capitalize()}: {FREE.get(day, 'no time')}."
