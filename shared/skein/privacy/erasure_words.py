"""Find the words of an erased person in texts by others, and replace them with a placeholder.

Three kinds of words are found: literal quotes, ids with phone numbers, and full names. There is one
function for each kind, and the rules (`erasure_rules.py`) decide to which texts it applies. Only
free texts are searched, never stored values such as an enum.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise

from skein.models.common.address import Address

PLACEHOLDER = "[erased]"
QUOTED_WORDS = 5  # consecutive words that count as a quote
NEVER = "(?!)"  # a pattern that matches nothing

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_BETWEEN_DIGITS = r"[\s().\-/]{0,2}"


def quotes_in(text: str) -> Iterator[int]:
    """Yield a 64-bit hash of every five consecutive words; case and punctuation are ignored."""
    words = [_plain(word) for word in _WORD.findall(text)]
    for start in range(len(words) - QUOTED_WORDS + 1):
        yield _hash(words[start : start + QUOTED_WORDS])


def without_quotes(text: str, quotes: Container[int]) -> str:
    """Return a text with each literal quote of five words or more replaced by the placeholder.

    Args:
        quotes: The hashes of everything that the person wrote; see `quotes_in`.
    """
    words = list(_WORD.finditer(text))
    plain = [_plain(word.group()) for word in words]
    quoted = [False] * len(words)
    for start in range(len(words) - QUOTED_WORDS + 1):
        if _hash(plain[start : start + QUOTED_WORDS]) in quotes:
            quoted[start : start + QUOTED_WORDS] = [True] * QUOTED_WORDS
    edges = [number for number, (a, b) in enumerate(pairwise([False, *quoted, False])) if a != b]
    for first, after in reversed(list(zip(edges[::2], edges[1::2], strict=True))):
        text = text[: words[first].start()] + PLACEHOLDER + text[words[after - 1].end() :]
    return text


def pattern_of_ids(ids: Iterable[str], addresses: Iterable[Address]) -> re.Pattern[str]:
    """Return a pattern that finds ids and phone numbers as whole words.

    A phone number is found with spaces, dots, hyphens or brackets between its digits. An id that
    consists only of letters is left out, because it may be a word.
    """
    spelled = [re.escape(each) for each in ids if not each.isalpha()]
    for own in addresses:
        number = own.address.removeprefix("+")
        known = rf"\+?{_BETWEEN_DIGITS.join(number)}" if number.isdigit() else ""
        spelled.append(known or re.escape(own.address))
    return _whole(spelled)


def pattern_of_names(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds full names as whole words.

    Names of one word are left out, because words such as "Will" and "Mark" also occur in other
    texts.
    """
    full = [name.split() for name in names if len(name.split()) > 1]
    full.sort(key=len, reverse=True)  # a tagged name comes before the name without its tag
    return _whole([r"\s+".join(map(re.escape, words)) for words in full])


def put_in(text: str, replace: Callable[[str], str]) -> str:
    """Apply a replacement to a text; a changed text always gets another length.

    Recall recognises a changed message by its length, and then drops the message's passages.
    """
    changed = replace(text)
    return f"{changed} " if changed != text and len(changed) == len(text) else changed


def _whole(texts: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(texts)})(?!\w)" if texts else NEVER, re.IGNORECASE)


def _plain(word: str) -> str:
    return word.casefold().replace("\u2019", "'")


def _hash(words: list[str]) -> int:
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest())
