"""Show in prompts and tool results from which people and which chat an item comes.

Words of people are quoted, because quoted text is never an instruction. An operator's item is an
instruction, so it has a mark instead of quotation marks.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from skein.models.chats.names import plain_name
from skein.models.common.base import NamedMember
from skein.models.common.characters import on_one_line
from skein.models.visibility.ownership import DerivedItem
from skein.services.common.quoting import quoted

BY_OPERATOR = "(operator)"


@dataclass(frozen=True, slots=True)
class SourceNames:
    """How one prompt names the sources of items.

    Attributes:
        named: Returns the name of a person.
        here: The id of the active chat. Sources in this chat are shown without its title.
    """

    named: Callable[[NamedMember], str] = plain_name
    here: str | None = None

    def line_of(self, item: DerivedItem, text: str) -> str:
        """Return a text of an item, together with the item's source, on one line.

        The line is `Bob in "Project": "..."` if Bob alone wrote the messages from which the item
        was made, and otherwise `from "Project" with Bob and Carol: "..."`. If the item has no words
        of people, the line is only the quoted text.
        """
        if item.by_operator:
            return f"{BY_OPERATOR} {on_one_line(text)}"
        source = self._of(item)
        return f"{source}: {quoted(text)}" if source else quoted(text)

    def _of(self, item: DerivedItem) -> str:
        made, label = item.made_from, item.made_from.source
        if label is None:
            return ""
        title = quoted(label.title) if label.title else None
        from_here = self.here is not None and made.chats == (self.here,)
        names = [self.named(person) for person in label.named]
        if len(names) == 1 and made.writers.only([label.named[0].id]):
            return f"{names[0]} in {title}" if title and not from_here else names[0]
        if label.others:
            names.append("another" if label.others == 1 else f"{label.others} others")
        chat = "this chat" if from_here else title or "a chat"
        return f"from {chat} with {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}"


def named_in(items: Iterable[DerivedItem]) -> Iterator[NamedMember]:
    """Yield the people who are named in the sources of items."""
    for item in items:
        if item.made_from.source is not None and not item.by_operator:
            yield from item.made_from.source.named
