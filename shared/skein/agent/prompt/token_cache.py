"""The token cache: consecutive prompts share most of their text, so counts are reused."""

from collections.abc import Callable
from copy import copy
from hashlib import blake2b
from threading import Lock

from cachetools import LRUCache

from skein.ports import ModelTokens

DIGEST_BYTES = 16
SALT_BYTES = 8  # the salt separates a text's cuts to several sizes, and its count
ENTRY_BYTES = 450  # the most that one count takes in a full cache, with its digest


class RememberedTokens:
    """Token counter with a least-recently-used cache of counts and cuts.

    The cache is keyed by a digest of the text. So a long text takes no more memory than a short
    one, and no person's words are kept.

    Args:
        counter: The counter behind the cache.
        max_bytes: The memory limit of the cache.
    """

    def __init__(self, counter: ModelTokens, max_bytes: int) -> None:
        self._counter = counter
        self._known: LRUCache[bytes, int] = LRUCache(max_bytes // ENTRY_BYTES)
        self._lock = Lock()  # every lookup changes the order of the entries

    def for_model(self, model: str) -> "RememberedTokens":
        """Return the counter of a model, which shares this cache and its memory limit."""
        counter = self._counter.for_model(model)
        if counter is self._counter:
            return self
        other = copy(self)
        other._counter = counter
        return other

    @property
    def encoding(self) -> str:
        """The name of the tokenizer's encoding."""
        return self._counter.encoding

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`."""
        return self._remembered(text, b"", lambda: self._counter.count(text))

    def cut(self, text: str, tokens: int) -> str:
        """Return the longest prefix of `text` that has at most `tokens` tokens."""
        salt = tokens.to_bytes(SALT_BYTES)
        return text[: self._remembered(text, salt, lambda: len(self._counter.cut(text, tokens)))]

    def _remembered(self, text: str, salt: bytes, found: Callable[[], int]) -> int:
        """Return the cached number of a text, or compute and cache the number."""
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
