"""BORROWED CONTEXT: messages of another chat that the agent asked to see, shown once.

- Read: what is staged for the active chat, by key; in private, also the open chat that it is from.
- Kept: context that may be shown, and that no later reset hides in either chat; of insiders alone
  where the prompt holds their words alone. No reader may be invited to the other chat.
- Order: oldest first. If there is no room for all messages, the oldest are left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.agent.sections.your_chats import name_of
from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import SEPARATOR, Section, SectionInput
from skein.interface.timeline import ago
from skein.models.chats.borrowed import BorrowedContext, BorrowedMessage
from skein.models.chats.chat import Chat
from skein.models.common.storage import Key
from skein.models.outbox.jobs import RunJob
from skein.models.runs.provenance import EntryProvenance
from skein.models.runs.run import Run
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.prompts import render
from skein.services.common.quoting import quoted

BORROWED_SHARE = 3  # borrowed context takes at most a third of the prompt


@dataclass(frozen=True, slots=True)
class BorrowedItems(SectionItems):
    """The borrowed context of this activation, if it may be shown."""

    context: BorrowedContext | None = None

    @classmethod
    def guess(cls, job: RunJob) -> Iterable[Key]:
        """Return the key of the staging, if the run belongs to a chat."""
        home = Run.home_of(job.run_id)
        in_chat = home.startswith("chat_")
        return [BorrowedContext.key_of(job.tenant, home, job.agent_id)] if in_chat else ()

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the key of what is staged for the active chat.

        In private, the open chat that it is from is read, too: a reader may be invited to it now.
        """
        run, chat = read.run, read.chat
        if chat is None:
            return ()
        staged = BorrowedContext.key_of(run.tenant, chat.id, run.agent_id)
        item = read.found.get(staged)
        borrowed = BorrowedContext.from_item(item) if item is not None else None
        if borrowed is None or read.readers.open or not borrowed.audience.open:
            return [staged]
        return [staged, Chat.key_of(run.tenant, borrowed.source_chat_id)]

    @classmethod
    def found(cls, read: SectionReads) -> "BorrowedItems":
        """Keep the context if it may be shown, and no later reset hides it.

        A reset counts both in the chat that borrowed and in the chat that the messages are from.
        """
        items = [read.found[key] for key in cls.keys(read) if key in read.found]
        if not items:
            return cls()
        borrowed = BorrowedContext.from_item(items[0])
        if any(Chat.from_item(item).awaits(read.readers, read.now) for item in items[1:]):
            return cls()
        involved = {borrowed.chat_id, borrowed.source_chat_id}
        chats = (own.chat for own in (*read.active, *read.others))
        sessions = [chat.session for chat in chats if chat.id in involved]
        resets = [session.reset_at for session in sessions if session is not None]
        hidden = any(at is not None and at > borrowed.created_at for at in resets)
        kept = tuple(one for one in borrowed.messages if read.insiders.admit(_words_of([one])))
        if hidden or not kept or not may_show(borrowed.audience, read.readers):
            return cls()
        return cls(borrowed.model_copy(update={"messages": kept}))

    def authors(self) -> Iterable[Authors]:
        """Return the people whose words the borrowed messages may hold."""
        return [_words_of(self.context.messages if self.context is not None else ())]


def _words_of(messages: Iterable[BorrowedMessage]) -> Authors:
    return NO_AUTHORS.joined(*(message.authors for message in messages))


def borrowed_context(given: SectionInput) -> Section | None:
    """Render the borrowed context of this activation; None if there is none."""
    borrowed, names, counter = given.reading.of(BorrowedItems).context, given.names, given.counter
    if borrowed is None:
        return None
    entries = (_provenance(borrowed),)
    source = f"  from {name_of(given, borrowed.source_title, borrowed.source_chat_id)}"
    source += f", {ago(given.reading.now - borrowed.last_message_at)}"
    quotes = [
        f"  {names.stored(message.sender, message.author)}: {quoted(message.text)}"
        for message in borrowed.messages
    ]

    def without(oldest: int) -> Section:
        more = [f"  - and {oldest} more before that"] if oldest else []
        head = ["BORROWED CONTEXT:", source, f"  {render('borrowed_note')}"]
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
