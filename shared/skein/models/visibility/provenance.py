"""Provenance: whose messages influenced an item, and which messages it was made from.

Code records both (docs/security.md, "Provenance"). `authors` records whose messages the model call
was shown, as the basis for secrecy and rights. `made_from` records which messages the item was made
from, as the basis for erasure and rewinds. What a model says about its sources is for display only.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import reduce
from itertools import chain, groupby
from typing import Annotated, TypeVar

from pydantic import Field

from skein.models.common.base import Identifier, NamedMember, Value, key_part

MAX_AUTHORS = 20  # authors of one item or call; more are "many"
MAX_SPANS = 20  # spans of one item; more are widened to one span per chat
DIGEST_CHARACTERS = 16  # hexadecimal digits of a digest, 64 bits
MAX_NAMED = 3  # people that a label names; further ones are counted
MAX_CITED = 20  # passages that one message cites
MAX_TITLE = 60  # maximum length of a title in a label, in characters
MAX_OF_STRANGER = 3  # items of one person in a private prompt of a chat that the person is not in

TOOL_AUTHOR = "tool:"  # the prefix of a tool's id as an author; digests have no colon

Thing = TypeVar("Thing")


class Citation(Value):
    """A passage of the tenant's sources that a message cites."""

    source_id: Annotated[Identifier, Field(description="The id of the source.")]
    version: Annotated[int, Field(description="The version of the source.")]
    place: Annotated[
        str, Field(max_length=300, description="Where it is: headings, a page or a row.")
    ] = ""
    url: Annotated[
        str | None, Field(max_length=2_000, description="The address of its page; null for none.")
    ] = None


class Authors(Value):
    """The people and tools whose words something contains: up to 20 ids, or `many`.

    Attributes:
        ids: At most 20 ids or digests, sorted.
        many: Whether there may be others besides `ids`: more than 20 people, or people not known
            exactly. Checks of rights then assume the worst.
        by_rule: True if a sharing rule brought some of these words into the chat. Items made from
            the words must not leave this chat.
    """

    ids: tuple[Identifier, ...] = ()
    many: bool = False
    by_rule: Annotated[bool, Field(exclude_if=lambda by_rule: not by_rule)] = False

    @classmethod
    def of(cls, ids: Iterable[str | None]) -> "Authors":
        """Return the people with these ids, or `many` for more than 20; None is skipped."""
        known = sorted({each for each in ids if each is not None})
        return cls(ids=tuple(known)) if len(known) <= MAX_AUTHORS else MANY

    @classmethod
    def in_digests(cls, ids: Iterable[str | None]) -> "Authors":
        """Return the people as digests, so that the result has no ids that must be erased."""
        return cls.of(digest_of(each) for each in ids if each is not None)

    @property
    def without_tools(self) -> "Authors":
        people = tuple(each for each in self.ids if not each.startswith(TOOL_AUTHOR))
        return self.model_copy(update={"ids": people})

    @property
    def of_rule_words(self) -> "Authors":
        """The same people, marked as authors of words from a sharing rule."""
        return self.model_copy(update={"by_rule": True})

    @property
    def empty(self) -> bool:
        return not self.ids and not self.many

    def joined(self, *others: "Authors") -> "Authors":
        everyone = (self, *others)
        by_rule = any(each.by_rule for each in everyone)
        if any(each.many for each in everyone):
            return MANY.of_rule_words if by_rule else MANY
        known = Authors.of(chain(*(each.ids for each in everyone)))
        return known.of_rule_words if by_rule else known

    def includes(self, ids: Iterable[str]) -> bool:
        """Return whether one of `ids` is known to be among the people."""
        return not set(self.ids).isdisjoint(ids)

    def only(self, ids: Iterable[str]) -> bool:
        """Return whether there are people, and all of them are known to be in `ids`."""
        return bool(self.ids) and not self.many and set(self.ids) <= set(ids)

    def may_include(self, ids: Iterable[str]) -> bool:
        return self.many or self.includes(ids)


NO_AUTHORS = Authors()
MANY = Authors(many=True)


class Insiders(Value):
    """The people that a run works for; everyone else is an outsider to it.

    Attributes:
        alone: Whether prompts and tool results of the run must not contain words of outsiders.
        of_readers: Whether `alone` has an exception for outsiders' words that the readers know
            anyway. These are words in questions and errands of the active chat, and in titles of
            the readers' chats.
    """

    digests: frozenset[str] = frozenset()
    alone: bool = False
    of_readers: bool = False

    def wrote(self, authors: Authors) -> bool:
        """Return whether all authors are insiders or agents; False if `authors.many`."""
        return not authors.many and self.digests.issuperset(authors.ids)

    def admit(self, authors: Authors) -> bool:
        """Return whether prompts and tool results may contain the words of these authors.

        Text from tools is admitted, because an operator has given the agent its tools.
        """
        return not self.alone or self.wrote(authors.without_tools)


NO_INSIDERS = Insiders()


class Span(Value):
    """Consecutive messages of one chat, both ends included.

    Attributes:
        first_seq: The `seq` of the first message.
        last_seq: The `seq` of the last message.
    """

    chat_id: Annotated[Identifier, Field(description="The id of a chat.")]
    first_seq: int
    last_seq: int

    def holds(self, other: "Span") -> bool:
        """Return whether this span contains all messages of another span."""
        within = self.first_seq <= other.first_seq and other.last_seq <= self.last_seq
        return self.chat_id == other.chat_id and within

    def meets(self, other: "Span") -> bool:
        """Return whether this span contains a message of another span."""
        apart = other.last_seq < self.first_seq or self.last_seq < other.first_seq
        return self.chat_id == other.chat_id and not apart


class SourceLabel(Value):
    """The authors and the chat of an item's source messages, as prompts name them.

    The label is stored with the item, so that a prompt needs no further read. The ids ensure that
    an erasure finds the names, and that two people with the same name can be distinguished.

    Attributes:
        named: At most three people, with their names at that time.
        others: The number of further people.
        title: The title of the chat at that time; None if the chat had no title, if there are
            several chats, or if some people who may see the item may not know the title.
    """

    named: tuple[NamedMember, ...] = ()
    others: Annotated[int, Field(exclude_if=lambda others: not others)] = 0
    title: Annotated[str | None, Field(exclude_if=lambda title: title is None)] = None

    @classmethod
    def of(
        cls, people: Iterable[NamedMember], *, title: str | None = None, others: int = 0
    ) -> "SourceLabel":
        """Return the label of messages that these members wrote; agents are left out."""
        known = {each.id: each for each in people if each.kind == "user"}
        named = tuple(known.values())[:MAX_NAMED]
        more = others + len(known) - len(named)
        return cls(named=named, others=more, title=_cut(title) if title else None)

    def joined(self, other: "SourceLabel") -> "SourceLabel":
        """Return one label for the sources of both labels."""
        title = self.title if self.title == other.title else None
        others = max(self.others, other.others)
        return SourceLabel.of((*self.named, *other.named), title=title, others=others)

    def without(self, ids: Collection[str], *, title: bool) -> "SourceLabel":
        """Return the label without the names of some people, who are counted in `others` instead.

        Args:
            title: Whether to remove the title, too.
        """
        named = tuple(each for each in self.named if each.id not in ids)
        others = self.others + len(self.named) - len(named)
        return SourceLabel(named=named, others=others, title=None if title else self.title)


class MadeFrom(Value):
    """The messages and items that an item was made from.

    Attributes:
        spans: The messages, by chat and number, without overlaps.
        writers: The people who wrote these messages, by id.
        items: The ids of the agent's items from which the item was also made, sorted. For example,
            the items that a tool call named.
        source: The names of the people and the chat, for prompts; None if there are no names.
    """

    spans: tuple[Span, ...] = ()
    writers: Authors = NO_AUTHORS
    items: tuple[Identifier, ...] = ()
    source: Annotated[SourceLabel | None, Field(exclude_if=lambda label: label is None)] = None

    @classmethod
    def messages(
        cls,
        chat_id: str,
        first_seq: int,
        last_seq: int,
        people: Iterable[str | None],
        source: SourceLabel | None = None,
    ) -> "MadeFrom":
        """Return the provenance of an item made from a span of messages, which `people` wrote."""
        span = Span(chat_id=chat_id, first_seq=first_seq, last_seq=last_seq)
        return cls(spans=(span,), writers=Authors.of(people), source=source)

    @classmethod
    def each(cls, chat_id: str, seqs: Iterable[int], people: Iterable[str | None]) -> "MadeFrom":
        """Return the provenance of an item made from messages of a chat, which `people` wrote."""
        spans = [Span(chat_id=chat_id, first_seq=seq, last_seq=seq) for seq in seqs]
        return cls(spans=_narrowed(spans), writers=Authors.of(people))

    @property
    def nothing(self) -> bool:
        return not self.spans and not self.items

    @property
    def chats(self) -> tuple[str, ...]:
        """The ids of the chats of the messages, sorted."""
        return tuple(dict.fromkeys(span.chat_id for span in self.spans))

    def joined(self, *others: "MadeFrom") -> "MadeFrom":
        """Return the combined provenance; if there are too many spans, each chat gets one span."""
        parts = (self, *others)
        labels = [part.source for part in parts if part.source is not None]
        return MadeFrom(
            spans=_narrowed([span for part in parts for span in part.spans]),
            writers=self.writers.joined(*(part.writers for part in others)),
            items=tuple(sorted({each for part in parts for each in part.items})),
            source=reduce(SourceLabel.joined, labels) if labels else None,
        )

    def naming(self, ids: Iterable[str]) -> "MadeFrom":
        """Return the provenance, extended by more of the agent's items."""
        return self.model_copy(update={"items": tuple(sorted({*self.items, *ids}))})

    def span_in(self, chat_id: str | None) -> Span | None:
        """Return one span that holds all source messages of a chat; None if the chat has none."""
        return next((s for s in _widened(self.spans) if s.chat_id == chat_id), None)

    def reaches(self, chat_id: str, seq: int | None) -> bool:
        """Return whether any source message of this chat has a number of at least `seq`."""
        return seq is not None and any(
            span.chat_id == chat_id and span.last_seq >= seq for span in self.spans
        )

    def wrote(self, ids: Iterable[str]) -> bool:
        """Return whether the source messages may contain words of one of these people.

        True if only agents wrote them, because agents may repeat what anyone in the chat wrote.
        """
        return self.writers.empty or self.writers.may_include(ids)


NOTHING = MadeFrom()


def few_of_strangers(
    things: Iterable[Thing],
    writers_of: Callable[[Thing], Authors],
    members: Collection[str] | None,
    *,
    most: int = MAX_OF_STRANGER,
) -> list[Thing]:
    """Return the items in their order, with at most `most` of each person outside of `members`.

    So items with other people's words cannot crowd out what the people of a private chat have said.
    All items with `many` writers count as items of one additional person. Items that only `members`
    wrote are not limited. If `members` is None, there is no limit.
    """
    if members is None:
        return list(things)
    kept, counts = list[Thing](), Counter[str]()
    for thing in things:
        writers = writers_of(thing)
        strangers = [""] if writers.many else [each for each in writers.ids if each not in members]
        if all(counts[each] < most for each in strangers):
            counts.update(strangers)
            kept.append(thing)
    return kept


def digest_of(user_id: str) -> str:
    return hashlib.sha256(user_id.encode()).hexdigest()[:DIGEST_CHARACTERS]


def made_relation(tenant: str, chat_id: str) -> str:
    """Return the `gsi1` partition of the items that were made from a single chat."""
    return f"{key_part(tenant)}#MADE#{key_part(chat_id)}"


def mixed_relation(tenant: str, agent_id: str | None) -> str:
    """Return the `gsi1` partition of an agent's items that were made from several chats.

    Documents of chats belong to no agent. Those of all chats of the tenant are in one partition.
    """
    return f"{key_part(tenant)}#MIXED#{key_part(agent_id or '')}"


def made_keys(tenant: str, agent_id: str | None, chats: Iterable[str], at: str) -> dict[str, str]:
    """Return the `gsi1` keys of an item made from these chats; empty for no chat."""
    known = sorted(set(chats))
    if not known:
        return {}
    alone = len(known) == 1
    relation = made_relation(tenant, known[0]) if alone else mixed_relation(tenant, agent_id)
    return {"gsi1pk": relation, "gsi1sk": at}


def _cut(title: str) -> str:
    """Cut a title between two words, so that no part of a name is left."""
    if len(title) <= MAX_TITLE:
        return title
    return title[:MAX_TITLE].rpartition(" ")[0] or title[:MAX_TITLE]


def _narrowed(spans: list[Span]) -> tuple[Span, ...]:
    """Join spans that touch; if more than 20 are left, each chat gets one span."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.chat_id, each.first_seq, each.last_seq)):
        last = joined[-1] if joined else None
        if last is None or last.chat_id != span.chat_id or span.first_seq > last.last_seq + 1:
            joined.append(span)
        elif span.last_seq > last.last_seq:
            joined[-1] = last.model_copy(update={"last_seq": span.last_seq})
    return tuple(joined) if len(joined) <= MAX_SPANS else _widened(joined)


def _widened(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return one span for each chat, which holds all spans of the chat; `spans` are sorted."""
    groups = (list(group) for _, group in groupby(spans, key=lambda span: span.chat_id))
    return tuple(
        group[0].model_copy(update={"last_seq": max(span.last_seq for span in group)})
        for group in groups
    )
