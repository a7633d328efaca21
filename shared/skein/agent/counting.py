"""Token counts, remembered: most of a prompt has been counted for the one before it."""

from hashlib import blake2b
from threading import Lock

from cachetools import LRUCache

from skein.ports import TokenCounter

DIGEST_BYTES = 16
ENTRY_BYTES = 450  # what one count takes at most in a full cache, the digest that names it included


class RememberedTokens:
    """Counts each text once, as long as it is among those that were asked for last.

    A text is remembered by its digest, so that a long one takes no more memory than a short one,
    and nobody's words stay behind.

    Args:
        counter: Counts what is not remembered.
        max_bytes: The memory that the counts may take; the least recently used give way.
    """

    def __init__(self, counter: TokenCounter, max_bytes: int) -> None:
        self._counter = counter
        self._known: LRUCache[bytes, int] = LRUCache(max_bytes // ENTRY_BYTES)
        self._lock = Lock()  # a cache that orders its entries is changed by every look at it

    def count(self, text: str) -> int:
        """How many tokens `text` is."""
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES).digest()
        with self._lock:
            known = self._known.get(digest)
        if known is not None:
            return known
        counted = self._counter.count(text)
        if self._known.maxsize:
            with self._lock:
                self._known[digest] = counted
        return counted

    def cut(self, text: str, tokens: int) -> str:
        """The longest prefix of `text` that is at most `tokens` tokens; not remembered."""
        return self._counter.cut(text, tokens)
