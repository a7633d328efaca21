"""DESK: that the chat waits for a person of the team, so that its agent does not ask again.

A chat that somebody has taken over has no prompts.
"""

from skein.interface.section import Section, SectionInput, one_line
from skein.prompts import render


def desk(given: SectionInput) -> Section | None:
    """Render since when the active chat waits; None if it does not."""
    chat = given.reading.chat
    if chat is None or chat.desk is None or chat.held:
        return None
    since = chat.desk.since.astimezone(given.context.zone)
    text = render("desk_waiting", {"since": f"{since:%Y-%m-%d %H:%M %Z}"})
    return one_line("DESK", text, given.counter)
