"""A receptionist who knows the hours and books appointments: `skein run receptionist.py`."""

from datetime import date
from typing import Annotated

from pydantic import Field

from skein.errors import Correctable
from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext

name = "Ada"
prompt = """You are Ada, the receptionist of Dr. Lind, a dentist. Be friendly and brief.
Look up hours and free times, and never guess them. Offer at most three times.
If somebody is in pain or upset, or asks for a human, ask a person of the team.
In an emergency, tell them at once to call 112."""

TIMES = ("09:00", "10:00", "11:00", "14:00", "15:00")
HOURS = {4: "09:00 to 12:00", 5: "closed", 6: "closed"}  # by weekday: Friday and the weekend
BOOKED: dict[tuple[str, str], str] = {}  # a real one asks your calendar

Day = Annotated[date, Field(description="Such as 2026-03-02.")]


def free(day: date) -> list[str]:
    """Return the times of a day that nobody has booked."""
    times = () if HOURS.get(day.weekday()) == "closed" else TIMES
    last = "12:00" if day.weekday() in HOURS else "17:00"
    return [time for time in times if time < last and (day.isoformat(), time) not in BOOKED]


@tool(effect="read")
def opening_hours(call: CallContext, day: Day) -> str:
    """Look up when the practice is open on a day."""
    return HOURS.get(day.weekday(), "09:00 to 12:00 and 14:00 to 17:00")


@tool(effect="read")
def free_times(call: CallContext, day: Day) -> str:
    """Look up which times are free on a day."""
    return ", ".join(free(day)) or "No time is free. Offer another day."


@tool(effect="save")
def book_appointment(call: CallContext, day: Day, time: str, patient: str, reason: str) -> str:
    """Book an appointment at a free time. Skein asks the person before."""
    if time not in free(day):
        raise Correctable(f"{time} is not free. Free: {', '.join(free(day)) or 'no time'}")
    BOOKED[day.isoformat(), time] = f"{patient}: {reason}"
    return f"Booked for {patient} on {day:%A, %d %B} at {time}."
