"""Cache token counts, because consecutive prompts share most of their text."""

from hashlib import blake2b
from operator import attrgetter
from threading import Lock

from cachetools import LRUCache, cachedmethod

from skein.ports import ModelTokens

MAX_BYTES = 32_000_000

DIGEST_BYTES = 16
SALT_BYTES = 8  # the salt gives the count and each cut of a text a key of its own
ENTRY_BYTES = 450  # bytes per entry of a full cache, at most
COUNT = -1  # in place of the size of a cut: count all tokens of the text


class RememberedTokens:
    """Token counter with a least-recently-used cache of token counts and cut positions.

    The key of the cache is a digest of the text. So long texts take no more memory than short
    texts, and the cache stores no text of a person.

    Args:
        counter: The counter whose results are cached.
        max_bytes: The memory limit of the cache.
    """

    def __init__(self, counter: ModelTokens, max_bytes: int = MAX_BYTES) -> None:
        self._counter = counter
        self._known: LRUCache[bytes, int] = LRUCache(max_bytes // ENTRY_BYTES)
        self._lock = Lock()  # every lookup changes the order of the entries

    def for_model(self, model: str) -> "RememberedTokens":
        """Return the token counter of a model; it shares this cache and its memory limit."""
        counter = self._counter.for_model(model)
        if counter is self._counter:
            return self
        other = RememberedTokens(counter, 0)
        other._known, other._lock = self._known, self._lock
        return other

    @property
    def encoding(self) -> str:
        """The name of the tokenizer's encoding."""
        return self._counter.encoding

    def count(self, text: str) -> int:
        return self._measured(text, COUNT)

    def cut(self, text: str, tokens: int) -> str:
        """Return the longest prefix of `text` that has at most `tokens` tokens."""
        return text[: self._measured(text, tokens)]

    def _digest(self, text: str, cut: int) -> bytes:
        """Return the cache's key: a 16-byte digest of `text`, `cut` and the encoding's name."""
        return blake2b(
            text.encode(errors="surrogatepass"),
            digest_size=DIGEST_BYTES,
            salt=(cut - COUNT).to_bytes(SALT_BYTES),
            person=self._counter.encoding.encode(),
        ).digest()

    @cachedmethod(attrgetter("_known"), key=_digest, lock=attrgetter("_lock"))
    def _measured(self, text: str, cut: int) -> int:
        """Count a text's tokens if `cut` is `COUNT`; else the characters of `cut` tokens."""
        return self._counter.count(text) if cut == COUNT else len(self._counter.cut(text, cut))
