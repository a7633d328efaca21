"""IDENTITY, ACTIVE CHAT, CONVERSATION, TODAY and NOW: the agent, its chat and the time.

These sections need only the agent, the active chat and the clock, which every reading has.
"""

from zoneinfo import ZoneInfo

from skein.agent.sections.trigger import ShownTrigger
from skein.interface.section import Section, SectionInput, around, one_line, prose
from skein.models.common.base import to_utc
from skein.models.directory.agent import Agent
from skein.ports import TokenCounter
from skein.prompts import render
from skein.services.common.quoting import quoted

UTC = "UTC"
ENTER_CHAT = "enter_chat"


def identity(given: SectionInput) -> Section:
    """Render the agent's name and system prompt."""
    return identity_of(given.reading.agent, given.counter)


def identity_of(agent: Agent, counter: TokenCounter) -> Section:
    """Render an agent's name and system prompt."""
    head = f"IDENTITY:\n  name: {quoted(agent.name)}"

    def frame(words: str) -> str:
        return f"{head}\n\n{words}" if words else head

    words = agent.system_prompt.strip()
    return around("IDENTITY", words, frame, counter)


def active_chat(given: SectionInput) -> Section | None:
    """Render the title of the active chat, unless the history or TRIGGER names it.

    If the history is rendered as messages with roles, the title of a direct chat is shown here and
    not in TRIGGER. This section never changes, so the provider can cache it.
    """
    chat, home = given.reading.chat, given.reading.of(ShownTrigger).home
    if chat is None:
        advice = " (call enter_chat to enter a chat first)" if given.offers(ENTER_CHAT) else ""
        return one_line("ACTIVE CHAT", f"none{advice}", given.counter)
    direct = chat.kind == "direct" and given.roles
    if home is not None and chat.id == home.id and not direct:
        return None
    return one_line("ACTIVE CHAT", quoted(chat.display_title), given.counter)


def conversation(given: SectionInput) -> Section | None:
    """Render when a direct chat's session began, and when the previous session ended.

    The section does not change during the session. It is left out in other chats and in first
    sessions.
    """
    chat, zone = given.reading.chat, given.context.zone
    session = chat.session if chat is not None else None
    if session is None or (session.before_at is None and not session.reset):
        return None
    began = f"{session.started_at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
    fact = f"This conversation began on {began}: {render('conversation_reset')}"
    if session.before_at is not None and not session.reset:
        before = f"{session.before_at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
        fact = f"This conversation began on {began}. The message before it was sent on {before}."
    return prose("CONVERSATION", f"  {fact}", given.counter)


def today(given: SectionInput) -> Section:
    """Render the weekday and the date in the time zone of NOW.

    The section comes before the history. The provider can therefore cache both for a day.
    """
    now, zone = given.reading.now, ZoneInfo(given.reading.zone)
    return one_line("TODAY", f"{now.astimezone(zone):%A %Y-%m-%d}", given.counter)


def now(given: SectionInput) -> Section:
    """Render the time of day to the minute, in the reading's time zone and in UTC.

    The date is in TODAY. The UTC time includes a date only if the date in UTC is a different one.
    """
    moment, zone = given.reading.now, given.reading.zone
    utc = to_utc(moment)
    if zone == UTC:
        return one_line("NOW", f"{utc:%H:%M} UTC", given.counter)
    local = moment.astimezone(ZoneInfo(zone))
    form = "%H:%M" if local.date() == utc.date() else "%Y-%m-%d %H:%M"
    return one_line("NOW", f"{local:%H:%M} in {zone} ({utc:{form}} UTC)", given.counter)
