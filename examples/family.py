"""A family's helper, with one list for all and reminders: `skein run family.py`."""

from datetime import date
from typing import Annotated

from pydantic import Field

from skein.errors import Correctable
from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext

name = "Hearth"
prompt = """You are Hearth. You help the family of Ann, Ben, and their parents with everyday life.
Be cheerful and brief. Talk to children in simple words.
All of them share one shopping list. If somebody wants to be reminded, set a plan.
What somebody tells you alone stays with you, unless they ask you to pass it on."""

LIST: list[str] = []
CHORES = {"dishes": ("Ann", "Ben"), "rubbish": ("Ben", "Ann"), "dog": ("Ann", "Ben", "Mum")}

Things = Annotated[list[str], Field(description='Such as ["milk", "two lemons"].')]


@tool(effect="read")
def shopping_list(call: CallContext) -> str:
    """Read the family's shopping list."""
    return ", ".join(LIST) or "The list is empty."


@tool(effect="save")
def add_to_list(call: CallContext, things: Things) -> str:
    """Put things on the shopping list, which the whole family reads. Skein asks before."""
    LIST.extend(thing for thing in things if thing not in LIST)
    return f"The list: {', '.join(LIST)}."


@tool(effect="save")
def tick_off(call: CallContext, things: Things) -> str:
    """Take things that somebody has bought off the shopping list. Skein asks before."""
    LIST[:] = [thing for thing in LIST if thing not in things]
    return f"The list: {', '.join(LIST) or 'empty'}."


@tool(effect="read")
def whose_turn(call: CallContext, chore: str, day: date) -> str:
    """Look up who does a chore on a day: the dishes, the rubbish or the dog."""
    people = CHORES.get(chore.lower())
    if people is None:
        raise Correctable(f"The chores are {', '.join(CHORES)}.")
    return people[day.toordinal() % len(people)]
