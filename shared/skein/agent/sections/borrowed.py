"""BORROWED CONTEXT: messages of another chat that the agent asked to see, shown once.

- What is read: the staged messages for the active chat, and their chat, both by key. If that chat
  is among the agent's chats that were read, its ten newest messages are read again by key.
- What is kept: the newest messages, or else the staged messages. They are kept only if they may be
  shown, no later reset in either chat hides them, and no reader is invited to the other chat. If
  the prompt must not contain outsiders' words, their messages are left out.
- Order: oldest first. If there is no room for all messages, the oldest are left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.agent.sections.your_chats import name_of
from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import SEPARATOR, Section, SectionInput
from skein.interface.timeline import ago, attached
from skein.models.chats.borrowed import (
    MAX_CHARACTERS,
    MAX_MESSAGES,
    BorrowedContext,
    BorrowedMessage,
)
from skein.models.chats.chat import Chat, Message
from skein.models.chats.summary import Summary
from skein.models.common.storage import Key
from skein.models.outbox.jobs import RunJob
from skein.models.runs.provenance import EntryProvenance
from skein.models.runs.run import Run
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.prompts import render
from skein.services.common.quoting import quoted
from skein.services.visibility.audience import audience_of

BORROWED_SHARE = 3  # borrowed context takes at most a third of the prompt


@dataclass(frozen=True, slots=True)
class BorrowedItems(SectionItems):
    """The borrowed context of this activation, if it may be shown.

    Attributes:
        context: The staged messages, or the newest messages of the chat if these were read again.
        newer: How many newer messages the other chat has. 0 if the readers may not know this
            number, or if `context` already has the newest messages.
    """

    context: BorrowedContext | None = None
    newer: int = 0

    @classmethod
    def guess(cls, job: RunJob) -> Iterable[Key]:
        """Return the key of the staged messages, if the run belongs to a chat."""
        home = Run.home_of(job.run_id)
        in_chat = home.startswith("chat_")
        return [BorrowedContext.key_of(job.tenant, home, job.agent_id)] if in_chat else ()

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the staged messages, and of their chat or of its newest messages.

        If the staged messages were read with the run, the other chat costs no extra call. If the
        active chat is private and the other chat is open, the other chat is always read, because a
        reader may have been invited to that chat since.
        """
        run, chat = read.run, read.chat
        if chat is None:
            return ()
        staged = BorrowedContext.key_of(run.tenant, chat.id, run.agent_id)
        borrowed = _staged_in(read)
        if borrowed is None:
            return [staged]
        source = _source_in(read, borrowed)
        if source is not None:
            first = max(1, source.last_seq - MAX_MESSAGES + 1)
            seqs = range(first, source.last_seq + 1)
            return [staged, *(Message.key_of(run.tenant, source.id, seq) for seq in seqs)]
        if read.others and (read.readers.open or not borrowed.audience.open):
            return [staged]
        return [staged, Chat.key_of(run.tenant, borrowed.source_chat_id)]

    @classmethod
    def found(cls, read: SectionReads) -> "BorrowedItems":
        """Keep the context if it may be shown and no later reset hides it.

        A reset in either chat counts: in the active chat, and in the chat of the messages.
        """
        borrowed = _staged_in(read)
        if borrowed is None:
            return cls()
        source = Chat.read(read.found, Chat.key_of(read.run.tenant, borrowed.source_chat_id))
        if source is not None and source.awaits(read.readers, read.now):
            return cls()
        involved = {borrowed.chat_id, borrowed.source_chat_id}
        chats = (own.chat for own in (*read.active, *read.others))
        sessions = [chat.session for chat in chats if chat.id in involved]
        resets = [session.reset_at for session in sessions if session is not None]
        hidden = any(at is not None and at > borrowed.created_at for at in resets)
        if hidden:
            return cls()
        newest = _read_again(read, borrowed)
        if newest is None and not may_show(borrowed.audience, read.readers):
            return cls()
        context = newest or borrowed
        kept = tuple(one for one in context.messages if read.insiders.admit(_words_of([one])))
        if not kept:
            return cls()
        known = source is not None and may_show(source.readers, read.readers)
        newer = source.last_seq - context.messages[-1].seq if source is not None and known else 0
        return cls(
            context.model_copy(update={"messages": kept}), newer=0 if newest is not None else newer
        )

    def holds_all_of(self, chat_id: str, summary: Summary) -> bool:
        """Return whether a chat's summary covers only messages that are borrowed."""
        context = self.context
        if context is None or context.source_chat_id != chat_id:
            return False
        first, last = context.messages[0].seq, context.messages[-1].seq
        return first <= summary.from_seq and summary.seq <= last

    def authors(self) -> Iterable[Authors]:
        return [_words_of(self.context.messages if self.context is not None else ())]


def borrowed_message(message: Message, chat: Chat) -> BorrowedMessage:
    """Return a message of another chat, as borrowed context stores it."""
    return BorrowedMessage(
        seq=message.seq,
        author=message.sender.name,
        sender=message.sender.ref,
        text=f"{message.text}{attached(message)}".strip()[:MAX_CHARACTERS],
        authors=message.words.joined(chat.title_authors),
    )


def _staged_in(read: SectionReads) -> BorrowedContext | None:
    run, chat = read.run, read.chat
    if chat is None:
        return None
    return BorrowedContext.read(
        read.found, BorrowedContext.key_of(run.tenant, chat.id, run.agent_id)
    )


def _source_in(read: SectionReads, borrowed: BorrowedContext) -> Chat | None:
    """Return the chat of the borrowed messages, if the agent is still a member."""
    others = (own.chat for own in read.others)
    return next((chat for chat in others if chat.id == borrowed.source_chat_id), None)


def _read_again(read: SectionReads, borrowed: BorrowedContext) -> BorrowedContext | None:
    """Return the borrowed context with the newest messages of its chat instead of the staged ones.

    Return None if the newest messages may not be shown.
    """
    source = _source_in(read, borrowed)
    if source is None:
        return None
    keys = list(BorrowedItems.keys(read))[1:]
    items = (read.found[key] for key in keys if key in read.found)
    messages = [
        message
        for message in (source.as_now(each) for each in Message.each_of(items))
        if message.conversational
        and not message.words.by_rule
        and not source.hides(message.seq, message.created_at, here=read.chat)
    ]
    if not messages:
        return None
    audience = audience_of(source, since_seq=messages[0].seq)
    if not may_show(audience, read.readers):
        return None
    return borrowed.model_copy(
        update={
            "messages": tuple(borrowed_message(message, source) for message in messages),
            "audience": audience,
            "last_message_at": messages[-1].created_at,
            "created_at": read.now,
        }
    )


def _words_of(messages: Iterable[BorrowedMessage]) -> Authors:
    return NO_AUTHORS.joined(*(message.authors for message in messages))


def borrowed_context(given: SectionInput) -> Section | None:
    """Render the borrowed context of this activation; None without any."""
    found, names, counter = given.reading.of(BorrowedItems), given.names, given.counter
    borrowed = found.context
    if borrowed is None:
        return None
    newer = {0: "", 1: " 1 newer one is not shown."}.get(
        found.newer, f" {found.newer} newer ones are not shown."
    )
    read_at = ago(given.reading.now - borrowed.created_at)
    note = render("borrowed_note", {"at": read_at, "newer": newer})
    entries = (_provenance(borrowed),)
    source = f"  from {name_of(given, borrowed.source_title, borrowed.source_chat_id)}"
    source += f", {ago(given.reading.now - borrowed.last_message_at)}"
    quotes = [
        f"  {names.stored(message.sender, message.author)}: {quoted(message.text)}"
        for message in borrowed.messages
    ]

    def without(oldest: int) -> Section:
        more = [f"  - and {oldest} more before that"] if oldest else []
        head = ["BORROWED CONTEXT:", source, f"  {note}"]
        text = "\n".join([*head, *more, *quotes[oldest:]])
        size = counter.count(text + SEPARATOR)
        return Section("BORROWED CONTEXT", text, size, shorter, entries=entries)

    def shorter(tokens: int) -> Section:
        fitting = (made for n in range(len(quotes)) if (made := without(n)).tokens <= tokens)
        return next(fitting, without(len(quotes)))

    return without(0).within(given.tokens_left // BORROWED_SHARE)


def _provenance(borrowed: BorrowedContext) -> EntryProvenance:
    return EntryProvenance(
        section="BORROWED CONTEXT",
        kind="borrowed",
        chat_id=borrowed.source_chat_id,
        at=borrowed.last_message_at,
        open=borrowed.audience.open,
    )
