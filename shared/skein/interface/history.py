"""CHAT HISTORY and CONVERSATION SUMMARY: the newest messages, and a summary of earlier messages.

- What is read: the messages after those that the summary covers, and the trigger's message if it is
  older. If other runs of the agent answer some of the messages, these runs are read, too.
- What is kept: the messages of the history window. The run of a plan or a webhook service leaves
  out messages that another run is about to answer. The summary is kept if the readers may see it.
- Order: by message number (`seq`), either as a timeline with days or as messages with roles. If not
  all messages fit, the oldest are left out (`interface/budget.py`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skein.interface.budget import MESSAGE_OVERHEAD_TOKENS, HistoryEntry, counted
from skein.interface.names import Names
from skein.interface.reading import Reading, SectionItems, SectionReads, current_seq
from skein.interface.section import SEPARATOR, Section, SectionInput, around
from skein.interface.timeline import (
    NO_CAPTIONS,
    EntryContext,
    dated,
    day_line,
    timeline_entry,
    turn_text,
)
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import INVITATION
from skein.models.chats.summary import PinnedSummary
from skein.models.common.base import NamedMember
from skein.models.common.storage import Key
from skein.models.runs.run import Run
from skein.models.runs.step import HISTORY
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.ports import TokenCounter
from skein.services.chat_state.history_window import pin_of, shown_from
from skein.services.chat_state.sessions import first_of_session, reset_in
from skein.services.common.quoting import quoted
from skein.services.runs.wakeups import mentions
from skein.services.visibility.audience import destination_of
from skein.settings import Settings

SHOWN_KINDS = frozenset({"text", "team", "deleted", "choice"})
MAX_ASKED = 20  # messages to answer from an earlier session
MAX_UNCOUNTED_DAYS = 3  # day lines that a cut can add: at the start, at the trigger and at the end


@dataclass(frozen=True, slots=True)
class History(SectionItems):
    """Messages of the active chat, and its summaries.

    Attributes:
        messages: The history window, and the trigger's message if it is older than the window.
        before: The summary of the messages before the history window.
        fuller: The newest summary, if it covers more messages than `before`. If the history is too
            long, and drops messages that `before` does not cover, the prompt shows `fuller` instead
            of `before`.
        seen_to: The agent's SEEN watermark after this prompt, if not all messages were read. None
            if they were; SEEN then moves to the newest message.
    """

    messages: tuple[Message, ...] = ()
    before: PinnedSummary | None = None
    fuller: PinnedSummary | None = None
    seen_to: int | None = None

    @property
    def shown_seq(self) -> int:
        """The SEEN watermark after the prompt has shown the history."""
        if self.seen_to is not None:
            return self.seen_to
        return max((message.seq for message in self.messages), default=0)

    def begins_after(self, seq: int) -> bool:
        """Return whether all messages are newer than message `seq`."""
        return bool(self.messages) and seq < self.messages[0].seq

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the agent's other runs that answer messages of the chat.

        This run leaves these messages to them. If this run itself answers the chat's messages,
        there are no keys.
        """
        run, chat, member = read.run, read.chat, read.member
        if chat is None or member is None or not run.leaves_messages(chat.id):
            return []
        run_ids = (member.running_run, *member.resuming)
        return [Run.key_of(run.tenant, run_id) for run_id in run_ids if run_id is not None]

    @classmethod
    def found(cls, read: SectionReads) -> "History":
        """Keep the messages and summaries that the prompt may show, and the trigger's message."""
        chat, last = read.chat, _shown_to(read)
        admit = read.insiders.admit
        messages = [
            one for one in read.messages if (last is None or one.seq <= last) and read.admits(one)
        ]
        home, trigger = found_trigger(read)
        if trigger is not None and home is chat and trigger not in messages:
            messages.insert(0, trigger)
        before, fuller = (
            each if each is not None and admit(each.authors) else None
            for each in (summary_before(chat), _fuller_summary(chat))
        )
        return cls(tuple(messages), before=before, fuller=fuller)

    def authors(self) -> Iterable[Authors]:
        summaries = (each for each in (self.before, self.fuller) if each is not None)
        return [words_of(self.messages), *(summary.authors for summary in summaries)]


def words_of(messages: Iterable[Message]) -> Authors:
    """Return the digests of the people whose words the messages may contain."""
    return NO_AUTHORS.joined(*(message.words for message in messages))


def first_seq_to_read(run: Run, chat: Chat, settings: Settings) -> int:
    """Return the `seq` of the first message to read.

    The messages to answer can belong to an earlier session. In that case, at most 20 of them are
    read, and no messages from before a reset.
    """
    start = shown_from(chat, summary_before(chat), settings)
    asked = run.trigger.from_seq if chat.id == run.chat_id else None
    if asked is None or asked >= first_of_session(chat):
        return start
    return min(start, max(asked, reset_in(chat), chat.last_seq - MAX_ASKED + 1))


def _shown_to(read: SectionReads) -> int | None:
    """Return the `seq` of the last message that a prompt may show; None if there is no limit.

    The run of a plan or a webhook service leaves out messages that another run of the agent is
    about to answer. So each message is answered once, and is still new to the run that answers it.
    """
    chat, member, found = read.chat, read.member, read.found
    if chat is None or member is None or not read.run.leaves_messages(chat.id):
        return None
    keys = History.keys(read)
    asked = [_asked_of(Run.must_read(found, key), chat) for key in keys if key in found]
    if member.queued_run is not None:
        asked.append(member.queued_run.trigger.from_seq)
    return min([chat.last_seq, *(seq - 1 for seq in asked if seq is not None)])


def _asked_of(run: Run, chat: Chat) -> int | None:
    """Return the `seq` of the first message that the given run answers in the chat, if any."""
    if run.resumed is not None and run.resumed.chat_id == chat.id:
        return run.resumed.seq
    return run.trigger.from_seq if run.chat_id == chat.id else None


def summary_before(chat: Chat | None) -> PinnedSummary | None:
    """Return the summary of the messages before the window, if the chat's readers may see it."""
    if chat is None or chat.pinned is None:
        return None
    return chat.pinned if may_show(chat.pinned.audience, destination_of(chat)) else None


def _fuller_summary(chat: Chat | None) -> PinnedSummary | None:
    """Return the newest summary if it covers more than the pinned one and readers may see it."""
    summary = chat.summary if chat is not None else None
    if chat is None or summary is None or summary.seq <= summed_up(summary_before(chat)):
        return None
    if not may_show(summary.audience, destination_of(chat)):
        return None
    return pin_of(summary, summary.seq + 1)


def summed_up(summary: PinnedSummary | None) -> int:
    """Return the `seq` of the last message that a summary covers; 0 if there is no summary."""
    return summary.seq if summary is not None else 0


def found_trigger(read: SectionReads) -> tuple[Chat | None, Message | None]:
    """Return the run's own chat and the message that triggered the run, if they were read."""
    run, home, found, messages = read.run, read.chat, read.found, read.messages
    home_id = run.own_chat_id
    if home_id is None:
        return None, None
    if home is None or home.id != home_id:
        home, messages = Chat.read(found, Chat.key_of(run.tenant, home_id)), ()
    seq = run.trigger.seq
    if seq is None:
        return home, None
    stored = Message.read(found, Message.key_of(run.tenant, home_id, seq))
    if stored is not None and home is not None:
        stored = home.as_now(stored)
    return home, next((message for message in messages if message.seq == seq), stored)


def names_member(message: Message, member: NamedMember) -> bool:
    """Return whether a message names a member: as `@name` in any case, or by the exact name."""
    if mentions(message.text, {member.name.casefold()}):
        return True
    return re.search(rf"(?<!\w){re.escape(member.name)}(?!\w)", message.text) is not None


def asked_refs(run: Run) -> frozenset[tuple[str, int]]:
    """Return chat and `seq` of what a run answers: the trigger's messages and an awaited reply."""
    trigger, resumed, refs = run.trigger, run.resumed, set[tuple[str, int]]()
    if run.chat_id is not None:
        refs |= {(run.chat_id, seq) for seq in trigger.seqs}
    if resumed is not None and resumed.seq is not None:
        refs.add((resumed.chat_id, resumed.seq))
    return frozenset(refs)


def unanswered(
    run: Run, chat: Chat | None, messages: Iterable[Message], agent: NamedMember
) -> list[Message]:
    """Return the messages that a run must answer and that have no answer yet, oldest first.

    In the run's own chat, these are the messages from the first to the last message of the trigger.
    In a chat where the run waited, they include all messages after the run's question, except the
    reply. The agent's own messages and resets are left out.
    """
    if chat is None:
        return []
    shown, resumed = list(messages), run.resumed
    asked = run.trigger.seqs if chat.id == run.chat_id else range(0)
    waited = resumed is not None and resumed.chat_id == chat.id
    since = resumed.asked_seq if resumed is not None and waited else None
    reply = resumed.seq if resumed is not None and waited else None
    answered = {one.reply_to for one in shown if one.sender.ref == agent.ref}
    return [
        one
        for one in shown
        if one.kind == "text"
        and not one.resets
        and one.sender.ref != agent.ref
        and one.seq not in answered
        and (one.seq in asked or (since is not None and one.seq > since and one.seq != reply))
    ]


def addressed(
    run: Run, chat: Chat | None, messages: Sequence[Message], agent: NamedMember
) -> list[Message]:
    """Return unanswered messages in a group that name the agent or reply to it.

    If only the trigger's message does so, the list is empty, because the section TRIGGER describes
    that message anyway.
    """
    if chat is None or chat.kind == "direct":
        return []
    own = {one.seq for one in messages if one.sender.ref == agent.ref}
    found = [
        one
        for one in unanswered(run, chat, messages, agent)
        if one.reply_to in own or names_member(one, agent)
    ]
    return found if any(one.seq != run.trigger.seq for one in found) else []


def conversation_summary(given: SectionInput) -> Section | None:
    """Render the summary of the messages before the history; None if there is no summary."""
    before = given.reading.of(History).before
    if before is None:
        return None

    def frame(words: str) -> str:
        return f"CONVERSATION SUMMARY (earlier messages):\n  {quoted(words)}"

    section = around("CONVERSATION SUMMARY", before.text, frame, given.counter)
    return section.within(given.summary_limit)


def entry_context(
    run: Run,
    reading: Reading,
    names: Names,
    *,
    numbered: bool,
    media: Mapping[str, str] = NO_CAPTIONS,
) -> EntryContext:
    """Return the context in which the entries of the active chat are rendered.

    Args:
        run: The run, with its trigger.
        names: The names in the prompt.
        numbered: Whether a tool of the agent takes message numbers as arguments.
        media: The captions of pictures and files, by id.
    """
    chat, member, resumed = reading.chat, reading.member, run.resumed
    home = chat is not None and chat.id == run.chat_id
    here = resumed is not None and chat is not None and resumed.chat_id == chat.id
    messages = reading.of(History).messages
    referred = {one.reply_to for one in messages if one.reply_to is not None}
    referred |= {one.seq for one in messages if one.sender.ref == names.agent and one.expects_reply}
    referred |= {one.seq for one in messages if numbered and one.sender.ref != names.agent}
    if home and run.trigger.seq is not None and run.trigger.seq != current_seq(run, chat):
        referred.add(run.trigger.seq)
    if here and resumed is not None:
        referred.add(resumed.asked_seq)
    answers = (one.choice.answer for one in messages if one.choice is not None)
    referred |= {answer.seq for answer in answers if answer is not None}
    referred |= {one.seq for one in addressed(run, chat, messages, reading.agent.as_member)}
    return EntryContext(
        names=names,
        destination=reading.destination,
        now=reading.now,
        zone=reading.entries_zone,
        seen_seq=member.seen_seq if member else 0,
        trigger_seq=run.trigger.seq if home else None,
        resumed=resumed if here else None,
        referred=frozenset(referred),
        media=media,
    )


def history_entries(
    run: Run, reading: Reading, context: EntryContext, counter: TokenCounter, *, roles: bool
) -> list[HistoryEntry]:
    """Return the history entries of the prompt.

    Keywords (such as STOP), notices and erased messages are included if the effective settings say
    so, or if they answer a question in the history. So the agent learns what became of its
    question. Invitations are always left out, because they name a chat that the person has not
    joined. In a timeline, the tokens of each day's line are added to the day's first entry.
    """
    current = current_seq(run, reading.chat)
    staying = {
        context.trigger_seq,
        context.resumed.asked_seq if context.resumed is not None else None,
    }
    entries, day = [], ""
    messages, every = reading.of(History).messages, reading.config.effective.include_system_messages
    questions = {message.seq for message in messages if message.choice is not None}
    for message in messages:
        if message.kind not in SHOWN_KINDS and message.reply_to not in questions and not every:
            continue
        if message.choice is not None and message.choice.purpose == INVITATION:
            continue
        overhead = MESSAGE_OVERHEAD_TOKENS
        if not roles:
            begun, day = day, day_line(message.created_at, context.zone)
            overhead = counter.count(f"{day}\n") if day != begun else 0
        entries.append(
            counted(
                message.seq,
                message.text,
                counter,
                frame=_Line(message, context, roles=roles),
                own=message.sender.ref == context.names.agent,
                current=message.seq == current,
                overhead=overhead,
                stays=message.seq in staying,
            )
        )
    return entries


@dataclass(frozen=True, slots=True)
class _Line:
    """Renders a message's text as its entry in the history."""

    message: Message
    context: EntryContext
    roles: bool

    def __call__(self, text: str) -> str:
        if self.roles:
            return turn_text(self.message, text, self.context)
        return f"{timeline_entry(self.message, text, self.context)}\n"


def history_head(reading: Reading, context: EntryContext) -> str:
    """Return the first line of a timeline; '' if there is no chat."""
    if reading.chat is None:
        return ""
    return f"{HISTORY} ({quoted(reading.chat.display_title)}, {context.zone.key}):\n"


def head_tokens(
    head: str, reading: Reading, context: EntryContext, counter: TokenCounter, *, roles: bool
) -> int:
    """Return the tokens to reserve for the head, and for day lines that dropped messages add."""
    if roles or not head:
        return 0
    days = {day_line(message.created_at, context.zone) for message in reading.of(History).messages}
    largest = max((counter.count(f"{day}\n") for day in days), default=0)
    return counter.count(head + SEPARATOR) + min(len(days), MAX_UNCOUNTED_DAYS) * largest


def timeline(
    head: str,
    entries: Sequence[HistoryEntry],
    reading: Reading,
    context: EntryContext,
    counter: TokenCounter,
) -> Section:
    """Render the history as one section, with a line before the entries of each day.

    The size of the section is the sum of its lines' sizes, because no token spans the end of a
    line.
    """
    if not entries:
        return Section(HISTORY, head.rstrip("\n"), counter.count(f"{head}\n"))
    at = {message.seq: message.created_at for message in reading.of(History).messages}
    lines = list(dated(((at[entry.seq], entry.line) for entry in entries), context.zone, end="\n"))
    size = counter.count(head) + sum(map(counter.count, lines))
    last = entries[-1].line.rstrip("\n")
    size += counter.count(last + SEPARATOR) - entries[-1].tokens
    return Section(HISTORY, (head + "".join(lines)).rstrip("\n"), size)
