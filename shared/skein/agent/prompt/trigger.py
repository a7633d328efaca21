"""The section TRIGGER: why the agent runs."""

import json

from skein.agent.prompt.section import Section, around
from skein.agent.prompt.timeline import attached, named
from skein.models.base import NamedMember
from skein.models.chat import Chat, Message
from skein.models.run import PREVIEW_CHARACTERS, Run
from skein.ports import TokenCounter
from skein.services.common.quoting import label, quoted, quoted_id, time_of

Fields = list[tuple[str, str]]


def trigger(
    run: Run,
    chat: Chat | None,
    message: Message | None,
    counter: TokenCounter,
    *,
    priority: int,
    least: int,
    quote: bool = True,
    asked: Message | None = None,
) -> Section:
    """Why the agent runs, with every field that the kind of trigger has (seeds/002, section 2).

    Args:
        run: With its trigger.
        chat: The chat that the trigger belongs to, where there is one that may be told here.
        message: The message that woke the agent, where one did that may be told here.
        counter: Counts exactly.
        priority: When it gives way, where a prompt is too long.
        least: How many tokens it keeps even then.
        quote: Repeat the message here; not where it follows as the current message anyway.
        asked: What the run had asked before it waited, where that was in the active chat.
    """

    def frame(text: str) -> str:
        fields = _fields(run, chat, message, text if quote else None)
        fields += _of_resume(run, asked)
        return "\n".join(["TRIGGER:", *(f"  {name}: {value}" for name, value in fields)])

    text = long_text(run, message) if quote or message is None else ""
    return around("TRIGGER", text, frame, counter, priority=priority, least=least)


def untold(run: Run) -> Run:
    """The run as it may be shown where its trigger must not be told: only of what type that was."""
    kept_back = {"plan": None, "service": None, "by": None, "seq": None, "from_seq": None}
    return run.model_copy(update={"trigger": run.trigger.model_copy(update=kept_back)})


def cause_of(run: Run, chat: Chat | None, message: Message | None) -> str:
    """What started a run, in a few words, as far as it may be told: ` — triggered by ...`."""
    plan, service, by = run.trigger.plan, run.trigger.service, run.trigger.by
    if plan is not None:
        return f" \u2014 triggered by plan {quoted(plan.name)}"
    if service is not None:
        return f" \u2014 triggered by service {quoted(service.name)}"
    if chat is None:
        return ""
    asked = _in_chat(run, chat) if by is not None else None
    who = label(message.sender.name) if message else label(asked.name) if asked else "hand"
    return f" \u2014 triggered by {who} in {quoted(chat.display_title)}"


def long_text(run: Run, message: Message | None) -> str:
    """The one text of a trigger that may be long."""
    plan, service = run.trigger.plan, run.trigger.service
    if service is not None:
        return service.payload
    if plan is not None:
        return plan.instruction
    return message.text if message is not None else ""


def _fields(run: Run, chat: Chat | None, message: Message | None, text: str | None) -> Fields:
    """The fields, with `text` as what is shown of the long one; None leaves a message's out."""
    fields: Fields = [("type", run.trigger.type)]
    if chat is not None:
        title = quoted(chat.display_title)
        fields.append(("chat", f"{title} (id: {quoted_id(chat.id)})"))
    if message is not None:
        fields += _of_message(message, text)
    elif run.trigger.type == "manual" and chat is not None and run.trigger.by is not None:
        by = _in_chat(run, chat)
        fields.append(("requestedBy", named(by, gap=" ") if by else quoted_id(run.trigger.by.id)))
    fields += _of_outside(run, text or "")
    fields.append(("chainDepth", str(run.chain_depth)))
    return fields


def _of_message(message: Message, text: str | None) -> Fields:
    """A person who writes hopes for an answer; an agent says whether it waits for one."""
    expects = message.sender.kind == "user" or message.expects_reply
    said = [] if text is None else [("message", f"{quoted(text)}{attached(message)}")]
    return [
        ("sender", named(message.sender, gap=" ")),
        *said,
        ("messageId", f"msg:{message.seq}"),
        ("timestamp", quoted(time_of(message.created_at))),
        ("senderExpectsReply", json.dumps(expects)),
    ]


def _of_outside(run: Run, text: str) -> Fields:
    plan, service = run.trigger.plan, run.trigger.service
    fields: Fields = []
    if plan is not None:
        fields += [
            ("plan", f"{quoted(plan.name)} (id: {quoted_id(plan.id)})"),
            ("instruction", quoted(text)),
            ("scheduledAt", quoted(time_of(plan.scheduled_at))),
            *([("setIn", quoted_id(plan.chat_id))] if plan.chat_id else []),
        ]
    if service is not None:
        fields += [
            ("service", f"{quoted(service.name)} (id: {quoted_id(service.id)})"),
            ("payload", quoted(text)),
        ]
    return fields


def _in_chat(run: Run, chat: Chat) -> NamedMember | None:
    """Who asked for the run, by the name that the chat knows."""
    return next((member for member in chat.roster if member.ref == run.trigger.by), None)


def _of_resume(run: Run, asked: Message | None) -> Fields:
    """How the newest wait ended, and what had been asked."""
    resume = run.resumed
    if resume is None:
        return []
    how = f"reply (msg:{resume.seq} answers msg:{resume.asked_seq})"
    if resume.status == "timeout":
        how = f"timeout (nobody answered msg:{resume.asked_seq} in time)"
    said = [("asked", quoted(asked.text[:PREVIEW_CHARACTERS]))] if asked is not None else []
    return [("resumed", how), *said]
