"""Composition of the upkeep worker."""

from skein.bootstrap.ports import Ports
from skein.services.feed.recall_sweep import RecallSweep
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import Budget
from skein.services.summaries.upkeep import Upkeep


def build_upkeep(ports: Ports) -> Upkeep:
    """Build the service that keeps lists of chats up to date."""
    table, clock, settings = ports.table, ports.clock, ports.settings
    dispatch = Dispatch(queues=ports.queues, metrics=ports.metrics)
    return Upkeep(
        table=table,
        clock=clock,
        dispatch=dispatch,
        recall_sweep=RecallSweep(table=table, clock=clock, dispatch=dispatch),
        budget=Budget(table=table, clock=clock, metrics=ports.metrics, settings=settings),
        settings=settings,
    )
