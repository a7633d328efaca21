"""Documents: named texts that an agent, or a chat, works on."""

import hashlib
import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from skein.models.audience import Audience, may_change, may_show
from skein.models.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.chat import chat_partition
from skein.models.ownership import effect_key_in, owned_partition
from skein.models.storage import Item, Key, SortKeyPrefix

MAX_DOCUMENT_BYTES = 256 * 1024
MAX_ON_SHOW = 5  # of an agent's, for each of its audiences
MAX_OF_CHAT = 10
MAX_SOURCES = 100  # chats in which one document was written

ALWAYS = "ON#"  # what a prompt must know at once, between an agent's goals and its plans
SHELF = f"{ALWAYS}SHELF"
OLD_SHELF = "SHELF"  # where versions before kept it
RENAMED = SortKeyPrefix("RENAMED#")
DEFAULT_MEDIA_TYPE = "text/markdown"
ID_PATTERN = re.compile(r"doc_[0-9a-f]{26}")


def _name(text: str) -> str:
    """A name on one line of what can be seen, which is no id.

    Raises:
        ValueError: It is not.
    """
    if not text.isprintable():
        raise ValueError("a name is one line of characters that can be seen")
    if ID_PATTERN.fullmatch(text):
        raise ValueError("a name may not look like a document's id")
    return text


DocumentName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_name),
]
MediaType = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]{0,49}/[a-z0-9][a-z0-9.+-]{0,99}$")
]


class Folder(Value):
    """Where documents are kept: an agent's open ones, its ones for one audience, or a chat's.

    Attributes:
        agent_id: Whose; None for a chat's.
        scope: Which of the agent's partitions; see `owned_partition`.
        chat_id: The chat that owns them; None for an agent's.
    """

    tenant: Tenant
    agent_id: Identifier | None = None
    scope: str | None = None
    chat_id: Identifier | None = None

    @model_validator(mode="after")
    def _one_owner(self) -> Self:
        if (self.agent_id is None) == (self.chat_id is None):
            raise ValueError("documents are an agent's or a chat's")
        return self

    @property
    def partition(self) -> str:
        """The partition that holds them."""
        if self.chat_id is not None:
            return chat_partition(self.tenant, self.chat_id)
        return owned_partition(self.tenant, self.agent_id or "", self.scope)

    @property
    def is_open(self) -> bool:
        """Whether it holds an agent's documents for everybody."""
        return self.chat_id is None and self.scope is None

    def key(self, name: str) -> Key:
        """Return the key of the document of this name, or of this id."""
        return Key(self.partition, f"{Document.PREFIX}{Document.id_of(name)}")

    @property
    def shelf_key(self) -> Key:
        """The key of the list of an agent's that are always on show; a chat's stands on the chat.

        It comes with the query that reads an agent's goals, live runs and plans.
        """
        return Key(self.partition, SHELF)

    def renamed_key(self, name: str) -> Key:
        """Return the key of what a document of this name is called where it has moved to."""
        return Key(self.partition, f"{RENAMED}{Document.id_of(name)}")

    def effect_key(self, effect: str) -> Key:
        """Return the key of the mark that an effect has been carried out on one of them."""
        return effect_key_in(self.partition, effect)


class Document(Stored):
    """A named text.

    Attributes:
        agent_id: The agent that owns it; None if a chat does.
        scope: Which of the agent's partitions holds it.
        chat_id: The chat that owns it; every agent that looks at the chat is shown it.
        audience: Who was there for all that went into it, and so may be shown it.
        source_chat_id: The chat in which it was last written; None by API or without a chat.
        chat_ids: All chats in which it was written, by which an erasure finds it.
        name: One line, unique where it is kept.
        text: At most 256 KiB of UTF-8.
        on_show: Shown whatever the agent is at; `global` in the API.
        version: 1, then raised by every change, which holds only for the version that it read.
        generation: New for each document that is made, also where one of its name was deleted.
    """

    PREFIX: ClassVar = SortKeyPrefix("DOC#")

    tenant: Tenant
    agent_id: Identifier | None = None
    scope: str | None = None
    chat_id: Identifier | None = None
    audience: Audience
    source_chat_id: Identifier | None = None
    source_run_id: Identifier | None = None
    chat_ids: tuple[Identifier, ...] = ()
    name: DocumentName
    media_type: MediaType = DEFAULT_MEDIA_TYPE
    text: str = ""
    on_show: bool = False
    version: Annotated[int, Field(ge=1)] = 1
    generation: str = ""
    created_at: Instant
    updated_at: Instant

    @staticmethod
    def id_of(name: str) -> str:
        """The id of the document of this name, the same wherever it is kept; an id is its own."""
        if ID_PATTERN.fullmatch(name):
            return name
        return f"doc_{hashlib.sha256(name.strip().encode(errors='surrogatepass')).hexdigest()[:26]}"

    @property
    def id(self) -> str:
        """Its id, which follows from its name."""
        return self.id_of(self.name)

    @property
    def folder(self) -> Folder:
        """Where it is kept."""
        return Folder(
            tenant=self.tenant, agent_id=self.agent_id, scope=self.scope, chat_id=self.chat_id
        )

    @property
    def key(self) -> Key:
        """The key of this document."""
        return self.folder.key(self.name)

    @property
    def listed(self) -> bool:
        """Whether it stands on its folder's shelf: on show, or a chat's."""
        return self.on_show or self.chat_id is not None

    def to_item(self) -> Item:
        """Return the document as table attributes."""
        return self.attributes()


class Shelf(Stored):
    """Which of an agent's documents in one folder are always on show, so that no query is needed.

    Attributes:
        documents: Their ids, in the order in which they were put there.
        version: Raised by every change, which holds only for the version that it read.
    """

    documents: tuple[str, ...] = ()
    version: int = 0

    @classmethod
    def found_in(cls, item: Item | None) -> Self:
        """The shelf of an item; an empty one where there is none."""
        return cls() if item is None else cls.from_item(item)


class Renamed(Stored):
    """That a document has moved under another name; kept until what lists it has moved, too.

    Attributes:
        old: Its name where this stands.
        new: Its name where it is now.
    """

    old: str
    new: str

    @property
    def by_old(self) -> dict[str, str]:
        """The new name by the old one, where they differ."""
        return {self.old: self.new} if self.old != self.new else {}


def listed_with(ids: tuple[str, ...], document_id: str, *, listed: bool) -> tuple[str, ...]:
    """The ids with this one among them, last if it is new there, or without it."""
    if listed:
        return ids if document_id in ids else (*ids, document_id)
    return tuple(each for each in ids if each != document_id)


Deed = Literal["created", "changed", "deleted"]


class Done(Stored):
    """What came of changing a document; also the mark that it was done.

    Attributes:
        name: Of the document.
        version: As it is now; as it was, if it is gone.
        characters: How long it is now.
    """

    deed: Deed
    name: str
    version: int
    characters: int


class DocumentReach(Value):
    """What documents somebody can get at.

    Attributes:
        folders: Where to look; of two documents of one name, the one in the earlier folder counts.
        place: Where they are shown, by which `may_show` decides; None for operators, who see all.
        content: The audience of everything that a change is made from; None if it is everybody at
            `place`. Operators may change all.
    """

    folders: Annotated[tuple[Folder, ...], Field(min_length=1, max_length=10)]
    place: Audience | None = None
    content: Audience | None = None

    def shows(self, document: Document) -> bool:
        """Whether it may be shown there."""
        return self.place is None or may_show(document.audience, self.place)

    def changes(self, document: Document) -> bool:
        """Whether it may be changed or deleted from there."""
        content = self.content or self.place
        return content is None or may_change(content, document.audience)

    @property
    def changes_open(self) -> bool:
        """Whether open documents may be changed from there."""
        content = self.content or self.place
        return content is None or content.open
