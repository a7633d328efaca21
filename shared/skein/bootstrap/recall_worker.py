"""Composition of the recall worker."""

from skein.bootstrap.ports import Ports
from skein.services.outbox.dispatch import Dispatch
from skein.services.recall.block_commit import BlockCommits
from skein.services.recall.indexing import RecallIndexing
from skein.services.recall.rebuild import RecallRebuild
from skein.services.recall.recall_worker import RecallWorker


def build_recall_worker(ports: Ports) -> RecallWorker:
    """Build the service that keeps the index of recall up to date."""
    table, clock = ports.table, ports.clock
    dispatch = Dispatch(queues=ports.queues, metrics=ports.metrics)
    return RecallWorker(
        indexing=RecallIndexing(
            table=table,
            clock=clock,
            embeddings=ports.embeddings,
            vocabulary=ports.vocabulary,
            dispatch=dispatch,
            commits=BlockCommits(table=table, clock=clock),
        ),
        rebuild=RecallRebuild(table=table, clock=clock, dispatch=dispatch),
    )
