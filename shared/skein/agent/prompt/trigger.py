"""The section TRIGGER, which states why the run exists."""

import json

from skein.agent.prompt.payload import payload_block
from skein.agent.prompt.section import Section, around
from skein.agent.prompt.timeline import attached
from skein.models.chats.chat import Chat, Message
from skein.models.common.base import NamedMember
from skein.models.runs.run import PREVIEW_CHARACTERS, Run
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
    most_of_payload: int,
    quote: bool = True,
    asked: Message | None = None,
) -> Section:
    """Render a run's trigger with all fields of its type (seeds/002, section 2).

    Args:
        run: The run, with its trigger.
        chat: The chat of the trigger, if there is one and it may be shown.
        message: The message that triggered the run, if there is one and it may be shown.
        counter: The exact token counter.
        priority: The priority of the section; see `Section`.
        least: The tokens that the section keeps when it is shortened.
        most_of_payload: The most tokens of the section if it shows a webhook's payload.
        quote: Whether to repeat the message; false if the message follows as the current one.
        asked: The question that the run waited for, if it was asked in the active chat.
    """

    def frame(text: str) -> str:
        fields = _fields(run, chat, message, text if quote else None)
        fields += _of_resume(run, asked)
        return "\n".join(["TRIGGER:", *(f"  {name}: {value}" for name, value in fields)])

    text = long_text(run, message) if quote or message is None else ""
    if run.trigger.service is None:
        return around("TRIGGER", text, frame, counter, priority=priority, least=least)
    # The mark of a cut has a line of its own, without a bar, so that no payload can imitate it.
    section = around("TRIGGER", text, frame, counter, priority=priority, least=least, gap="\n  ")
    return section.within(most_of_payload)


def without_trigger_details(run: Run) -> Run:
    """Reduce a run's trigger to its type, for readers who may not see the trigger."""
    kept_back = {"plan": None, "service": None, "by": None, "seq": None, "from_seq": None}
    return run.model_copy(update={"trigger": run.trigger.model_copy(update=kept_back)})


def cause_of(run: Run, chat: Chat | None, message: Message | None) -> str:
    """Return a run's cause as ` — triggered by ...`, for the section ACTIVE RUNS.

    The cause is '' if it may not be shown, or if the run has no chat, plan or service.
    """
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
    """Return the long text of a trigger: a payload, an instruction, or a message's text."""
    plan, service = run.trigger.plan, run.trigger.service
    if service is not None:
        return payload_block(service.payload)
    if plan is not None:
        return plan.instruction
    return message.text if message is not None else ""


def _fields(run: Run, chat: Chat | None, message: Message | None, text: str | None) -> Fields:
    """Return the fields of a trigger.

    `text` is the trigger's long text, which may be cut. With None, the message's text is left out.
    """
    fields: Fields = [("type", run.trigger.type)]
    if chat is not None:
        title = quoted(chat.display_title)
        fields.append(("chat", f"{title} (id: {quoted_id(chat.id)})"))
    if message is not None:
        fields += _of_message(message, text)
    elif run.trigger.type == "manual" and chat is not None and run.trigger.by is not None:
        by = _in_chat(run, chat)
        fields.append(("requestedBy", named(by, gap=" ") if by else quoted_id(run.trigger.by.id)))
    fields += _of_outside(run, chat, text or "")
    fields.append(("chainDepth", str(run.chain_depth)))
    return fields


def _of_message(message: Message, text: str | None) -> Fields:
    """Return the fields of a message.

    A person is taken to expect a reply. An agent expects a reply if it waits for one.
    """
    expects = message.sender.kind == "user" or message.expects_reply
    said = [] if text is None else [("message", f"{quoted(text)}{attached(message)}")]
    return [
        ("sender", named(message.sender, gap=" ")),
        *said,
        ("messageId", f"msg:{message.seq}"),
        ("timestamp", quoted(time_of(message.created_at))),
        ("senderExpectsReply", json.dumps(expects)),
    ]


def _of_outside(run: Run, chat: Chat | None, text: str) -> Fields:
    plan, service = run.trigger.plan, run.trigger.service
    fields: Fields = []
    if plan is not None:
        fields += [
            ("plan", f"{quoted(plan.name)} (id: {quoted_id(plan.id)})"),
            ("instruction", quoted(text)),
            ("scheduledAt", quoted(time_of(plan.scheduled_at))),
            ("setBy", _setter(run, chat)),
            *([("setIn", quoted_id(plan.chat_id))] if plan.chat_id and chat is None else []),
        ]
    if service is not None:
        fields += [
            ("service", f"{quoted(service.name)} (id: {quoted_id(service.id)})"),
            ("payload", text),
        ]
    return fields


def named(member: NamedMember, *, gap: str = "") -> str:
    """Return a member's name, kind and id: `Husam (human, id:usr_1)`; `gap` precedes the id."""
    kind = "human" if member.kind == "user" else "agent"
    return f"{label(member.name)} ({kind}, id:{gap}{quoted_id(member.id)})"


def _setter(run: Run, chat: Chat | None) -> str:
    """Return who set the plan of a run: a person, an operator, or the agent on its own."""
    person = run.trigger.user_id
    if person is None:
        by_operator = run.trigger.plan is not None and run.trigger.plan.by_operator
        return "an operator" if by_operator else "you"
    roster = chat.roster if chat is not None else ()
    now = chat.formerly.get(person, person) if chat is not None else person
    known = (each for each in roster if each.kind == "user" and each.id == now)
    return next((named(each, gap=" ") for each in known), quoted_id(now))


def _in_chat(run: Run, chat: Chat) -> NamedMember | None:
    """Return the member who requested the run, as named in the chat's roster."""
    return next((member for member in chat.roster if member.ref == run.trigger.by), None)


def _of_resume(run: Run, asked: Message | None) -> Fields:
    """Return how the newest wait ended, and the question that was asked."""
    resume = run.resumed
    if resume is None:
        return []
    how = f"reply (msg:{resume.seq} answers msg:{resume.asked_seq})"
    if resume.status == "timeout":
        how = f"timeout (nobody answered msg:{resume.asked_seq} in time)"
    said = [("asked", quoted(asked.text[:PREVIEW_CHARACTERS]))] if asked is not None else []
    return [("resumed", how), *said]
