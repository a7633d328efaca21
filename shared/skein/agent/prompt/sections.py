"""The sections of a prompt: each a pure function from what was read to a `Section`.

A section starts a line with its name. It is rendered once and never parsed back. What it needs of
the world is in its arguments; what it says of rules stands in `prompts/`. What belongs to the
trigger has a file of its own.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from textwrap import indent
from zoneinfo import ZoneInfo

from skein.agent.prompt.section import SEPARATOR, Section, around, listing, prose
from skein.agent.prompt.trigger import cause_of
from skein.agent.reading.other_chats import LiveRun, OwnChat
from skein.agent.reading.reader import Reading
from skein.agent.reading.trigger import current_seq
from skein.models.agent import Agent, HistoryFormat, ReplyMode
from skein.models.base import NamedMember
from skein.models.chat import Chat, Message
from skein.models.goal import Goal
from skein.models.plan import Plan
from skein.models.run import Run
from skein.ports import TokenCounter
from skein.prompts import render
from skein.services.common.quoting import label, quoted, quoted_id, time_of

NAMED_MEMBERS = 20  # of a chat; the others are counted
UTC = "UTC"  # the zone of agents that have none of their own

# Where a prompt is too long, this is the order in which sections give way.
CHATS_GIVE_WAY, PLANS_GIVE_WAY, RUNS_GIVE_WAY, GOALS_GIVE_WAY = 1, 2, 3, 4
TRIGGER_GIVES_WAY, IDENTITY_GIVES_WAY = 5, 6


def identity(agent: Agent, counter: TokenCounter) -> Section:
    """Who the agent is, in its owner's words."""
    head = f"IDENTITY:\n  name: {quoted(agent.name)}\n  id: {quoted_id(agent.id)}"

    def frame(words: str) -> str:
        return f"{head}\n\n{words}" if words else head

    words = agent.system_prompt.strip()
    return around("IDENTITY", words, frame, counter, priority=IDENTITY_GIVES_WAY)


def instructions(mode: ReplyMode, history: HistoryFormat, counter: TokenCounter) -> Section:
    """How what the agent says reaches people, and how what they say reaches the agent."""
    rules = [render(f"instructions_{mode}"), render(f"instructions_{history}")]
    return prose("INSTRUCTIONS", indent("\n".join(rules), "  "), counter)


def goals(active: Sequence[Goal], limit: int, counter: TokenCounter) -> Section | None:
    """What the agent is after, the most important first; None if nothing."""
    ordered = sorted(active, key=lambda goal: (goal.priority, goal.created_at, goal.id))
    lines = [
        f"  - {quoted(goal.text)} ({'long-term, ' if goal.long_term else ''}"
        f"priority: {goal.priority}, id: {quoted_id(goal.id)})"
        for goal in ordered
    ]
    return listing("GOALS", lines, limit, counter, priority=GOALS_GIVE_WAY) if lines else None


def active_chat(chat: Chat | None, run: Run, counter: TokenCounter) -> Section:
    """The chat that the agent is looking at."""
    if chat is None:
        text = "ACTIVE CHAT: none (call enter_chat to enter a chat first)"
    else:
        mark = "  [auto-set from trigger]" if chat.id == run.chat_id else ""
        text = f"ACTIVE CHAT: {chat_name(chat)}{mark}"
    return Section("ACTIVE CHAT", text, counter.count(text + SEPARATOR))


def conversation(chat: Chat | None, counter: TokenCounter) -> Section | None:
    """Which session of a direct chat this is, which stays as long as it does; None elsewhere."""
    session = chat.session if chat is not None else None
    if session is None:
        return None
    facts = [f"  id: {quoted_id(session.id)}", f"  started: {time_of(session.started_at)}"]
    return prose("CONVERSATION", "\n".join(facts), counter)


def conversation_so_far(
    chat: Chat | None, earlier: Sequence[Message], current: int | None, counter: TokenCounter
) -> Section | None:
    """What each message changes of the facts of a direct chat's session; None elsewhere.

    Args:
        chat: The chat that the agent is looking at.
        earlier: The messages of it that were read.
        current: The message that is to be answered, if there is one.
        counter: Counts exactly.
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
    """The agent's most recently active chats and who is in them; None if it has none."""
    lines = []
    for own in chats:
        mark = " [ACTIVE]" if active is not None and own.chat.id == active.id else ""
        named = [_in_roster(member, agent) for member in own.chat.roster[:NAMED_MEMBERS]]
        if len(own.chat.roster) > NAMED_MEMBERS:
            named.append(f"and {len(own.chat.roster) - NAMED_MEMBERS} more")
        lines.append(f"  - {chat_name(own.chat)}{mark} \u2014 {', '.join(named)}")
    return listing("YOUR CHATS", lines, limit, counter, priority=CHATS_GIVE_WAY) if lines else None


def plans(
    active: Sequence[Plan], now: datetime, limit: int, counter: TokenCounter
) -> Section | None:
    """What will wake the agent later, the next first; None if nothing."""
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
    """The agent's runs that have not ended, this one first; a waiting one says for whom.

    No tool takes the id of this one, which would be new in each prompt: it is left out.
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


def now(moment: datetime, agent: Agent, counter: TokenCounter) -> Section:
    """The clock, in UTC and as the agent's own wall clock shows it, where that is another."""
    local = moment.astimezone(ZoneInfo(agent.time_zone))
    wall = "%A" if agent.time_zone == UTC else f"%A %Y-%m-%d %H:%M in {agent.time_zone}"
    return prose("NOW", f"  {time_of(moment)} ({local:{wall}})", counter)


def chat_name(chat: Chat) -> str:
    """A chat by its title and id."""
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
    """How it was said when a one-time plan was set, if not as a time."""
    return f"  [created via run_after: {quoted(plan.run_after)}]" if plan.run_after else ""


def _span(span: timedelta) -> str:
    """How long it is, in its two largest units."""
    minutes = max(int(span.total_seconds()) // 60, 0)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days}d {hours:02d}h"
    return f"{hours}h {rest:02d}m" if hours else f"{rest}m"


PLAIN = frozenset({"IDENTITY", "INSTRUCTIONS"})


def kept(sections: Sequence[Section], run: Run, reading: Reading) -> list[Section]:
    """Those of the sections that stand in the prompt of a reading, the history apart.

    All of a whole reading's. Without context, who the agent is and how it answers. Where a context
    could not be read, the time, too; and, without a current message, what the trigger says.
    """
    if reading.mark is None:
        return list(sections)
    names = set(PLAIN)
    if reading.mark == "context_unavailable":
        names |= {"NOW"} if current_seq(run, reading.chat) is not None else {"NOW", "TRIGGER"}
    return [section for section in sections if section.name in names]
