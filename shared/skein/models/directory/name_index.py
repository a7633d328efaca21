"""Name index: the words of people's names, with which operators find people."""

from skein.models.common.base import Identifier, Stored, Tenant, key_part
from skein.models.common.storage import Item, Key, SortKeyPrefix

NAME = SortKeyPrefix("NAME#")


class NameWord(Stored):
    """A row of the name index: one word of a person's name.

    Attributes:
        word: The word, without case and accents.
        words: All indexed words of the name.
    """

    tenant: Tenant
    user_id: Identifier
    word: str
    words: tuple[str, ...]

    @staticmethod
    def key_of(tenant: str, word: str, user_id: str) -> "Key[NameWord]":
        return Key(names_partition(tenant), f"{NAME}{key_part(word)}#{key_part(user_id)}")

    @property
    def key(self) -> "Key[NameWord]":
        return self.key_of(self.tenant, self.word, self.user_id)

    def to_item(self) -> Item:
        return self.attributes()


def names_partition(tenant: str) -> str:
    """Return the partition key of a tenant's name index."""
    return f"{key_part(tenant)}#NAMES"
