"""The sections of a prompt, each as a pure function that returns a `Section`.

A section begins with its name at the start of a line. It is rendered once and never parsed. Its
data comes from the arguments, and its rules come from `prompts/`. The section TRIGGER is in
`trigger.py`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from skein.agent.prompt.names import Names
from skein.agent.prompt.section import Section, around, listing, one_line, prose
from skein.agent.reading.other_chats import LiveRun, OwnChat
from skein.agent.reading.reading import Reading
from skein.agent.reading.trigger import current_seq
from skein.models.chats.chat import Chat
from skein.models.common.base import NamedMember, to_utc
from skein.models.directory.agent import Agent
from skein.models.planning.goal import Goal
from skein.models.planning.plan import Plan
from skein.models.runs.run import Run
from skein.ports import TokenCounter
from skein.services.common.quoting import minute_of, quoted, quoted_id

NAMED_MEMBERS = 20  # members of a chat that are named; the others are counted
UTC = "UTC"

# The order in which sections are shortened when a prompt is too long.
CHATS_GIVE_WAY, PLANS_GIVE_WAY, RUNS_GIVE_WAY, GOALS_GIVE_WAY = 1, 2, 3, 4
TRIGGER_GIVES_WAY, IDENTITY_GIVES_WAY = 5, 6


def identity(agent: Agent, counter: TokenCounter) -> Section:
    """Render the agent's name and system prompt."""
    head = f"IDENTITY:\n  name: {quoted(agent.name)}"

    def frame(words: str) -> str:
        return f"{head}\n\n{words}" if words else head

    words = agent.system_prompt.strip()
    return around("IDENTITY", words, frame, counter, priority=IDENTITY_GIVES_WAY)


def goals(
    active: Sequence[Goal], limit: int, counter: TokenCounter, *, with_ids: bool
) -> Section | None:
    """Render the agent's goals, most important first; None if there are none."""
    ordered = sorted(active, key=lambda goal: (goal.priority, goal.created_at, goal.id))
    lines = [
        f"  - {quoted(goal.text)} ({'long-term, ' if goal.long_term else ''}"
        f"priority: {goal.priority}{f', id: {quoted_id(goal.id)}' if with_ids else ''})"
        for goal in ordered
    ]
    return listing("GOALS", lines, limit, counter, priority=GOALS_GIVE_WAY) if lines else None


def active_chat(
    chat: Chat | None, home: Chat | None, counter: TokenCounter, *, roles: bool, may_enter: bool
) -> Section | None:
    """Render the title of the active chat, if neither the history nor the trigger names it.

    Args:
        chat: The active chat.
        home: The chat of the trigger, if there is one and it may be shown.
        roles: Whether the history is in roles, without a title. In a direct chat, the title then
            stands here and not in the trigger, as it never changes.
        may_enter: Whether the agent can enter chats.
    """
    direct = chat is not None and chat.kind == "direct" and roles
    if chat is not None and home is not None and chat.id == home.id and not direct:
        return None
    if chat is not None:
        return one_line("ACTIVE CHAT", quoted(chat.display_title), counter)
    advice = " (call enter_chat to enter a chat first)" if may_enter else ""
    return one_line("ACTIVE CHAT", f"none{advice}", counter)


def conversation(chat: Chat | None, zone: ZoneInfo, counter: TokenCounter) -> Section | None:
    """Render when a direct chat's session began, and when the one before ended.

    The section does not change during the session. Other chats have none.
    """
    session = chat.session if chat is not None else None
    if session is None:
        return None
    began = f"{session.started_at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
    if session.before_at is None:
        fact = f"This chat's first conversation began on {began}."
    elif session.reset:
        fact = f"This conversation began on {began}, with a reset."
    else:
        before = f"{session.before_at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
        fact = f"This conversation began on {began}. The message before it was sent on {before}."
    return prose("CONVERSATION", f"  {fact}", counter)


def your_chats(
    chats: Sequence[OwnChat], active: Chat | None, names: Names, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the agent's chats, the others with up to 20 members each.

    Args:
        chats: The agent's chats that may be shown.
        active: The active chat, whose members are not repeated.

    Returns:
        The section; None if there is no chat besides the active one.
    """
    lines = []
    for own in chats:
        if active is not None and own.chat.id == active.id:
            lines.append(f"  - {chat_name(own.chat)} [ACTIVE]")
            continue
        others = [member for member in own.chat.roster if member.ref != names.agent]
        shown = [_in_roster(member, names) for member in others[:NAMED_MEMBERS]]
        if len(others) > NAMED_MEMBERS:
            shown.append(f"and {len(others) - NAMED_MEMBERS} more")
        members = f": {', '.join(shown)}" if shown else ""
        lines.append(f"  - {chat_name(own.chat)}{members}")
    if all(line.endswith(" [ACTIVE]") for line in lines):
        return None
    return listing("YOUR CHATS", lines, limit, counter, priority=CHATS_GIVE_WAY)


def plans(
    active: Sequence[Plan], now: datetime, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the agent's plans, the next one first; None if there are none."""
    coming = [(plan.next_at, plan) for plan in active if plan.next_at is not None]
    lines = [
        f"  - {quoted(plan.name)} ({_kind_of(plan, at)}, in {_span(at - now)})"
        for at, plan in sorted(coming, key=lambda entry: (entry[0], entry[1].id))
    ]
    return listing("PLANS", lines, limit, counter, priority=PLANS_GIVE_WAY) if lines else None


def active_runs(
    runs: Sequence[LiveRun],
    this: Run,
    names: Names,
    limit: int,
    counter: TokenCounter,
    *,
    with_ids: bool,
) -> Section | None:
    """Render the agent's other live runs; None if there are none.

    A waiting run names the members for whose reply it waits.

    Args:
        runs: The live runs that may be shown.
        this: The run of the prompt, which is left out.
        with_ids: Whether a tool of the agent takes the ids of runs.
    """
    lines = []
    for live in runs:
        if live.run_id == this.id:
            continue
        state = "waiting for a reply" if live.waiting else "running"
        where = f" in {_title(live.chat)}" if live.chat else ""
        whom = _awaited(live.chat, names) if live.waiting and live.chat else ""
        name = f" (id: {quoted_id(live.run_id)})" if with_ids and live.named else ""
        lines.append(f"  - {state}{whom}{where}{name}")
    if not lines:
        return None
    return listing("ACTIVE RUNS", lines, limit, counter, priority=RUNS_GIVE_WAY)


def today(moment: datetime, zone: str, counter: TokenCounter) -> Section:
    """Render the weekday and the date in the time zone of NOW.

    The section stands before the history: within a day, the provider's cache serves both.
    """
    return one_line("TODAY", f"{moment.astimezone(ZoneInfo(zone)):%A %Y-%m-%d}", counter)


def now(moment: datetime, zone: str, counter: TokenCounter) -> Section:
    """Render the time of day to the minute, in a time zone and in UTC.

    TODAY has the date; the time in UTC has its own if it differs.

    Args:
        zone: The IANA name of the person's zone in a direct chat, else of the agent's.
    """
    utc = to_utc(moment)
    if zone == UTC:
        return one_line("NOW", f"{utc:%H:%M} UTC", counter)
    local = moment.astimezone(ZoneInfo(zone))
    form = "%H:%M" if local.date() == utc.date() else "%Y-%m-%d %H:%M"
    return one_line("NOW", f"{local:%H:%M} in {zone} ({utc:{form}} UTC)", counter)


def chat_name(chat: Chat) -> str:
    """Return a chat's title and id, quoted for a prompt."""
    return f"{_title(chat)} (id: {quoted_id(chat.id)})"


def _title(chat: Chat) -> str:
    return quoted(chat.display_title)


def _in_roster(member: NamedMember, names: Names) -> str:
    return f"{names[member]} (agent)" if member.kind == "agent" else names[member]


def _awaited(chat: Chat, names: Names) -> str:
    others = [names[member] for member in chat.roster if member.ref != names.agent]
    if len(others) > NAMED_MEMBERS:
        others = [*others[:NAMED_MEMBERS], f"{len(others) - NAMED_MEMBERS} more"]
    return f" by {' or '.join(others)}" if others else ""


def _kind_of(plan: Plan, at: datetime) -> str:
    if plan.cron is None:
        return f"once at {minute_of(at)}"
    cron = " ".join(plan.cron.split())
    return f"cron: {cron} in {plan.time_zone}, next at {minute_of(at)}"


def _span(span: timedelta) -> str:
    """Format a duration in its two largest units, of days, hours and minutes."""
    minutes = max(int(span.total_seconds()) // 60, 0)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days}d {hours:02d}h"
    return f"{hours}h {rest:02d}m" if hours else f"{rest}m"


PLAIN = frozenset({"IDENTITY", "INSTRUCTIONS"})


def kept(sections: Sequence[Section], run: Run, reading: Reading) -> list[Section]:
    """Return the sections that a reading's prompt keeps, apart from the history.

    A full reading keeps all sections. A reading without context keeps IDENTITY and INSTRUCTIONS. A
    degraded context also keeps TODAY, NOW and, without a current message, TRIGGER.
    """
    if reading.prompt_mark is None:
        return list(sections)
    names = set(PLAIN)
    if reading.prompt_mark == "context_unavailable":
        names |= {"TODAY", "NOW"}
        if current_seq(run, reading.chat) is None:
            names.add("TRIGGER")
    return [section for section in sections if section.name in names]
