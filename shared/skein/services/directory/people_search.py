"""Search for people by name, over the name index.

The name index has a row for each word of a person's name. People who were stored before the index
are indexed by the searches themselves, a few hundred each, until all are.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from pydantic import StringConstraints

from skein.errors import ConditionFailed, Invalid
from skein.models.common.storage import (
    HIGHEST_KEY,
    MAX_TRANSACTION_ITEMS,
    Check,
    Is,
    Key,
    Missing,
    Page,
    Put,
    Query,
    Write,
    any_of,
)
from skein.models.directory.name_index import NAME, NameIndex, NameWord, names_partition
from skein.models.directory.user import User, users_relation
from skein.ports import Clock, Table
from skein.services.common.name_index import indexed, name_words
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    FOREIGN,
    ROWS,
    Cursor,
    Listing,
    rows_after,
)

MAX_STEPS = 5  # of a page: reads of 100 rows or people
MAX_COMPARED = 4  # words of a search whose numbers of rows are compared

Position = Annotated[str, StringConstraints(max_length=300)]


class NameCursor(Cursor):
    """The position of a search for people.

    Attributes:
        row: The sort key of the last row of the name index; None at its start.
        user: The id of the last searched person outside of the index; None within the index.
    """

    of: Literal["names"] = "names"
    row: Position | None = None
    user: Position | None = None


Hits = list[tuple[NameCursor, User]]
Step = tuple[Hits, NameCursor | None]  # the people found, and where the next step starts


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSearch:
    """The search for people by the beginnings of the words of their names, or by id."""

    table: Table
    clock: Clock

    def find(
        self, tenant: str, text: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[User]:
        """Find a page of people; each word of the text must begin a word of their names.

        The first page begins with the person who has exactly this id. Pages may be short. While
        people from before the index are being indexed, a later page may repeat a person.

        Args:
            tenant: The owner of the records.
            text: The words, or an id.
            limit: The most people to return.
            cursor: The `next_cursor` of the previous page.

        Raises:
            Invalid: The cursor does not belong to this search.
        """
        at = NameCursor.decode(cursor) if cursor is not None else NameCursor()
        own = self._with_id(tenant, text.strip())
        found = {user.id: user for user in own if cursor is None}
        hidden = {user.id for user in own}
        for count, (hits, end) in enumerate(self._steps(tenant, name_words(text), at), 1):
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
        item = self.table.get(User.key_of(tenant, user_id))
        user = User.from_item(item) if item is not None else None
        return [user] if user is not None and user.erasure_id is None else []

    def _steps(self, tenant: str, wanted: Sequence[str], at: NameCursor) -> Iterator[Step]:
        if not wanted:
            return
        if at.user is not None:
            yield from self._unindexed_people(tenant, wanted, at.user)
            return
        for hits, row in self._in_index(tenant, wanted, at.row):
            if row is not None:
                yield hits, NameCursor(row=row)
                continue
            state = self._state(tenant)
            if state.done:
                yield hits, None
                return
            yield hits, NameCursor(user=state.after)
            yield from self._unindexed_people(tenant, wanted, state.after)

    # ------------------------------------------------------------------ within the index

    def _in_index(
        self, tenant: str, wanted: Sequence[str], after: str | None
    ) -> Iterator[tuple[Hits, str | None]]:
        """Yield the people of each page of rows, and the sort key after which the next starts."""
        if after is None:
            word, page = self._rarest(tenant, wanted)
        else:
            word = _word_of(after, wanted)
            page = self._rows(tenant, word, after)
        while True:
            rows = [row for row in map(NameWord.from_item, page.items) if row.key.sk != after]
            last = rows[-1].key.sk if rows and page.next_start is not None else None
            yield self._people(word, wanted, rows), last
            if last is None:
                return
            after = last
            page = self._rows(tenant, word, after)

    def _rarest(self, tenant: str, wanted: Sequence[str]) -> tuple[str, Page]:
        """Return the word with the fewest rows and its first page; else the longest word."""
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
        """Return the people of the rows whose names match; their records decide.

        A name with two words that match has two rows, of which the first counts.
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
            (NameCursor(row=row.key.sk), User.from_item(items[key]))
            for row, key in zip(matching, keys, strict=True)
            if key in items and row.word in _words_of(User.from_item(items[key]))
        ]

    # ------------------------------------------------------------------ outside of the index

    def _unindexed_people(self, tenant: str, wanted: Sequence[str], after: str) -> Iterator[Step]:
        """Search and index the people who were stored before the index, in the order of ids."""
        while True:
            rows = rows_after(
                self.table, users_relation(tenant), after or None, limit=ROWS, newest_first=False
            )
            keys = [Key(row["pk"], row["sk"]) for row in rows]
            items = self.table.get_many(keys) if keys else {}
            users = self._index_missing(
                [User.from_item(items[key]) for key in keys if key in items]
            )
            last = str(rows[-1]["gsi1sk"]) if len(rows) == ROWS else None
            self._advance(tenant, after, last)
            hits = [
                (NameCursor(user=user.id), user)
                for user in users
                if _matches(_words_of(user), wanted)
            ]
            yield hits, NameCursor(user=last) if last is not None else None
            if last is None:
                return
            after = last

    def _index_missing(self, users: Sequence[User]) -> list[User]:
        """Index the people who are missing in the index; return those stored before the index."""
        first = {
            NameWord.key_of(user.tenant, words[0], user.id): user
            for user in users
            if (words := _words_of(user))
        }
        rows = self.table.get_many(list(first)) if first else {}
        self._index([user for key, user in first.items() if key not in rows])
        return [
            user
            for key, user in first.items()
            if key not in rows or NameWord.from_item(rows[key]).late
        ]

    def _index(self, users: Sequence[User]) -> None:
        for batch in _batches(users):
            try:
                self.table.transact(_additions(batch))
            except ConditionFailed:  # a record has changed since it was read
                for user in batch:
                    optimistic(self.clock, partial(self._index_again, user.key))

    def _index_again(self, key: Key) -> None:
        item = self.table.get(key)
        writes = _additions([User.from_item(item)]) if item is not None else []
        if writes:
            self.table.transact(writes)

    def _state(self, tenant: str) -> NameIndex:
        item = self.table.get(NameIndex.key_of(tenant))
        return NameIndex.from_item(item) if item is not None else NameIndex(tenant=tenant)

    def _advance(self, tenant: str, start: str, last: str | None) -> None:
        """Record that the people up to `last`, or all, are indexed; a faster search wins."""
        state = self._state(tenant)
        if state.done or start > state.after or (last is not None and last <= state.after):
            return
        further = NameIndex(tenant=tenant, after=last or state.after, done=last is None)
        as_read = any_of(Missing(), Is("after", state.after))
        with suppress(ConditionFailed):
            self.table.write(Put(further.key, further.to_item(), as_read))


def _additions(users: Sequence[User]) -> list[Write]:
    """Return the writes that index people, on condition that their records are as read."""
    writes: list[Write] = []
    for user in users:
        if user.erasure_id is None:
            writes.extend([Check(user.key, Is("version", user.version)), *indexed(user, late=True)])
    return writes


def _batches(users: Sequence[User]) -> Iterator[list[User]]:
    """Split people into batches, each of which fits in one transaction."""
    batch: list[User] = []
    writes = 0
    for user in users:
        own = len(_additions([user]))
        if batch and writes + own > MAX_TRANSACTION_ITEMS:
            yield batch
            batch, writes = [], 0
        batch.append(user)
        writes += own
    if batch:
        yield batch


def _listing(found: dict[str, User], at: NameCursor | None) -> Listing[User]:
    return Listing(tuple(found.values()), at.encode() if at is not None else None)


def _words_of(user: User) -> tuple[str, ...]:
    return name_words(user.name) if user.erasure_id is None else ()


def _matches(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether each wanted word begins one of the words."""
    return all(any(word.startswith(each) for word in words) for each in wanted)


def _word_of(row: str, wanted: Sequence[str]) -> str:
    """Return the word of a search to which a row of the index belongs.

    Raises:
        Invalid: The row belongs to another search.
    """
    fitting = [word for word in wanted if row.startswith(f"{NAME}{word}")]
    if not fitting:
        raise Invalid(FOREIGN)
    return max(fitting, key=len)
