"""Composition of recall, which is built at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skein.bootstrap.lazy import lazy
from skein.services.recall.search import Recall

if TYPE_CHECKING:
    from skein.bootstrap.ports import Ports


class RecallReader:
    """The service that finds old messages, for prompts, tools and operators."""

    def __init__(self, ports: Ports) -> None:
        self.building = ports.building
        self._ports = ports

    @lazy
    def recall(self) -> Recall:
        """The service."""
        ports = self._ports
        return Recall(
            table=ports.table,
            vectors=ports.vectors,
            embeddings=ports.query_embeddings,
            embeds_messages=not ports.settings.embeddings_model,
            vocabulary=ports.vocabulary,
            tokens=ports.tokens,
            parallel_map=ports.parallel_map,
        )
