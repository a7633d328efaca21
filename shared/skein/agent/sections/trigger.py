"""TRIGGER: who or what started the run, in which chat, and how its wait ended.

- What is read: the trigger's chat and message, unless other sections read them.
- What is kept: the trigger, if the run's audience includes the readers. If the run waited in
  another chat, readers of that chat who were not present for the trigger are not shown it.
- What is left out: a trigger that is an ordinary message at the end of the prompt. INSTRUCTIONS
  explain instead that the last message is the trigger. The provider can cache this explanation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from skein.agent.sections.payload import payload_block
from skein.agent.sections.your_chats import YourChats
from skein.channels.opt_out import mentions_opt_out
from skein.interface.history import (
    History,
    addressed,
    found_trigger,
    names_member,
    unanswered,
)
from skein.interface.reading import SectionItems, SectionReads, current_seq
from skein.interface.section import SEPARATOR, Section, SectionInput, around
from skein.interface.timeline import attached
from skein.models.chats.chat import Chat, Message
from skein.models.common.base import NamedMember
from skein.models.common.storage import Key
from skein.models.runs.trigger import PlanTrigger, ServiceTrigger
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import Authors
from skein.services.common.quoting import quoted

SEND = "send_message"
TRIGGER_SHARE = 8  # the trigger keeps at least an eighth of the prompt
PAYLOAD_SHARE = 4  # a trigger with a webhook's payload takes at most a quarter
UNPROVEN = (
    "This number was silent for {days} days and may be another person's now; Skein has asked. "
    "Until the answer, mention nothing from before, use no name, and do nothing but answer here."
)
HIDDEN = {
    "chat_message": "A message in another chat, whose members alone may know it.",
    "manual": "A request in another chat, whose members alone may know it.",
    "plan": "One of your plans, which the readers of this chat may not know.",
    "service": "A webhook, which the readers of this chat may not know.",
}


@dataclass(frozen=True, slots=True)
class ShownTrigger(SectionItems):
    """The parts of a run's trigger that the readers of the active chat may know.

    Attributes:
        home: The chat to which the run belongs, if the trigger may be shown.
        message: The message that triggered the run, if it may be shown.
        may_be_shown: Whether the readers may know the trigger. This is false if the run waited in
            another chat whose readers were not present for the trigger.
    """

    home: Chat | None = None
    message: Message | None = None
    may_be_shown: bool = True

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Yield the keys of the trigger's chat and message, unless they are read already."""
        run, chat, seq = read.run, read.chat, read.run.trigger.seq
        home_id = run.own_chat_id
        if home_id is None:
            return
        here = chat is not None and chat.id == home_id
        if not here:
            yield Chat.key_of(run.tenant, home_id)
        if seq is not None and not (here and any(one.seq == seq for one in read.messages)):
            yield Message.key_of(run.tenant, home_id, seq)

    @classmethod
    def found(cls, read: SectionReads) -> "ShownTrigger":
        """Keep the trigger if the readers may know it."""
        home, message = found_trigger(read)
        if home is not read.chat:
            if not may_show(read.run.audience, read.readers):
                return cls(may_be_shown=False)
            home = home.titled_for(read.readers) if home is not None else None
        return cls(home=home, message=message)

    def authors(self) -> Iterable[Authors]:
        """Return the authors of the message and the title; `held_content` adds a plan's authors."""
        message = [self.message.words] if self.message is not None else []
        return [*message, *([self.home.title_authors] if self.home is not None else [])]


def trigger(given: SectionInput) -> Section | None:
    """Render a run's trigger: who or what started the run, in which chat, and how a wait ended.

    The text of the message is included only if the history does not show the message.

    Returns:
        The section. None if the history is rendered as messages with roles, the last message of a
        direct chat started the run, and there is nothing to add.
    """
    days = given.reading.unproven
    return _cause(given) if days is None else _unproven(given, days)


def _cause(given: SectionInput) -> Section | None:
    chat, counter = given.reading.chat, given.counter
    least, shown = given.tokens_left // TRIGGER_SHARE, given.shown
    found = given.reading.of(ShownTrigger)
    message = found.message if found.may_be_shown else None
    here = chat is not None and found.home is not None and chat.id == found.home.id
    last = message is not None and here and message.seq in shown[-1:]
    causes, after = _causes(given, last=last), _of_resume(given)
    if not causes and not after:
        return None
    plan, service = given.run.trigger.plan, given.run.trigger.service
    text = files = ""
    if found.may_be_shown and service is not None:
        text = payload_block(service.payload)
    elif found.may_be_shown and plan is not None:
        text = plan.instruction
    elif message is not None and not (here and message.seq in shown):
        text, files = message.text, attached(message)

    def frame(words: str) -> str:
        if service is not None and found.may_be_shown:
            content = [f"payload: {words}"]
        elif plan is not None and found.may_be_shown:
            content = [f"instruction: {quoted(words)}"]
        elif text or files:
            content = [f"message: {quoted(words)}{files}"]
        else:
            content = []
        return "\n".join(["TRIGGER:", *(f"  {line}" for line in (*causes, *content, *after))])

    if service is None:
        return around("TRIGGER", text, frame, counter, least=least)
    # A cut is marked on its own line without a bar, so that a payload cannot imitate the mark.
    section = around("TRIGGER", text, frame, counter, least=least, gap="\n  ")
    return section.within(given.tokens_left // PAYLOAD_SHARE)


def _causes(given: SectionInput, *, last: bool) -> list[str]:
    """Return the sentences on what started the run; none if INSTRUCTIONS already explain it.

    Args:
        given: The input of the section.
        last: Whether the trigger's message is the last message of the history.
    """
    run, found = given.run, given.reading.of(ShownTrigger)
    home, message = found.home, found.message
    plan, service = run.trigger.plan, run.trigger.service
    where = f" in {quoted(home.display_title)}" if home is not None else ""
    if not found.may_be_shown:
        return [HIDDEN[run.trigger.type]]
    if run.trigger.type == "chat_message" and home is not None:
        if message is None:
            return [f"A message{where} that is not there any more."]
        return _of_message(given, home, message, last=last)
    if plan is not None:
        return [_of_plan(given, home, plan)]
    if service is not None:
        return [_of_service(service, where)]
    by = _member(home, run.trigger.user_id)
    return [f"{given.names[by] if by else 'Someone'} asked you to respond now{where}."]


def _of_service(service: ServiceTrigger, where: str) -> str:
    if service.decided is None:
        return f"The service {quoted(service.name)} sent this webhook{where}."
    decision = "approved" if service.decided.approved else "refused"
    return f"An operator {decision} your call of {service.decided.call.tool}{where}."


def _of_message(given: SectionInput, home: Chat, message: Message, *, last: bool) -> list[str]:
    """Return the sentences on a message: its sender, chat, named members and started agents.

    The list is empty if the history is rendered as messages with roles, the message is the last one
    of a direct chat, and there is nothing to add.
    """
    run, reading, names = given.run, given.reading, given.names
    follows = given.roles and run.resumed is None and reading.chat is home
    what = "the message below" if follows else f"msg:{message.seq}"
    where = "" if follows and home.kind == "direct" else f" in {quoted(home.display_title)}"
    plain = f"{names[message.sender]} wrote {what}{where}"
    roster = home.roster if reading.chat is home else ()
    agents = [each for each in roster if each.kind == "agent" and each.ref != names.agent]
    lines = [f"{plain}{_addressees(given, home, message, agents)}."]
    own = message.sender.ref == names.agent
    if message.sender.kind == "agent" and message.expects_reply and not own:
        lines.append(f"{names[message.sender]} waits for a reply.")
    woken = [names[each] for each in agents if each.id in message.runs]
    if woken:
        lines.append(f"The same message also started {_listed(woken)}.")
    if run.chain_depth:
        deepest = reading.config.effective.max_chain_depth
        last_one = ": your messages start no other agent" if run.chain_depth + 1 >= deepest else ""
        lines.append(f"Chain depth {run.chain_depth} of {deepest}{last_one}.")
    channel = reading.channel
    if channel.opts_out and home is reading.chat and mentions_opt_out(message.text):
        title = channel.title
        lines.append(f"{names[message.sender]} gets no more {title} after a reply of STOP alone.")
    further = _addressed(given)
    messages = reading.of(History).messages
    waiting = len(unanswered(run, reading.chat, messages, reading.agent.as_member))
    if further:
        lines.append(further)
    elif follows and waiting > 1:
        lines.append(f"You have not answered the last {waiting} messages yet.")
    usual = follows and last and home.kind == "direct"
    return [] if usual and lines == [f"{plain}."] else lines


def _addressees(
    given: SectionInput, home: Chat, message: Message, agents: Sequence[NamedMember]
) -> str:
    """Return `" in reply to your msg:4 and named you"`, or as much of it as is true.

    The words end the sentence that says who wrote the message.
    """
    reading, names, words = given.reading, given.names, ""
    asked = [each for each in agents if names_member(message, each)]
    others = [
        names[each] + (" (not started)" if message.runs and each.id not in message.runs else "")
        for each in asked
    ]
    replied = any(
        one.seq == message.reply_to and one.sender.ref == names.agent
        for one in reading.of(History).messages
    )
    if replied:
        words = f" in reply to your msg:{message.reply_to}"
    if home.kind == "group" and names_member(message, reading.agent.as_member):
        words += f" and named {_listed(['you', *others])}"
    elif asked and not replied:
        words += f" and named {_listed(others)}, not you"
    return words


def _of_plan(given: SectionInput, home: Chat | None, plan: PlanTrigger) -> str:
    """Return the sentence on a plan: its name, its chat, who set it, and when it was due.

    If the history is rendered as messages with roles, ACTIVE CHAT names a direct chat, so the
    sentence does not. The date is left out if the plan was due today, because TODAY has it.
    """
    reading, user_id = given.reading, given.run.trigger.user_id
    setter = _member(home, user_id)
    by = "someone who is not in this chat" if user_id is not None else "you"
    if setter is not None:
        by = given.names[setter]
    elif plan.by_operator:
        by = "an operator"
    where = f" for {quoted(home.display_title)}" if home is not None else ""
    if home is not None and home.kind == "direct" and given.roles and reading.chat is home:
        where = ""
    at = plan.scheduled_at.astimezone(given.context.zone)
    today = reading.now.astimezone(ZoneInfo(reading.zone)).date()
    due = f"{at:%H:%M %Z}" if at.date() == today else f"{at:%Y-%m-%d %H:%M %Z}"
    return f"Your plan {quoted(plan.name)}{where}, set by {by}, was due at {due}."


def _of_resume(given: SectionInput) -> list[str]:
    """Return the sentences on how the newest wait ended, and on which chat is active now."""
    resume, chat = given.run.resumed, given.reading.chat
    moved = _of_other_home(given)
    if resume is None:
        return moved
    here = chat is not None and chat.id == resume.chat_id
    title = next((quoted(each.display_title) for each in _known(given, resume.chat_id)), None)
    if here and not moved:
        asked = f"You then asked msg:{resume.asked_seq} and waited."
    elif title is not None:
        asked = f"You then asked msg:{resume.asked_seq} in {title} and waited."
    else:
        asked = "You then asked in another chat and waited."
    if resume.status == "timeout":
        return [f"{asked} The wait ended with a timeout: nobody replied.", *moved]
    messages = given.reading.of(History).messages
    reply = next((one for one in messages if one.seq == resume.seq), None)
    if not here:
        return [f"{asked} Someone replied there.", *moved]
    who = given.names[reply.sender] if reply is not None else "Someone"
    what = "the message below" if given.roles else f"msg:{resume.seq}"
    return [f"{asked} {who} replied with {what}. Continue from there.", *moved]


def _known(given: SectionInput, chat_id: str) -> list[Chat]:
    """Return the chat with this id in a list; an empty list if the prompt may not name the chat."""
    active = [given.reading.chat] if given.reading.chat is not None else []
    chats = [*active, *(own.chat for own in given.reading.of(YourChats).listed)]
    return [chat for chat in chats if chat.id == chat_id][:1]


def _of_other_home(given: SectionInput) -> list[str]:
    """Return the sentence on the active chat, if the run belongs to another chat."""
    chat, found = given.reading.chat, given.reading.of(ShownTrigger)
    if chat is None or found.home is None or found.home.id == chat.id or not found.may_be_shown:
        return []
    home, active = quoted(found.home.display_title), quoted(chat.display_title)
    who = "This run belongs to"
    if found.message is not None and found.message.sender.ref != given.names.agent:
        who = f"{given.names[found.message.sender]} waits in"
    how = ": to answer there, give its chat_id" if given.offers(SEND) else ""
    return [f"Your active chat is now {active}. {who} {home}{how}."]


def _unproven(given: SectionInput, days: int) -> Section:
    """Render the section for an unproven number. It omits the cause, which may be private."""
    reading = given.reading
    lines = [UNPROVEN.format(days=days)]
    if current_seq(given.run, reading.chat) is None:
        lines.append("Nobody has written just now, so say nothing.")
    text = "\n".join(["TRIGGER:", *(f"  {line}" for line in lines)])
    return Section("TRIGGER", text, given.counter.count(text + SEPARATOR))


def _addressed(given: SectionInput) -> str:
    """Return the sentence on other messages that address the agent; '' if there are none."""
    run, reading = given.run, given.reading
    messages = reading.of(History).messages
    asked = addressed(run, reading.chat, messages, reading.agent.as_member)
    if not asked:
        return ""
    by_sender: dict[str, list[str]] = {}
    for one in asked:
        by_sender.setdefault(given.names[one.sender], []).append(f"msg:{one.seq}")
    who = _listed([f"{name} ({', '.join(seqs)})" for name, seqs in by_sender.items()])
    named = all(names_member(one, reading.agent.as_member) for one in asked)
    none = {1: "it has no", 2: "neither has an"}.get(len(asked), "none has an")
    return f"{who} {'named' if named else 'addressed'} you; {none} answer yet."


def _member(chat: Chat | None, user_id: str | None) -> NamedMember | None:
    """Return a person in a chat's roster, by current or former id; None if not in the roster."""
    if chat is None or user_id is None:
        return None
    now = chat.formerly.get(user_id, user_id)
    return next((each for each in chat.roster if each.kind == "user" and each.id == now), None)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
