"""Writes of the name index, for the transaction that changes a person's name."""

import unicodedata
from collections.abc import Iterable

from skein.models.common.storage import Delete, Put, Write
from skein.models.directory.user import NameWord, User
from skein.services.common.words import words_of

MAX_WORDS = 16  # words of a name that are indexed; further words are not found
MAX_WORD_CHARACTERS = 32


def name_words(name: str) -> tuple[str, ...]:
    """Return the first 16 distinct words of a name, without case and accents."""
    split = unicodedata.normalize("NFD", name)
    plain = "".join(each for each in split if unicodedata.category(each) != "Mn")
    found = (word[:MAX_WORD_CHARACTERS] for word in words_of(unicodedata.normalize("NFC", plain)))
    return tuple(dict.fromkeys(found))[:MAX_WORDS]


def indexed(user: User) -> list[Write]:
    """Return the writes that add a person to the name index."""
    words = name_words(user.name)
    rows = (NameWord(tenant=user.tenant, user_id=user.id, word=word, words=words) for word in words)
    return [Put(row.key, row.to_item()) for row in rows]


def unindexed(user: User) -> list[Write]:
    """Return the writes that take a person out of the name index."""
    return word_deletions(user.tenant, user.id, name_words(user.name))


def reindexed(before: User, after: User) -> list[Write]:
    """Return the writes for a person's new name; empty if the name has not changed."""
    if before.name == after.name:
        return []
    words = name_words(after.name)
    gone = [word for word in name_words(before.name) if word not in words]
    return [*indexed(after), *word_deletions(before.tenant, before.id, gone)]


def word_deletions(tenant: str, user_id: str, words: Iterable[str]) -> list[Write]:
    return [Delete(NameWord.key_of(tenant, word, user_id)) for word in words]
