"""Items of agents, their scopes and audiences."""

from typing import Annotated, ClassVar, Self

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part, rfc3339
from skein.models.common.json_types import JsonBool
from skein.models.common.storage import Item
from skein.models.visibility.audience import OPEN, PUBLIC, Audience, may_show
from skein.models.visibility.provenance import (
    MANY,
    NO_AUTHORS,
    NO_INSIDERS,
    NOTHING,
    Authors,
    Insiders,
    MadeFrom,
    made_keys,
)

StoredAuthors = Annotated[Authors, Field(exclude_if=lambda people: people == NO_AUTHORS)]
StoredMadeFrom = Annotated[MadeFrom, Field(exclude_if=lambda made: made == NOTHING)]
ByOperator = Annotated[bool, Field(exclude_if=lambda value: not value)]
StoredPublic = Annotated[
    JsonBool,
    Field(
        exclude_if=lambda value: not value,
        description="Whether visitors of web pages may be shown it, too.",
    ),
]
"""The mark that operators set; releases before 0.4.0 ignore it."""

MAX_KEPT = 200  # active goals in one partition, including hidden ones; the same for plans
SHARED = "told:"  # the prefix that replaces a scope; a scope begins with user: or chat:


def owned_partition(tenant: str, agent_id: str, scope: str | None) -> str:
    """Return the partition key of an agent's items in one scope.

    `scope` is None for open items, `user:<id>` for items from a person's direct chats, and
    `chat:<id>` for items from any other private chat.
    """
    agent = f"{key_part(tenant)}#AGENT#{key_part(agent_id)}"
    return agent if scope is None else f"{agent}#AUD#{key_part(scope)}"


def shared_partition(tenant: str, agent_id: str, *, role: str, subject: str | None) -> str:
    """Return the vector index's partition for content that may be shared by sharing rules.

    `role` is the role of the people who wrote the content. `subject` is the person whom this role
    is about, such as a nurse's patient. It is None for rules that do not compare the subjects of
    author and reader.
    """
    whose = (f"{SHARED}{role}", "", subject or "")  # until 0.3.0, the second part was a person
    return owned_partition(tenant, agent_id, ":".join(map(key_part, whose)))


def is_shared_partition(partition: str) -> bool:
    """Return whether a partition key of the vector index was made by `shared_partition`."""
    return f"#AUD#{SHARED}" in partition


def scopes_at(scope: str | None) -> tuple[str | None, ...]:
    """Return the scopes to search: the open scope, followed by `scope` if it is private."""
    return (None,) if scope is None else (None, scope)


def private_scope(*, user_id: str | None = None, chat_id: str | None = None) -> str | None:
    """Return the scope of a person's direct chats, or the scope of any other private chat.

    Without an id, the scope is None, for open items.

    Raises:
        ValueError: Both ids are given.
    """
    if user_id is not None and chat_id is not None:
        raise ValueError("a scope belongs to either a person or a chat")
    if chat_id is not None:
        return f"chat:{chat_id}"
    return f"user:{user_id}" if user_id is not None else None


class Owner(Value):
    """The scope, audience and provenance of an item that an agent is about to make.

    The fields are those of `OwnedItem`. An operator's item has no authors, and is made from no
    messages.
    """

    tenant: Tenant
    agent_id: Identifier
    scope: str | None = None
    audience: Audience = OPEN
    authors: StoredAuthors = NO_AUTHORS
    made_from: StoredMadeFrom = NOTHING
    source_chat_id: Identifier | None = None
    source_run_id: Identifier | None = None
    by_operator: ByOperator = False

    @property
    def reach(self) -> "Reach":
        """The reach that finds all items in the owner's scope, regardless of readers."""
        return Reach(tenant=self.tenant, agent_id=self.agent_id, scopes=(self.scope,))


class Actor(Value):
    """A run or background work that changes items, and the authors of the messages it was shown.

    The default is an unknown actor, which may have been shown messages of anyone.

    Attributes:
        authors: The people whose messages the actor was shown, as digests.
        outsiders: Whether an author is possibly an outsider; see `services/visibility/insiders.py`.
    """

    chat_id: Identifier | None = None
    authors: Authors = MANY
    outsiders: bool = True

    def changes_open(self, thing: "DerivedItem") -> bool:
        """Return whether this actor may change or end an open item that no operator made.

        An actor in the item's own chat may change it. In another chat, all authors of the messages
        that the actor was shown must also be authors of the item. If one of these authors is
        possibly an outsider, both conditions apply. An actor that was shown no messages may also
        change an item that was made outside of chats and from no messages.
        """
        here = thing.home is not None and thing.home == self.chat_id
        authored = self.authors.only(thing.authors.ids)
        if self.outsiders:
            return here and authored
        nobodys = self.authors.empty and thing.authors.empty and thing.home is None
        return here or authored or nobodys


class Readers(Value):
    """The people to whom a caller shows items. They decide which items the caller may find.

    Attributes:
        readers: The readers to whom items are shown (`may_show`); None for operators, who see all.
        content: The audience of all content on which a change is based; None if this audience is
            `readers`.
        insiders: The insiders of a run. Items with other people's words may have to be hidden from
            the run.
        chat_id: The chat in which items are shown. An item with words that a sharing rule shared in
            a chat is shown only in that chat.
        actor: The actor of the change, with the people whose messages it was shown.
    """

    readers: Audience | None = None
    content: Audience | None = None
    insiders: Insiders = NO_INSIDERS
    chat_id: Identifier | None = None
    actor: Actor = Actor()

    @property
    def _operates(self) -> bool:
        return self.readers is None and self.content is None

    def shows(self, thing: "DerivedItem") -> bool:
        """Return whether the readers may see `thing`, and the run may see its text."""
        if self.readers is not None:
            leaves = thing.authors.by_rule and thing.home != self.chat_id
            if leaves or not may_show(thing.shown_to, self.readers):
                return False
        return thing.trusted or self.insiders.admit(thing.authors)

    def changes(self, thing: "DerivedItem") -> bool:
        """Return whether the caller may change, end or supersede `thing`, an item of any kind.

        An operator's item may be changed by operators only. Exception: a run that was shown no
        outsider's words may change items of the kinds that agents work on.

        A private item may be changed if everyone in the item's audience was present for the content
        of the change. For an open item, `Actor.changes_open` decides. A public item may be changed
        by operators only. A run that received words through a sharing rule may change only items
        that were made in the run's own chat.
        """
        if self._operates:
            return True
        if not self.covers(thing):
            return False
        if self.actor.authors.by_rule and thing.home != self.actor.chat_id:
            return False
        if thing.by_operator:
            return thing.WORKED_ON and not self.actor.outsiders
        return not thing.audience.open or self.actor.changes_open(thing)

    def deletes(self, thing: "DerivedItem") -> bool:
        """Return whether the caller may delete `thing`; operators' items only by operators."""
        return self._operates or (self.changes(thing) and not thing.by_operator)

    def covers(self, thing: "DerivedItem") -> bool:
        """Return whether all people who may see `thing` were present for the change's content."""
        content = self.content or self.readers
        return content is None or may_show(content, thing.shown_to)


class Reach(Readers):
    """The scopes and the readers that decide which of an agent's items a caller may find."""

    tenant: Tenant
    agent_id: Identifier
    scopes: tuple[str | None, ...] = (None,)

    @property
    def partition(self) -> str:
        """The partition of the reach's first scope; lists show only this scope's items."""
        return owned_partition(self.tenant, self.agent_id, self.scopes[0])

    def at(self, scope: str | None) -> Self:
        """Return this reach, limited to one scope."""
        return Reach.model_copy(self, update={"scopes": (scope,)})


class DerivedItem(Stored):
    """An item that an agent made, or an operator made for it, with its provenance.

    Attributes:
        TEXTS: The attributes with free text, in which people may be named.
        WORKED_ON: Whether operators give agents items of this kind to work on.
        agent_id: The agent that owns the item; None for a document of a chat.
        audience: The people who were present when the item was made. They may see the item.
        authors: The people whose messages the model call was shown, as digests; see `provenance`.
        source_chat_id: The chat in which the item was made, if it was made in one.
        by_operator: Whether an operator made or confirmed the item.
        public: Whether an operator marked the item as public, for kinds that can be public.
        updated_at: The last change, for kinds that record it.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ()
    WORKED_ON: ClassVar[bool] = False

    tenant: Tenant
    agent_id: Identifier | None = None
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    made_from: StoredMadeFrom = NOTHING
    source_chat_id: Identifier | None = None
    source_run_id: Identifier | None = None
    by_operator: ByOperator = False
    public: StoredPublic = False
    created_at: Instant
    updated_at: Instant | None = None

    @property
    def shown_to(self) -> Audience:
        """The audience of the item; a private item stays private even if it is marked as public."""
        return PUBLIC if self.public and self.audience.open else self.audience

    @property
    def home(self) -> str | None:
        """The chat in which the item was made, whose members may change it; None for no chat."""
        return self.source_chat_id

    @property
    def trusted(self) -> bool:
        """Whether an operator wrote all text of the item; False if agents may have worked on it."""
        return self.by_operator and not self.WORKED_ON

    @property
    def texts(self) -> tuple[str | None, ...]:
        return tuple(getattr(self, name) for name in self.TEXTS)

    def indexed(self) -> Item:
        """Return the item as table attributes, with its keys in the index by source chat."""
        keys = made_keys(self.tenant, self.agent_id, self.made_from.chats, rfc3339(self.created_at))
        return self.attributes() | keys


class OwnedItem(DerivedItem):
    """An item of an agent, in one of its scopes; see `owned_partition`."""

    agent_id: Identifier
    scope: str | None = None
