"""Documents: named texts of an agent or a chat, and where they are stored."""

import hashlib
import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from skein.models.chats.chat import chat_partition
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.effects import effect_key
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.visibility.ownership import DerivedItem, Readers, owned_partition

MAX_DOCUMENT_BYTES = 256 * 1024
MAX_PINNED = 5  # pinned documents of an agent, per scope
MAX_OF_CHAT = 10
MAX_SOURCES = 100  # chats in which one document was written

LISTS = "LIST#"  # sorts between goals and plans, so that a prompt's query reads it
PINS = f"{LISTS}PINNED"
RENAMED = SortKeyPrefix("RENAMED#")
DEFAULT_MEDIA_TYPE = "text/markdown"
ID_PATTERN = re.compile(r"doc_[0-9a-f]{26}")


def _name(text: str) -> str:
    """Check that a name is one line of printable characters and not a document id.

    Raises:
        ValueError: The name is not printable, or looks like a document id.
    """
    if not text.isprintable():
        raise ValueError("a name must be one line of visible characters")
    if ID_PATTERN.fullmatch(text):
        raise ValueError("a name must not look like a document id")
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
    """A place for documents: one scope of an agent, or a chat.

    Attributes:
        agent_id: The agent that owns the documents; None for a chat's.
        scope: The scope of the agent's documents; see `owned_partition`.
        chat_id: The chat that owns the documents; None for an agent's.
    """

    tenant: Tenant
    agent_id: Identifier | None = None
    scope: str | None = None
    chat_id: Identifier | None = None

    @model_validator(mode="after")
    def _one_owner(self) -> Self:
        if (self.agent_id is None) == (self.chat_id is None):
            raise ValueError("a document belongs to either an agent or a chat")
        return self

    @property
    def partition(self) -> str:
        """The key of the partition that holds the documents."""
        if self.chat_id is not None:
            return chat_partition(self.tenant, self.chat_id)
        return owned_partition(self.tenant, self.agent_id or "", self.scope)

    @property
    def is_open(self) -> bool:
        """Whether the folder is the open scope of an agent."""
        return self.chat_id is None and self.scope is None

    def key(self, name: str) -> Key:
        """Return the key of the document with this name or id."""
        return Key(self.partition, f"{Document.PREFIX}{Document.id_of(name)}")

    @property
    def pins_key(self) -> Key:
        """The key of the list of an agent's pinned documents.

        The pinned documents of a chat are listed on the chat's item. The query that reads an
        agent's goals, live runs and plans also reads the agent's list.
        """
        return Key(self.partition, PINS)

    def renamed_key(self, name: str) -> Key:
        """Return the key of the `RenamedDocument` with this old name."""
        return Key(self.partition, f"{RENAMED}{Document.id_of(name)}")

    def effect_key(self, effect: str) -> Key:
        """Return the key under which an effect on one of the documents is recorded."""
        return effect_key(self.partition, effect)


class Document(DerivedItem):
    """A named text of an agent or a chat.

    Attributes:
        scope: The scope of the agent's document; see `owned_partition`.
        chat_id: The chat that owns the document. Every agent that reads the chat sees the document.
        audience: The people who were present for all sources of the document.
        made_from: The combined sources of all writes.
        source_chat_id: The chat in which the document was made; None if an API call or a run
            without a chat made it.
        name: One line, unique in the folder.
        text: At most 256 KiB of UTF-8.
        pinned: Whether this is a pinned document, which prompts always show; `global` in the API.
        version: The optimistic lock: starts at 1, and every change raises it.
        generation: A new value for each new document, even if one of the same name was deleted.
    """

    PREFIX: ClassVar = SortKeyPrefix("DOC#")
    TEXTS: ClassVar = ("name", "text")
    WORKED_ON: ClassVar = True

    scope: str | None = None
    chat_id: Identifier | None = None
    name: DocumentName
    media_type: MediaType = DEFAULT_MEDIA_TYPE
    text: str = ""
    pinned: bool = False
    version: Annotated[int, Field(ge=1)] = 1
    generation: str = ""
    updated_at: Instant

    @staticmethod
    def id_of(name: str) -> str:
        """Return the document id of a name; an id is returned unchanged."""
        if ID_PATTERN.fullmatch(name):
            return name
        return f"doc_{hashlib.sha256(name.strip().encode(errors='surrogatepass')).hexdigest()[:26]}"

    @property
    def id(self) -> str:
        """The document's id, which is derived from its name."""
        return self.id_of(self.name)

    @property
    def home(self) -> str | None:
        """The chat that owns the document, or in which it was made."""
        return self.chat_id or self.source_chat_id

    @property
    def folder(self) -> Folder:
        return Folder(
            tenant=self.tenant, agent_id=self.agent_id, scope=self.scope, chat_id=self.chat_id
        )

    @property
    def key(self) -> "Key[Document]":
        return self.folder.key(self.name)

    @property
    def listed(self) -> bool:
        """Whether the document is in a list: it is pinned, or a chat owns it."""
        return self.pinned or self.chat_id is not None

    def to_item(self) -> Item:
        """Return the table attributes, which also list the document by its source chat."""
        return self.indexed()


class PinnedDocuments(Stored):
    """The list of an agent's pinned documents in one folder, which saves prompts a query.

    Attributes:
        documents: The ids of the documents, in the order in which they were pinned.
        version: The optimistic lock: every change raises it.
    """

    documents: tuple[str, ...] = ()
    version: int = 0

    @classmethod
    def from_optional(cls, item: Item | None) -> Self:
        """Return the list of pinned documents that `item` stores, or an empty list."""
        return cls() if item is None else cls.from_item(item)


class RenamedDocument(Stored):
    """The record of a document that a merge of users renamed, until its threads use the new name.

    Attributes:
        old: The document's old name.
        new: The document's new name.
    """

    old: str
    new: str

    @property
    def by_old(self) -> dict[str, str]:
        """The new name, keyed by the old name; empty if both are the same."""
        return {self.old: self.new} if self.old != self.new else {}


def listed_with(ids: tuple[str, ...], document_id: str, *, listed: bool) -> tuple[str, ...]:
    """Add `document_id` to the end of the ids, or remove it if not `listed`."""
    if listed:
        return ids if document_id in ids else (*ids, document_id)
    return tuple(each for each in ids if each != document_id)


ChangeKind = Literal["created", "changed", "deleted"]


class DocumentEffect(Stored):
    """The result of a document change. Its record also makes the change idempotent.

    Attributes:
        version: The new version; the last version of a deleted document.
        characters: The new length of the text, in characters.
    """

    change: ChangeKind
    name: str
    version: int
    characters: int


class DocumentReach(Readers):
    """The folders in which documents are found, and the readers who must be allowed to see them.

    Attributes:
        folders: The folders to search; a document hides a document of the same name in a later
            folder.
    """

    folders: Annotated[tuple[Folder, ...], Field(min_length=1, max_length=10)]
