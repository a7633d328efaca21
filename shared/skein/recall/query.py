"""Preparation of a query: its words, its people and its time."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo

from skein.models.common.person_names import untagged
from skein.ports import Embeddings, Vocabulary
from skein.recall.questions import asks_time
from skein.recall.ranking import RecallQuery
from skein.recall.rare_words import MAX_LETTERS, rare_stems
from skein.recall.time_phrases import TimePhrase, time_range_in
from skein.services.common.words import fillers, stems_of

MAX_QUERY = 2_000  # characters of a query that are used
MAX_LOOKED_UP = 20  # stems of a query whose postings are read
MIN_NAME = 2  # minimum number of letters in a part of a name
# Words about the conversation itself. A query with only these and a time asks about that time.
_TALK = (
    "talk talked talking discuss discussed say said tell told speak spoke chat chatted mention"
    " mentioned happen happened going remember recall write wrote message messages conversation"
    " thing things new did do doing done"
)
# Greetings and fillers, which never help to find a message.
_SMALL_TALK = (
    "ok okay yes yeah yep no nope hi hello hey thanks thank thx please sure great good nice cool"
    " fine bye welcome morning evening night sorry wow lol haha"
)

# Other words of small talk. They help to find a message, so only the check whether recall is needed
# leaves them out.
_IDLE = (
    "day week weekend tired bored busy moment second funny quick kind sweet lovely perfect"
    " brilliant super happy holidays congratulations appreciate understood exactly agree sense"
    " help helps helped smile back later soon afternoon care enjoy best cheered sleep chats"
    " right nothing long time let think sound sounds makes made see seen missed perhaps done"
    " enough forget apologies delay glad hear way rock one today tonight tomorrow next"
)
MIN_STEMS = 2  # stems from which on a statement may need an old message
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query, ready to search with.

    Attributes:
        query: The query that messages are compared with.
        looked_up: The stems whose postings are read, rare ones first.
        during: The time range that the query names; messages of that time rank higher.
        only_during: Whether the query has only a time, so that all messages of that time match.
    """

    query: RecallQuery
    looked_up: tuple[str, ...]
    during: TimePhrase | None = None
    only_during: bool = False

    @property
    def says_something(self) -> bool:
        """Whether the query contains a word or a time that can be searched for."""
        return bool(self.query.stems) or self.during is not None


@dataclass(frozen=True, slots=True)
class QueryReader:
    """Builds queries from texts."""

    embeddings: Embeddings
    vocabulary: Vocabulary

    def prepared(
        self,
        text: str,
        names: Mapping[str, str],
        now: datetime,
        zone: ZoneInfo,
        *,
        before: PreparedQuery | None = None,
    ) -> PreparedQuery:
        """Prepare a query.

        Args:
            text: The text of the query; only its first 2,000 characters count.
            now: The present, from which "last March" is counted.
            before: The same query, prepared with fewer names. It is returned if both name the same
                people.
        """
        text = text[:MAX_QUERY]
        during = time_range_in(text, now, zone)
        if during is not None:
            text = text.replace(during.phrase, " ", 1)
        named = people_named(text, names)
        if before is not None and before.query.sender_ids == frozenset(named):
            return before
        rest = without_names(text, (names[person] for person in named))
        stems = frozenset(stems_of(rest)) - _stems_of_words(_SMALL_TALK)
        only_during = during is not None and not stems - _stems_of_words(_TALK)
        [meaning] = self.embeddings.embed([rest])
        rare = [stem for stem in rare_stems(rest, self.vocabulary) if stem in stems]
        others = sorted(stems - set(rare), key=lambda stem: (-len(stem), stem))
        posted = (stem for stem in (*rare, *others) if len(stem) <= MAX_LETTERS)
        query = RecallQuery(
            meaning.vector,
            stems,
            frozenset(named),
            asks_time(text),
            (during.first_at, during.last_at) if during is not None else None,
        )
        looked_up = tuple(islice(posted, MAX_LOOKED_UP))
        return PreparedQuery(query, looked_up, during, only_during)


def needs_recall(text: str) -> bool:
    """Return whether an answer to a text may need old messages. Small talk does not need any.

    A question needs recall if at least one of its words is not small talk. Any other text needs
    recall if at least two of its words are not small talk.
    """
    stems = frozenset(stems_of(text)) - _stems_of_words(f"{_SMALL_TALK} {_TALK} {_IDLE}")
    asks = any(ends_with_question(line) for line in text.splitlines())
    return len(stems) >= (1 if asks else MIN_STEMS)


def ends_with_question(text: str) -> bool:
    """Return whether the last sentence of a text is a question."""
    return text.rstrip().endswith(_QUESTION_MARKS)


def people_named(text: str, names: Mapping[str, str]) -> list[str]:
    """Return the ids of the people that a text names by their whole name or a part of it.

    A name must be written with its capital letters, so that `will` is not Will. In a text without
    any capital letter, names in lower case also count.
    """
    plain = not any(character.isupper() for character in text)
    words = set(_words(text.casefold() if plain else text))
    named = []
    for person, name in names.items():
        own = untagged(name)
        parts = [part for part in _words(own.casefold() if plain else own) if _counts(part)]
        if words.intersection(parts) - (fillers() if plain else frozenset()):
            named.append(person)
    return named


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a text with the parts of names replaced by spaces."""
    parts = {part for name in names for part in _words(untagged(name)) if _counts(part)}
    if not parts:
        return text
    either = "|".join(sorted(map(re.escape, parts), key=len, reverse=True))
    return re.sub(rf"\b(?:{either})\b", " ", text, flags=re.IGNORECASE)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def _counts(part: str) -> bool:
    """Return whether a part of a name is enough to identify the person."""
    return len(part) >= MIN_NAME and not part.isdigit()


@lru_cache(maxsize=4)
def _stems_of_words(words: str) -> frozenset[str]:
    return frozenset(stems_of(words))
