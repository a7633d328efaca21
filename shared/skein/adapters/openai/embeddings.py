"""Embeddings from the provider's API, with a fallback for queries if the API is unavailable."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from skein.errors import ModelRejected, Transient, Unavailable
from skein.models.common.embedding import Embedding, unit
from skein.models.common.vector_search import DIMENSIONS

if TYPE_CHECKING:
    from skein.adapters.openai.model import OpenAIModel
    from skein.ports import Clock, Embeddings

BATCH_TEXTS = 64
BATCH_BYTES = 200_000  # OpenAI accepts 300,000 tokens in a request; a token has at least one byte
TEXT_BYTES = 8_000  # OpenAI accepts 8,192 tokens of a text
INDEXING_SECONDS = 20.0
QUERY_SECONDS = 2.0  # short, because a caller waits for it
PAUSE = timedelta(seconds=30)
KEPT_TEXTS = 256  # cached, because the same query is embedded several times

NOTHING: Final = Embedding((0.0,) * DIMENSIONS, 0.0)

logger = logging.getLogger(__name__)


class OpenAIEmbeddings:
    """`Embeddings` from an OpenAI-compatible `/v1/embeddings`; texts are sent to the provider.

    Args:
        model: The client of the provider's API.
        name: The name of the embedding model; it must offer 256 dimensions.
        seconds: The time-out of a batch.
    """

    dimensions: Final = DIMENSIONS

    def __init__(self, model: OpenAIModel, name: str, *, seconds: float = INDEXING_SECONDS) -> None:
        self.name = name
        self._model = model
        self._seconds = seconds
        self._kept: OrderedDict[str, Embedding] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """See `skein.ports.Embeddings`. A text that the provider refuses gets an empty embedding.

        Raises:
            Transient: The provider is down, slow or throttling, refuses the key or does not know
                the model.
        """
        cut = [_cut(text) for text in texts]
        found: dict[str, Embedding] = {"": NOTHING}
        with self._lock:
            found |= {text: self._kept[text] for text in cut if text in self._kept}
        for batch in _batches([text for text in dict.fromkeys(cut) if text not in found]):
            found |= zip(batch, self._embedded(batch), strict=True)
        self._keep(found)
        return [found[text] for text in cut]

    def _embedded(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed one batch; if the provider refuses it, embed each text alone."""
        try:
            vectors = self._model.embeddings(
                self.name, texts, dimensions=DIMENSIONS, seconds=self._seconds
            )
        except ModelRejected:
            if len(texts) > 1:
                return [embedding for text in texts for embedding in self._embedded([text])]
            return [NOTHING]
        if any(len(vector) != DIMENSIONS for vector in vectors):
            raise Unavailable(f"{self.name} does not offer {DIMENSIONS} dimensions")
        return [
            # A longer text has a larger weight, like the mean of all its words.
            Embedding(unit(vector), float(len(text.split()) or 1))
            for text, vector in zip(texts, vectors, strict=True)
        ]

    def _keep(self, found: dict[str, Embedding]) -> None:
        with self._lock:
            self._kept |= found
            while len(self._kept) > KEPT_TEXTS:
                self._kept.popitem(last=False)


class QueryEmbeddings:
    """`Embeddings` of queries; empty if the provider fails, so that recall uses words only.

    After a failure, the provider is not called for 30 seconds. Otherwise, each prompt would have to
    wait for the provider.

    Args:
        failed: Called after each failure.
    """

    def __init__(self, embeddings: Embeddings, clock: Clock, failed: Callable[[], None]) -> None:
        self._embeddings = embeddings
        self._clock = clock
        self._failed = failed
        self._paused_until: datetime | None = None

    @property
    def name(self) -> str:
        return self._embeddings.name

    @property
    def dimensions(self) -> int:
        return self._embeddings.dimensions

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """See `skein.ports.Embeddings`; never raises `Transient`."""
        if self._paused_until is None or self._clock.now() >= self._paused_until:
            try:
                return self._embeddings.embed(texts)
            except Transient as error:
                logger.warning("no embeddings, so recall searches by words only: %s", error)
                self._paused_until = self._clock.now() + PAUSE
                self._failed()
        return [NOTHING] * len(texts)


def _cut(text: str) -> str:
    """Return the beginning of a text in at most 8,000 bytes, without lone surrogates."""
    return text.strip().encode(errors="replace")[:TEXT_BYTES].decode(errors="ignore").strip()


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        size += len(text.encode())
        if not batches or size > BATCH_BYTES or len(batches[-1]) == BATCH_TEXTS:
            batches.append([])
            size = len(text.encode())
        batches[-1].append(text)
    return batches
