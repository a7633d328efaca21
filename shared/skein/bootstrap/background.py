"""Composition of the background engine."""

from skein.bootstrap.ports import Ports
from skein.services.background.engine import BackgroundEngine
from skein.services.quotas.usage import Budget, UsageCounters


def build_engine(ports: Ports) -> BackgroundEngine:
    """Build the service that carries out the tasks of background work."""
    table, clock, metrics = ports.table, ports.clock, ports.metrics
    return BackgroundEngine(
        clock=clock,
        model=ports.model,
        usage=UsageCounters(table=table, clock=clock, metrics=metrics),
        budget=Budget(table=table, clock=clock, metrics=metrics, settings=ports.settings),
        metrics=metrics,
    )
