"""Who may be shown what was derived from a conversation (DESIGN section 5, invariant 8)."""

from collections.abc import Iterable

from skein.models.base import Identifier, Value


class Audience(Value):
    """Everybody, or nobody but these people.

    It stands on every derived item as the place that the item comes from, and describes the place
    where something is about to be shown.

    Attributes:
        open: Of an open chat, or of no chat at all.
        people: Of a private one: those who were there for the whole span, sorted by id.
    """

    open: bool
    people: tuple[Identifier, ...] = ()

    def narrowed(self, other: "Audience") -> "Audience":
        """Who was there both times."""
        if self.open:
            return other
        if other.open:
            return self
        return Audience(open=False, people=tuple(p for p in self.people if p in other.people))

    @property
    def only_person(self) -> str | None:
        """The one person of a private audience; None for an open one, and for several people."""
        return self.people[0] if len(self.people) == 1 else None

    def counts(self, ids: Iterable[Identifier]) -> bool:
        """Whether one of these people is among them."""
        return not set(self.people).isdisjoint(ids)

    def renamed(self, old: str, new: str) -> "Audience":
        """The same people, one of whom goes by another id now."""
        if old not in self.people:
            return self
        names = {new if person == old else person for person in self.people}
        return self.model_copy(update={"people": tuple(sorted(names))})


OPEN = Audience(open=True)
"""The audience of a run without a chat, and of everything in open chats."""

NOBODY = Audience(open=False)
"""Of what may be shown nowhere."""


def may_show(source: Audience, destination: Audience) -> bool:
    """Whether what was derived at `source` may be shown at `destination`.

    It may if the source is open, or if the destination is private, has people, and all of them
    were at the source. An open place, and a place without people, is shown open things only.
    """
    if source.open:
        return True
    if destination.open or not destination.people:
        return False
    return set(destination.people) <= set(source.people)


def may_change(content: Audience, thing: Audience) -> bool:
    """Whether content made for `content` may change or end something kept for `thing`.

    Everybody who may be shown the thing must have been there for the content: only open content
    changes open things, and a thing of two people is not changed from what one of them said.
    """
    return may_show(content, thing)


class Origin(Value):
    """Why something was said in a chat by someone who was asked elsewhere.

    Attributes:
        chat_id: Where it was asked.
        chat_title: What that chat was called.
        asked_by: The name of who asked.
        text: What was asked, 200 characters at most.
        audience: Of the asking, by which it is decided who may be shown this.
    """

    chat_id: Identifier
    chat_title: str
    asked_by: str
    text: str
    audience: Audience
