"""DESK and HANDED BACK: whether the chat waits for a person of the team, and who last held it.

DESK tells the agent that the chat is waiting, so that it does not ask for a person again. While a
person of the team holds a chat, no prompts are built for it. HANDED BACK is shown as long as the
prompt has messages from before the hand-back, unless a reset hides them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import Section, SectionInput, around, one_line
from skein.models.chats.desk import Briefing
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import Authors
from skein.prompts import render
from skein.services.common.quoting import minute_of, quoted


@dataclass(frozen=True, slots=True)
class Briefings(SectionItems):
    """The briefing that was given when the active chat was last handed back, if it may be shown."""

    briefing: Briefing | None = None
    in_chat = ("briefing",)
    optional = True

    @classmethod
    def found(cls, read: SectionReads) -> "Briefings":
        """Keep the briefing if the prompt shows messages from before the hand-back."""
        chat = read.chat
        briefing = chat.briefing if chat is not None else None
        if chat is None or briefing is None or chat.hides(briefing.seq, briefing.at, here=chat):
            return cls()
        first = min((message.seq for message in read.messages), default=0)
        shown = may_show(briefing.audience, read.readers) and read.insiders.admit(briefing.authors)
        return cls(briefing if shown and first <= briefing.seq else None)

    def authors(self) -> Iterable[Authors]:
        return [self.briefing.authors] if self.briefing is not None else []


def desk(given: SectionInput) -> Section | None:
    """Render since when the active chat has been waiting; None if it is not waiting."""
    chat = given.reading.chat
    if chat is None or chat.desk is None or chat.held:
        return None
    since = chat.desk.since.astimezone(given.context.zone)
    text = render("desk_waiting", {"since": f"{since:%Y-%m-%d %H:%M %Z}"})
    return one_line("DESK", text, given.counter)


def handed_back(given: SectionInput) -> Section | None:
    """Render who held the chat, and what they told its agents; None if it was not handed back."""
    briefing = given.reading.of(Briefings).briefing
    if briefing is None:
        return None
    who = given.names[briefing.holder.sender]
    how = "was silent for long, so the chat came back" if briefing.silent else "handed it back"
    head = f"HANDED BACK: {who} held this chat after msg:{briefing.from_seq} and {how}"
    head += f" at {minute_of(briefing.at)}."

    def frame(words: str) -> str:
        return f"{head} {who} told you: {quoted(words)}" if words else head

    return around("HANDED BACK", briefing.text, frame, given.counter)
