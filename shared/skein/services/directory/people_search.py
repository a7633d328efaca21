"""Search for people by name, over the name index.

The name index has a row for each word of a person's name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import StringConstraints

from skein.errors import Invalid
from skein.models.common.storage import HIGHEST_KEY, Page, Query
from skein.models.directory.user import NAME, NameWord, User, names_partition
from skein.ports import Table
from skein.services.common.pagination import DEFAULT_PAGE, FOREIGN, ROWS, Cursor, Listing
from skein.services.directory.name_index import name_words

MAX_STEPS = 5  # pages of a search, with reads of 100 rows each
MAX_COMPARED = 4  # words of a search; the word with the fewest rows is used

Position = Annotated[str, StringConstraints(max_length=300)]


class NameCursor(Cursor):
    """The position of a search for people.

    Attributes:
        row: The sort key of the last row that was read; None at the start of the name index.
    """

    of: Literal["names"] = "names"
    row: Position | None = None


Hits = list[tuple[NameCursor, User]]
Step = tuple[Hits, NameCursor | None]  # the people found, and where the next step starts


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSearch:
    """Searches people by the start of the words in their names, or by id."""

    table: Table

    def find(
        self, tenant: str, text: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[User]:
        """Return a page of people whose names match a text.

        Each word of `text` must be the beginning of a word of the name. If `text` is the full id of
        a person, the first page begins with this person. A page may have fewer than `limit` people,
        even if more pages follow.

        Args:
            text: The words, or an id.

        Raises:
            Invalid: The cursor does not belong to this search.
        """
        at = NameCursor.decode(cursor) if cursor is not None else NameCursor()
        own = self._with_id(tenant, text.strip())
        found = {user.id: user for user in own if cursor is None}
        hidden = {user.id for user in own}
        for count, (hits, end) in enumerate(self._steps(tenant, name_words(text), at.row), 1):
            for position, user in hits:
                if len(found) == limit:
                    return _listing(found, at)
                if user.id not in hidden:
                    found[user.id] = user
                at = position
            if end is None:
                return _listing(found, None)
            at = end
            if count == MAX_STEPS or len(found) == limit:
                return _listing(found, at)
        return _listing(found, None)

    def _with_id(self, tenant: str, user_id: str) -> list[User]:
        user = User.read(self.table, User.key_of(tenant, user_id))
        return [user] if user is not None and user.erasure_id is None else []

    def _steps(self, tenant: str, wanted: Sequence[str], after: str | None) -> Iterator[Step]:
        """Yield, for each page of index rows, the people found and where the next page starts."""
        if not wanted:
            return
        if after is None:
            word, page = self._rarest(tenant, wanted)
        else:
            word = _word_of(after, wanted)
            page = self._rows(tenant, word, after)
        while True:
            rows = [row for row in NameWord.each_of(page.items) if row.key.sk != after]
            last = rows[-1].key.sk if rows and page.next_start is not None else None
            yield self._people(word, wanted, rows), NameCursor(row=last) if last else None
            if last is None:
                return
            after = last
            page = self._rows(tenant, word, after)

    def _rarest(self, tenant: str, wanted: Sequence[str]) -> tuple[str, Page]:
        """Return the search word with the fewest index rows, and its first page.

        If no word has all its rows on one page, the longest word is used.
        """
        longest = sorted(wanted, key=len, reverse=True)[:MAX_COMPARED]
        pages = [(word, self._rows(tenant, word, None)) for word in longest]
        whole = [each for each in pages if each[1].next_start is None]
        return min(whole, key=lambda each: len(each[1].items)) if whole else pages[0]

    def _rows(self, tenant: str, word: str, after: str | None) -> Page:
        first, last = f"{NAME}{word}", f"{NAME}{word}{HIGHEST_KEY}"
        return self.table.query(
            Query(names_partition(tenant), first=after or first, last=last, limit=ROWS)
        )

    def _people(self, word: str, wanted: Sequence[str], rows: Sequence[NameWord]) -> Hits:
        """Return the people of the index rows whose current names match.

        A name has a row for each of its words. A person with several matching rows is returned only
        once.
        """
        matching = [
            row
            for row in rows
            if _matches(row.words, wanted)
            and row.word == min(each for each in row.words if each.startswith(word))
        ]
        keys = [User.key_of(row.tenant, row.user_id) for row in matching]
        items = self.table.get_many(keys) if keys else {}
        return [
            (NameCursor(row=row.key.sk), User.must_read(items, key))
            for row, key in zip(matching, keys, strict=True)
            if key in items and row.word in _words_of(User.must_read(items, key))
        ]


def _listing(found: dict[str, User], at: NameCursor | None) -> Listing[User]:
    return Listing(tuple(found.values()), at.encode() if at is not None else None)


def _words_of(user: User) -> tuple[str, ...]:
    return name_words(user.name) if user.erasure_id is None else ()


def _matches(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return all(any(word.startswith(each) for word in words) for each in wanted)


def _word_of(row: str, wanted: Sequence[str]) -> str:
    """Return the search word that an index row belongs to.

    Raises:
        Invalid: The row belongs to another search.
    """
    fitting = [word for word in wanted if row.startswith(f"{NAME}{word}")]
    if not fitting:
        raise Invalid(FOREIGN)
    return max(fitting, key=len)
