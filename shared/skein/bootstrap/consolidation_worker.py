"""Composition of the consolidation worker."""

from skein.agent.prompt.token_cache import RememberedTokens
from skein.bootstrap.ports import Ports
from skein.services.common.text_search import EmbeddingCache
from skein.services.feed.recall_sweep import RecallSweep
from skein.services.memory.agent_consolidation import AgentConsolidation
from skein.services.memory.chunk_commit import ChunkCommitter
from skein.services.memory.consolidation_worker import Consolidator
from skein.services.memory.extraction import Extractor
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import Budget, UsageCounters


def build_consolidator(ports: Ports) -> Consolidator:
    """Build the service that makes memories from the messages of chats."""
    table, clock, metrics, settings = ports.table, ports.clock, ports.metrics, ports.settings
    usage = UsageCounters(table=table, clock=clock, metrics=metrics)
    budget = Budget(table=table, clock=clock, metrics=metrics, settings=settings)
    agent_consolidation = AgentConsolidation(
        table=table,
        clock=clock,
        extractor=Extractor(model=ports.model, usage=usage, settings=settings),
        budget=budget,
        meanings=EmbeddingCache(lambda: ports.text_embeddings),
        tokens=RememberedTokens(ports.tokens),
        committer=ChunkCommitter(table=table, clock=clock, ids=ports.ids, metrics=metrics),
        settings=settings,
    )
    dispatch = Dispatch(queues=ports.queues, metrics=metrics)
    return Consolidator(
        table=table,
        clock=clock,
        dispatch=dispatch,
        recall_sweep=RecallSweep(table=table, clock=clock, dispatch=dispatch),
        agent_consolidation=agent_consolidation,
        budget=budget,
        settings=settings,
    )
