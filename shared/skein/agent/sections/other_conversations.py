"""LAST CONVERSATION and OTHER ACTIVE CONVERSATIONS: summaries of the agent's other chats.

- What is read: the same chats as for YOUR CHATS. Their summaries are stored with them.
- What is kept: summaries that may be shown and that began after the last reset of their chat. If
  the prompt must not contain outsiders' words, the summary must not contain any either. The chat
  must have had a message in the last six hours. In a direct chat, the three newest other chats with
  its person are also kept.
- Order: most recently active first, at most 10. In a private prompt, chats of outsiders come last,
  and only a few of them are shown (`for_readers`). In a direct chat, the summary of the person's
  last session in another chat is in LAST CONVERSATION.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from skein.agent.sections.borrowed import BorrowedItems
from skein.agent.sections.your_chats import ACTIVE_FOR, for_readers, name_of, newest_first
from skein.interface.reading import OwnChat, SectionItems, SectionReads, person_at
from skein.interface.section import Section, SectionInput, around, listing
from skein.interface.timeline import ago
from skein.interface.told import Telling, says_all
from skein.models.chats.chat import Chat
from skein.models.chats.summary import Summary
from skein.models.common.characters import on_one_line
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import Authors, Span
from skein.prompts import render
from skein.services.chat_state.sessions import reset_in
from skein.services.common.quoting import quoted

MAX_CONVERSATIONS = 10
MAX_OF_PERSON = 3  # newest other chats of a direct chat's person, shown at any age
BORROW = "borrow_context"


@dataclass(frozen=True, slots=True)
class LastSession:
    """The last session of a direct chat's person, which was in another direct chat.

    Attributes:
        chat: The other direct chat, of the same person and the same agent.
        summary: The chat summary of that chat.
    """

    chat: Chat
    summary: Summary


@dataclass(frozen=True, slots=True)
class OtherSummaries(SectionItems):
    """The agent's summaries of its other chats, and the last session of a direct chat's person.

    Attributes:
        chats: The chats in the order of the section, with the agent's summary of each. The summary
            may be shown even to readers who may not see the chat itself.
        last_session: The last session of the person, if it was in another direct chat.
    """

    chats: tuple[tuple[OwnChat, Summary], ...] = ()
    last_session: LastSession | None = None
    in_reads = ("others",)
    optional = True

    @classmethod
    def found(cls, read: SectionReads) -> "OtherSummaries":
        """Keep the recent chats whose summary may be shown."""
        person, chats, of_person = person_at(read.chat), [], 0
        summarized = (own for own in read.others if _shown_summary(read, own) is not None)
        for own in chain(*for_readers(read, summarized)):
            summary, last = _shown_summary(read, own), own.chat.last_message_at
            if summary is None or last is None:
                continue
            theirs = person is not None and own.has(person)
            of_person += theirs
            if last < read.now - ACTIVE_FOR and not (theirs and of_person <= MAX_OF_PERSON):
                continue
            chats.append((own, summary))
        return cls(tuple(chats[:MAX_CONVERSATIONS]), _last_session(read))

    def authors(self) -> Iterable[Authors]:
        shown = [(own.chat, summary) for own, summary in self.chats]
        if self.last_session is not None:
            shown.append((self.last_session.chat, self.last_session.summary))
        return (summary.authors.joined(chat.title_authors) for chat, summary in shown)


def _shown_summary(read: SectionReads, own: OwnChat) -> Summary | None:
    """Return the agent's summary of a chat, if it may be shown and is newer than the last reset."""
    summary = own.member.summary
    return summary if summary is not None and _may_show(read, own.chat, summary) else None


def _may_show(read: SectionReads, chat: Chat, summary: Summary) -> bool:
    shown = may_show(summary.audience, read.readers) and read.insiders.admit(summary.authors)
    return shown and summary.from_seq >= reset_in(chat)


def _last_session(read: SectionReads) -> LastSession | None:
    """Return the person's last session, if it was in a chat other than the active one.

    If the current session began with a reset, no session from before the reset is returned. A
    summary that possibly contains words shown by a sharing rule is never shown in another chat.
    """
    person = person_at(read.chat)
    if person is None or not read.active:
        return None
    session = read.active[0].chat.session
    theirs = [own for own in read.others if own.chat.kind == "direct" and own.has(person)]
    if not theirs:
        return None
    newest = newest_first(theirs)[0]
    chat, summary, at = newest.chat, newest.chat.summary, newest.last_active_at
    if session is not None:
        since = session.started_at if session.reset else session.before_at
        if since is not None and at <= since:
            return None
    if summary is None or summary.authors.by_rule or not _may_show(read, chat, summary):
        return None
    return LastSession(chat, summary)


def last_session(given: SectionInput) -> Section | None:
    """Render the summary of the person's last session, if it was in another chat.

    The agent's own summary of that chat follows, unless it adds nothing to the chat's summary.
    """
    found = given.reading.of(OtherSummaries)
    last = found.last_session
    if last is None:
        return None
    at = min(last.chat.last_message_at or last.summary.at, last.summary.at)
    head = (
        f"LAST CONVERSATION ({ago(given.reading.now - at)}, in {quoted(last.chat.display_title)})"
    )

    own = [each.text for chat, each in found.chats if chat.chat.id == last.chat.id]
    further = "".join(
        f"\n  your summary: {quoted(on_one_line(text))}"
        for text in own
        if not says_all(last.summary.text, text)
    )

    def frame(words: str) -> str:
        return f"{head}:\n  {quoted(words)}{further}"

    section = around("LAST CONVERSATION", last.summary.text, frame, given.counter)
    if section.tokens > given.summary_limit:
        return section.within(given.summary_limit)
    return replace(section, told=(_telling(last.chat, last.summary),))


def other_conversations(given: SectionInput) -> Section | None:
    """Render the agent's summaries of its other chats; None without summaries.

    The chat in LAST CONVERSATION is left out. A summary is also left out if it covers only messages
    that BORROWED CONTEXT shows.
    """
    reading, lines, tellings = given.reading, [], []
    found, borrowed = reading.of(OtherSummaries), reading.of(BorrowedItems)
    last = found.last_session.chat.id if found.last_session is not None else None
    for own, summary in found.chats:
        if own.chat.id == last or borrowed.holds_all_of(own.chat.id, summary):
            continue
        chat = own.chat.titled_for(reading.destination, known=summary.title)
        age = ago(reading.now - min(own.last_active_at, summary.at))
        title = name_of(given, chat.display_title, chat.id)
        lines.append(f"  - {title}, {age}: {quoted(on_one_line(summary.text))}")
        tellings.append(_telling(own.chat, summary))
    if not lines:
        return None
    if given.offers(BORROW):
        lines.insert(0, f"  {render('borrowing_hint')}")
    section = listing("OTHER ACTIVE CONVERSATIONS", lines, given.list_limit, given.counter)
    return replace(section, told=tuple(tellings)) if section.text.endswith(lines[-1]) else section


def _telling(chat: Chat, summary: Summary) -> Telling:
    """Return a summary's text, with all messages of the chat from its first one on as sources."""
    span = Span(chat_id=chat.id, first_seq=summary.from_seq, last_seq=chat.last_seq)
    return Telling((span,), summary.text)
