"""The sections of a prompt, each as a pure function that returns a `Section`.

A section begins with its name at the start of a line. It is rendered once and never parsed. Its
data comes from the arguments, and its rules come from `prompts/`. The section TRIGGER is in
`trigger.py`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from skein.agent.prompt.section import SEPARATOR, Section, around, listing, prose
from skein.agent.prompt.trigger import cause_of
from skein.agent.reading.other_chats import LiveRun, OwnChat
from skein.agent.reading.reading import Reading
from skein.agent.reading.trigger import current_seq
from skein.models.chats.chat import Chat, Message
from skein.models.common.base import NamedMember
from skein.models.directory.agent import Agent
from skein.models.planning.goal import Goal
from skein.models.planning.plan import Plan
from skein.models.runs.run import Run
from skein.ports import TokenCounter
from skein.services.common.quoting import label, quoted, quoted_id, time_of
from skein.services.common.schedule import local_time

NAMED_MEMBERS = 20  # members of a chat that are named; the others are counted
UTC = "UTC"

# The order in which sections are shortened when a prompt is too long.
CHATS_GIVE_WAY, PLANS_GIVE_WAY, RUNS_GIVE_WAY, GOALS_GIVE_WAY = 1, 2, 3, 4
TRIGGER_GIVES_WAY, IDENTITY_GIVES_WAY = 5, 6


def identity(agent: Agent, counter: TokenCounter) -> Section:
    """Render the agent's name, id and system prompt."""
    head = f"IDENTITY:\n  name: {quoted(agent.name)}\n  id: {quoted_id(agent.id)}"

    def frame(words: str) -> str:
        return f"{head}\n\n{words}" if words else head

    words = agent.system_prompt.strip()
    return around("IDENTITY", words, frame, counter, priority=IDENTITY_GIVES_WAY)


def goals(active: Sequence[Goal], limit: int, counter: TokenCounter) -> Section | None:
    """Render the agent's goals, most important first; None if there are none."""
    ordered = sorted(active, key=lambda goal: (goal.priority, goal.created_at, goal.id))
    lines = [
        f"  - {quoted(goal.text)} ({'long-term, ' if goal.long_term else ''}"
        f"priority: {goal.priority}, id: {quoted_id(goal.id)})"
        for goal in ordered
    ]
    return listing("GOALS", lines, limit, counter, priority=GOALS_GIVE_WAY) if lines else None


def active_chat(chat: Chat | None, run: Run, counter: TokenCounter) -> Section:
    """Render the title and id of the active chat."""
    if chat is None:
        text = "ACTIVE CHAT: none (call enter_chat to enter a chat first)"
    else:
        suffix = "  [auto-set from trigger]" if chat.id == run.own_chat_id else ""
        text = f"ACTIVE CHAT: {chat_name(chat)}{suffix}"
    return Section("ACTIVE CHAT", text, counter.count(text + SEPARATOR))


def conversation(chat: Chat | None, counter: TokenCounter) -> Section | None:
    """Render the id and start of a direct chat's session; None for other chats.

    The section does not change during the session.
    """
    session = chat.session if chat is not None else None
    if session is None:
        return None
    facts = [f"  id: {quoted_id(session.id)}", f"  started: {time_of(session.started_at)}"]
    return prose("CONVERSATION", "\n".join(facts), counter)


def conversation_so_far(
    chat: Chat | None, earlier: Sequence[Message], current: int | None, counter: TokenCounter
) -> Section | None:
    """Render the facts of a direct chat's session that each message changes; None for others.

    Args:
        chat: The active chat.
        earlier: The messages of the chat that were read.
        current: The seq of the message to answer; None if there is none.
        counter: The exact token counter.
    """
    session = chat.session if chat is not None else None
    if chat is None or session is None:
        return None
    before = [one for one in earlier if current is None or one.seq < current]
    within = [one for one in before if one.seq >= session.first_seq and not one.resets]
    last = max(before, key=lambda one: one.seq, default=None)
    last_at = last.created_at if last is not None else session.before_at
    facts = [
        f"  messages: {chat.last_seq - session.first_seq + 1}",
        f"  last interaction: {time_of(last_at) if last_at is not None else 'none'}",
        f"  new: {'no' if any(one.sender.kind == 'user' for one in within) else 'yes'}",
    ]
    return prose("CONVERSATION SO FAR", "\n".join(facts), counter)


def your_chats(
    chats: Sequence[OwnChat], active: Chat | None, agent: Agent, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the agent's chats with up to 20 members each; None if there are none."""
    lines = []
    for own in chats:
        suffix = " [ACTIVE]" if active is not None and own.chat.id == active.id else ""
        named = [_in_roster(member, agent) for member in own.chat.roster[:NAMED_MEMBERS]]
        if len(own.chat.roster) > NAMED_MEMBERS:
            named.append(f"and {len(own.chat.roster) - NAMED_MEMBERS} more")
        lines.append(f"  - {chat_name(own.chat)}{suffix} \u2014 {', '.join(named)}")
    return listing("YOUR CHATS", lines, limit, counter, priority=CHATS_GIVE_WAY) if lines else None


def plans(
    active: Sequence[Plan], now: datetime, limit: int, counter: TokenCounter
) -> Section | None:
    """Render the agent's plans, the next one first; None if there are none."""
    coming = [(plan.next_at, plan) for plan in active if plan.next_at is not None]
    lines = [
        f"  - {quoted(plan.name)} ({_kind_of(plan, at)}, in {_span(at - now)}){_set_as(plan)}"
        for at, plan in sorted(coming, key=lambda entry: (entry[0], entry[1].id))
    ]
    return listing("PLANS", lines, limit, counter, priority=PLANS_GIVE_WAY) if lines else None


def active_runs(
    runs: Sequence[LiveRun],
    this: Run,
    home: Chat | None,
    message: Message | None,
    agent: Agent,
    limit: int,
    counter: TokenCounter,
) -> Section:
    """Render the agent's live runs, this run first; a waiting run names the awaited members.

    The id of this run is left out. No tool takes that id, and it would differ in each prompt.
    """
    lines = [f"  - Run (this run){cause_of(this, home, message)}"]
    for live in runs:
        if live.run_id == this.id:
            continue
        state = "waiting" if live.waiting else "running"
        where = f" in {_title(live.chat)}" if live.chat else ""
        whom = _awaited(live.chat, agent) if live.waiting and live.chat else ""
        name = quoted_id(live.run_id) if live.named else "(from another chat)"
        lines.append(f"  - Run {name} \u2014 {state}{where}{whom}")
    return listing("ACTIVE RUNS", lines, limit, counter, priority=RUNS_GIVE_WAY)


def now(moment: datetime, zone: str, counter: TokenCounter) -> Section:
    """Render the time in UTC and, if different, in a time zone.

    Args:
        moment: The time.
        zone: The IANA name of the person's zone in a direct chat, else of the agent's.
        counter: The exact token counter.
    """
    local = f"{moment:%A}" if zone == UTC else local_time(moment, zone)
    return prose("NOW", f"  {time_of(moment)} ({local})", counter)


def chat_name(chat: Chat) -> str:
    """Return a chat's title and id, quoted for a prompt."""
    return f"{_title(chat)} (id: {quoted_id(chat.id)})"


def _title(chat: Chat) -> str:
    return quoted(chat.display_title)


def _in_roster(member: NamedMember, agent: Agent) -> str:
    if member.ref == agent.as_member.ref:
        return "You"
    return f"{label(member.name)} ({'human' if member.kind == 'user' else 'agent'})"


def _awaited(chat: Chat, agent: Agent) -> str:
    others = [label(m.name) for m in chat.roster if m.ref != agent.as_member.ref]
    if len(others) > NAMED_MEMBERS:
        others = [*others[:NAMED_MEMBERS], f"{len(others) - NAMED_MEMBERS} more"]
    return f" (waiting for {' or '.join(others)})" if others else ""


def _kind_of(plan: Plan, at: datetime) -> str:
    if plan.cron is None:
        return f"one-time, scheduledAt: {time_of(at)}"
    cron = " ".join(plan.cron.split())
    return f"recurring, cron: {cron} in {plan.time_zone}, next: {time_of(at)}"


def _set_as(plan: Plan) -> str:
    """Return a note on the `run_after` that a plan was set with, or ''."""
    return f"  [created via run_after: {quoted(plan.run_after)}]" if plan.run_after else ""


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
    degraded context also keeps NOW and, without a current message, TRIGGER.
    """
    if reading.prompt_mark is None:
        return list(sections)
    names = set(PLAIN)
    if reading.prompt_mark == "context_unavailable":
        names |= {"NOW"} if current_seq(run, reading.chat) is not None else {"NOW", "TRIGGER"}
    return [section for section in sections if section.name in names]
