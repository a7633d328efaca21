"""Composition of the reflection worker."""

from skein.agent.prompt.token_cache import RememberedTokens
from skein.bootstrap.ports import Ports
from skein.services.memory.reflection import ReflectionTask


def build_reflection(ports: Ports) -> ReflectionTask:
    """Build the task that promotes fading journal entries to core memories."""
    return ReflectionTask(
        table=ports.table,
        clock=ports.clock,
        ids=ports.ids,
        tokens=RememberedTokens(ports.tokens),
        metrics=ports.metrics,
        settings=ports.settings,
    )
