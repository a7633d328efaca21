"""Audiences, which decide who may see content (docs/security.md)."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from skein.models.common.base import VISITOR, Identifier, Value


class Audience(Value):
    """Everyone in the tenant, or only certain people.

    "Everyone in the tenant" means its members. Visitors of web pages are included only if the
    audience is also public.

    Every derived item stores the audience of its sources. An audience also describes the readers to
    whom content is about to be shown.

    Attributes:
        open: Whether the content comes from an open chat or from no chat.
        people: For private content, the people who were present for all of it, sorted by id.
        public: Whether an operator marked the content as public, so that visitors may see it, too.
    """

    open: bool
    people: tuple[Identifier, ...] = ()
    public: Annotated[bool, Field(exclude_if=lambda public: not public)] = False

    def narrowed(self, other: "Audience") -> "Audience":
        """Return the people who are in both audiences."""
        if self.public:
            return other
        if other.public:
            return self
        if self.open:
            return other.without(other.visitors)
        if other.open:
            return self.without(self.visitors)
        return Audience(open=False, people=tuple(p for p in self.people if p in other.people))

    @property
    def visitors(self) -> tuple[str, ...]:
        """The ids of the people who are visitors."""
        return tuple(person for person in self.people if person.startswith(VISITOR))

    @property
    def only_person(self) -> str | None:
        """The id of the only person; None unless the audience has exactly one person."""
        return self.people[0] if len(self.people) == 1 else None

    @property
    def reader_ids(self) -> tuple[str, ...] | None:
        """The ids of the people; None for everyone in the tenant."""
        return None if self.open else self.people

    def counts(self, ids: Iterable[Identifier]) -> bool:
        return not set(self.people).isdisjoint(ids)

    def without(self, ids: Iterable[Identifier]) -> "Audience":
        left = tuple(person for person in self.people if person not in set(ids))
        return self.model_copy(update={"people": left})

    def renamed(self, old: str, new: str) -> "Audience":
        if old not in self.people:
            return self
        names = {new if person == old else person for person in self.people}
        return self.model_copy(update={"people": tuple(sorted(names))})


OPEN = Audience(open=True)
"""The audience of a run without a chat, and of everything in open chats."""

PUBLIC = Audience(open=True, public=True)
"""The audience of content that everyone may see, including visitors."""

NOBODY = Audience(open=False)
"""The audience of content that may be shown to nobody."""


def may_show(source: Audience, destination: Audience) -> bool:
    """Return whether content with audience `source` may be shown to the readers `destination`.

    Private content may be shown only if `destination` is private, names at least one person, and
    all its people are in `source`. Open content may be shown to a destination without visitors,
    and public content to every destination.
    """
    if source.public:
        return True
    if source.open:
        return not (destination.public or destination.visitors)
    if destination.open or not destination.people:
        return False
    return set(destination.people) <= set(source.people)
