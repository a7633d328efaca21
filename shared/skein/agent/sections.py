"""The sections of a prompt: each a pure function from what was read to a `Section`.

A section starts a line with its name. It is rendered once and never parsed back. What it needs of
the world is in its arguments; what it says of rules stands in `prompts/`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from skein.agent.quoting import label, quoted
from skein.agent.reading import LiveRun, OwnChat
from skein.models.agent import Agent, ReplyMode
from skein.models.base import NamedMember, rfc3339
from skein.models.chat import Chat, Message
from skein.models.intent import Goal, Plan
from skein.models.run import Run
from skein.ports import TokenCounter
from skein.prompts import render


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a prompt.

    Attributes:
        name: In capitals, as it stands in the text.
        text: The whole section, its name included.
        tokens: Its exact size.
    """

    name: str
    text: str
    tokens: int


def section(name: str, body: str, counter: TokenCounter, *, title: str = "") -> Section:
    """A section of the given name, counted; `title` follows the name on its line."""
    head = f"{name} {title}:" if title else f"{name}:"
    text = f"{head}\n{body}" if body else head
    return Section(name, text, counter.count(text))


def identity(agent: Agent, counter: TokenCounter) -> Section:
    """Who the agent is, in its owner's words."""
    lines = [f"  name: {quoted(agent.name)}", f"  id: {agent.id}"]
    if agent.system_prompt.strip():
        lines += ["", agent.system_prompt.strip()]
    return section("IDENTITY", "\n".join(lines), counter)


def instructions(mode: ReplyMode, counter: TokenCounter) -> Section:
    """How what the agent says reaches people."""
    return section("INSTRUCTIONS", render(f"instructions_{mode}"), counter)


def goals(active: Sequence[Goal], counter: TokenCounter) -> Section | None:
    """What the agent is after, the most important first; None if nothing."""
    ordered = sorted(active, key=lambda goal: (goal.priority, goal.created_at, goal.id))
    lines = [
        f"  - {quoted(goal.text)} ({'long-term, ' if goal.long_term else ''}"
        f"priority: {goal.priority}, id: {goal.id})"
        for goal in ordered
    ]
    return section("GOALS", "\n".join(lines), counter) if lines else None


def active_chat(chat: Chat | None, counter: TokenCounter) -> Section:
    """The chat that the agent is looking at."""
    if chat is None:
        text = "ACTIVE CHAT: none (call enter_chat to enter a chat first)"
    else:
        text = f"ACTIVE CHAT: {_title(chat)} (id: {chat.id})"
    return Section("ACTIVE CHAT", text, counter.count(text))


def your_chats(
    chats: Sequence[OwnChat], active: Chat | None, agent: Agent, counter: TokenCounter
) -> Section | None:
    """The agent's most recently active chats and who is in them; None if it has none."""
    lines = []
    for own in chats:
        mark = " [ACTIVE]" if active is not None and own.chat.id == active.id else ""
        members = ", ".join(_in_roster(member, agent) for member in own.chat.roster)
        lines.append(f"  - {_title(own.chat)} (id: {own.chat.id}){mark} \u2014 {members}")
    return section("YOUR CHATS", "\n".join(lines), counter) if lines else None


def plans(active: Sequence[Plan], now: datetime, counter: TokenCounter) -> Section | None:
    """What will wake the agent later, the next first; None if nothing."""
    coming = [(plan.next_at, plan) for plan in active if plan.next_at is not None]
    lines = [
        f"  - {quoted(plan.name)} ({_kind_of(plan)}, next: {rfc3339(at)}, in {_span(at - now)})"
        for at, plan in sorted(coming, key=lambda entry: (entry[0], entry[1].id))
    ]
    return section("PLANS", "\n".join(lines), counter) if lines else None


def active_runs(runs: Sequence[LiveRun], this: Run, agent: Agent, counter: TokenCounter) -> Section:
    """The agent's runs that have not ended, this one first."""
    lines = [f"  - Run {this.id} (this run)"]
    for live in runs:
        if live.run_id == this.id:
            continue
        state = "waiting" if live.waiting else "running"
        where = f" in {_title(live.chat)}" if live.chat else ""
        whom = ""
        if live.waiting and live.chat is not None:
            others = [m.name for m in live.chat.roster if m.ref != agent.as_member.ref]
            whom = f" (waiting for {' or '.join(map(label, others))})" if others else ""
        lines.append(f"  - Run {live.run_id} \u2014 {state}{where}{whom}")
    return section("ACTIVE RUNS", "\n".join(lines), counter)


def trigger(
    run: Run,
    chat: Chat | None,
    message: Message | None,
    counter: TokenCounter,
    *,
    quote: bool = True,
) -> Section:
    """Why the agent runs, with every field that the kind of trigger has (seeds/002, section 2).

    Args:
        run: With its trigger.
        chat: The chat that the trigger belongs to, where there is one.
        message: The message that woke the agent, where one did.
        counter: Counts exactly.
        quote: Repeat the message here; not where it follows as the current message anyway.
    """
    fields: list[tuple[str, str]] = [("type", run.trigger.type)]
    if chat is not None:
        fields.append(("chat", f"{_title(chat)} (id: {chat.id})"))
    if message is not None:
        fields += [
            ("sender", _who(message.sender)),
            *([("message", quoted(message.text))] if quote else []),
            ("messageId", f"msg:{message.seq}"),
            ("timestamp", quoted(rfc3339(message.created_at))),
            ("senderExpectsReply", json.dumps(_expects_reply(message))),
        ]
    elif run.trigger.by is not None:
        named = _named(run.trigger.by.id, chat)
        fields.append(("requestedBy", _who(named) if named else run.trigger.by.id))
    plan, service = run.trigger.plan, run.trigger.service
    if plan is not None:
        fields += [
            ("plan", f"{quoted(plan.name)} (id: {plan.id})"),
            ("instruction", quoted(plan.instruction)),
            ("scheduledAt", quoted(rfc3339(plan.scheduled_at))),
            *([("setIn", plan.chat_id)] if plan.chat_id else []),
        ]
    if service is not None:
        fields += [
            ("service", f"{quoted(service.name)} (id: {service.id})"),
            ("payload", quoted(service.payload)),
        ]
    fields.append(("chainDepth", str(run.chain_depth)))
    if run.resumed is not None:
        fields.append(("resumed", _resumed(run)))
    return section("TRIGGER", "\n".join(f"  {name}: {value}" for name, value in fields), counter)


def now(moment: datetime, agent: Agent, counter: TokenCounter) -> Section:
    """The clock, in UTC and as the agent's own wall clock shows it."""
    local = moment.astimezone(ZoneInfo(agent.time_zone))
    body = f"  {rfc3339(moment)} ({local:%A %Y-%m-%d %H:%M} in {agent.time_zone})"
    return section("NOW", body, counter)


def _title(chat: Chat) -> str:
    return quoted(chat.title or "New Conversation")


def _in_roster(member: NamedMember, agent: Agent) -> str:
    if member.ref == agent.as_member.ref:
        return "You"
    return f"{label(member.name)} ({'human' if member.kind == 'user' else 'agent'})"


def _who(member: NamedMember) -> str:
    kind = "human" if member.kind == "user" else "agent"
    return f"{label(member.name)} ({kind}, id: {quoted(member.id)[1:-1]})"


def _named(member_id: str, chat: Chat | None) -> NamedMember | None:
    return next((m for m in chat.roster if m.id == member_id), None) if chat else None


def _expects_reply(message: Message) -> bool:
    """A person who writes hopes for an answer; an agent says whether it waits for one."""
    return message.sender.kind == "user" or message.expects_reply


def _resumed(run: Run) -> str:
    resume = run.resumed
    if resume is None:
        raise ValueError("the run has not waited")
    if resume.status == "timeout":
        return f"timeout (nobody answered msg:{resume.asked_seq} in time)"
    return f"reply (msg:{resume.seq} answers msg:{resume.asked_seq})"


def _kind_of(plan: Plan) -> str:
    if plan.cron is not None:
        return f"recurring, cron: {plan.cron} in {plan.time_zone}"
    if plan.run_after is not None:
        return f"one-time, after {plan.run_after}"
    return "one-time"


def _span(span: timedelta) -> str:
    """How long it is, in its two largest units."""
    minutes = max(int(span.total_seconds()) // 60, 0)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days}d {hours:02d}h"
    return f"{hours}h {rest:02d}m" if hours else f"{rest}m"
