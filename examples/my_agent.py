"""An agent in one file: `skein run my_agent.py`."""

from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext

name = "Luigi"
prompt = "You answer texts to the restaurant Luigi's. Be short and friendly."
HOURS = {"monday": "closed", "sunday": "open from 12 to 16"}


@tool(effect="read")
def opening_hours(call: CallContext, day: str) -> str:
    """Look up when the restaurant is open on a day of the week."""
    return HOURS.get(day.lower(), "open from 18 to 23")
