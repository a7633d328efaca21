"""Token counts, remembered: most of a prompt has been counted for the one before it."""

from collections.abc import Callable
from copy import copy
from hashlib import blake2b
from threading import Lock

from cachetools import LRUCache

from skein.ports import ModelTokens

DIGEST_BYTES = 16
SALT_BYTES = 8  # by which cuts of one text to several sizes are told apart, and from its count
ENTRY_BYTES = 450  # what one count takes at most in a full cache, the digest that names it included


class RememberedTokens:
    """Counts and cuts each text once, as long as it is among those that were asked for last.

    A text is remembered by its digest, so that a long one takes no more memory than a short one,
    and nobody's words stay behind.

    Args:
        counter: Counts what is not remembered.
        max_bytes: The memory that the counts may take; the least recently used give way.
    """

    def __init__(self, counter: ModelTokens, max_bytes: int) -> None:
        self._counter = counter
        self._known: LRUCache[bytes, int] = LRUCache(max_bytes // ENTRY_BYTES)
        self._lock = Lock()  # a cache that orders its entries is changed by every look at it

    def for_model(self, model: str) -> "RememberedTokens":
        """The counter of a model, whose counts are remembered beside the others', in one bound."""
        counter = self._counter.for_model(model)
        if counter is self._counter:
            return self
        other = copy(self)
        other._counter = counter
        return other

    @property
    def encoding(self) -> str:
        """The name of the way in which it counts."""
        return self._counter.encoding

    def count(self, text: str) -> int:
        """How many tokens `text` is."""
        return self._remembered(text, b"", lambda: self._counter.count(text))

    def cut(self, text: str, tokens: int) -> str:
        """The longest prefix of `text` that is at most `tokens` tokens."""
        salt = tokens.to_bytes(SALT_BYTES)
        return text[: self._remembered(text, salt, lambda: len(self._counter.cut(text, tokens)))]

    def _remembered(self, text: str, salt: bytes, found: Callable[[], int]) -> int:
        """A number that belongs to a text: what is known of it, else what is found."""
        digest = blake2b(
            text.encode(errors="surrogatepass"),
            digest_size=DIGEST_BYTES,
            salt=salt,
            person=self._counter.encoding.encode(),
        ).digest()
        with self._lock:
            known = self._known.get(digest)
        if known is not None:
            return known
        number = found()
        if self._known.maxsize:
            with self._lock:
                self._known[digest] = number
        return number
