"""Name index: the words of people's names, by which operators find people."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Stored, Tenant, key_part
from skein.models.common.storage import META, Item, Key, SortKeyPrefix

NAME = SortKeyPrefix("NAME#")


class NameWord(Stored):
    """A row of the name index: one word of a person's name.

    Attributes:
        word: The word, without case and accents.
        words: All indexed words of the name.
        late: Whether a search has added the row, for a person from before the index.
    """

    tenant: Tenant
    user_id: Identifier
    word: str
    words: tuple[str, ...]
    late: Annotated[bool, Field(exclude_if=lambda late: not late)] = False

    @staticmethod
    def key_of(tenant: str, word: str, user_id: str) -> Key:
        """Return the key of a word of a person's name."""
        return Key(names_partition(tenant), f"{NAME}{key_part(word)}#{key_part(user_id)}")

    @property
    def key(self) -> Key:
        """The key of this row."""
        return self.key_of(self.tenant, self.word, self.user_id)

    def to_item(self) -> Item:
        """Return the row as table attributes."""
        return self.attributes()


class NameIndex(Stored):
    """How far the people from before the name index are indexed.

    Attributes:
        after: The id of the last person who was indexed, in the order of ids.
        done: Whether all people are indexed.
    """

    tenant: Tenant
    after: str = ""
    done: bool = False

    @staticmethod
    def key_of(tenant: str) -> Key:
        """Return the key of the state of a tenant's name index."""
        return Key(names_partition(tenant), META)

    @property
    def key(self) -> Key:
        """The key of this state."""
        return self.key_of(self.tenant)

    def to_item(self) -> Item:
        """Return the state as table attributes."""
        return self.attributes()


def names_partition(tenant: str) -> str:
    """Return the partition key of a tenant's name index."""
    return f"{key_part(tenant)}#NAMES"
