"""ERRANDS: questions that the agent has asked people for this chat and that have no answer yet.

The items are stored with the agent's goals. An errand is shown if it belongs to the active chat and
all readers were present for the content of the question. After the errand has ended, the chat has
the result as a message.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.errands.models.errand import OpenErrand
from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import Section, SectionInput, listing
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import Authors
from skein.services.common.quoting import quoted

MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Errands(SectionItems):
    """The open errands of the active chat that may be shown, oldest first."""

    errands: tuple[OpenErrand, ...] = ()
    owned = (OpenErrand.PREFIX,)
    optional = True

    @classmethod
    def found(cls, read: SectionReads) -> "Errands":
        """Keep the newest open errands of the active chat."""
        if read.chat is None:
            return cls()
        items = (item for item in read.owned if OpenErrand.PREFIX.holds(item))
        shown = [
            errand
            for errand in OpenErrand.each_of(items)
            if errand.chat_id == read.chat.id
            and may_show(errand.audience, read.readers)
            and read.insiders.admit(errand.authors)
        ]
        shown.sort(key=lambda errand: (errand.created_at, errand.id))
        return cls(tuple(shown[-MAX_SHOWN:]))

    def authors(self) -> Iterable[Authors]:
        return (errand.authors for errand in self.errands)


def errands(given: SectionInput) -> Section | None:
    """Render the open errands of the chat, if there are any."""
    lines = []
    for errand in given.reading.of(Errands).errands:
        until = errand.until.astimezone(given.context.zone)
        name = quoted(errand.asked.name) if errand.asked is not None else "each person here"
        asked = f"{name} was asked {quoted(errand.question)}"
        lines.append(f"  - {asked}, open until {until:%Y-%m-%d %H:%M %Z}")
    return listing("ERRANDS", lines, given.list_limit, given.counter) if lines else None
