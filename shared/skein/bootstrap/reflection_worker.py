"""Composition of the reflection worker."""

from skein.agent.prompt.token_cache import RememberedTokens
from skein.bootstrap.ports import Ports
from skein.services.memory.reflection_worker import Reflection
from skein.services.quotas.usage import Budget, UsageCounters


def build_reflection(ports: Ports) -> Reflection:
    """Build the service that promotes fading journal entries to core memories."""
    table, clock, metrics, settings = ports.table, ports.clock, ports.metrics, ports.settings
    return Reflection(
        table=table,
        clock=clock,
        ids=ports.ids,
        model=ports.model,
        tokens=RememberedTokens(ports.tokens),
        usage=UsageCounters(table=table, clock=clock, metrics=metrics),
        budget=Budget(table=table, clock=clock, metrics=metrics, settings=settings),
        metrics=metrics,
        settings=settings,
    )
