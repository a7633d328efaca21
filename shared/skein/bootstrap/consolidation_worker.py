"""Composition of the consolidation worker."""

from skein.agent.prompt.token_cache import RememberedTokens
from skein.bootstrap.ports import Ports
from skein.services.common.text_search import EmbeddingCache
from skein.services.feed.recall_sweep import RecallSweep
from skein.services.memory.chunk_commit import ChunkCommitter
from skein.services.memory.consolidation import ConsolidationTask
from skein.services.outbox.dispatch import Dispatch


def build_consolidation(ports: Ports) -> ConsolidationTask:
    """Build the task that makes memories from the messages of chats."""
    table, clock, metrics = ports.table, ports.clock, ports.metrics
    dispatch = Dispatch(queues=ports.queues, metrics=metrics)
    return ConsolidationTask(
        table=table,
        clock=clock,
        dispatch=dispatch,
        tokens=RememberedTokens(ports.tokens),
        meanings=EmbeddingCache(lambda: ports.text_embeddings),
        committer=ChunkCommitter(table=table, clock=clock, ids=ports.ids, metrics=metrics),
        recall_sweep=RecallSweep(table=table, clock=clock, dispatch=dispatch),
        settings=ports.settings,
    )
