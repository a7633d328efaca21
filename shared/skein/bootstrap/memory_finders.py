"""Composition of the finders of consolidations and reflections."""

from skein.bootstrap.ports import Ports
from skein.services.memory.finder import MemoryFinder
from skein.services.outbox.dispatch import Dispatch
from skein.services.outbox.due_scanner import DueScanner


def build_consolidation_finder(ports: Ports) -> MemoryFinder:
    """Build the finder of chats that are due for consolidation."""
    return MemoryFinder(kind="consolidation", table=ports.table, due_scanner=_due_scanner(ports))


def build_reflection_finder(ports: Ports) -> MemoryFinder:
    """Build the finder of agents whose journal entries are about to fade."""
    return MemoryFinder(kind="fading", table=ports.table, due_scanner=_due_scanner(ports))


def _due_scanner(ports: Ports) -> DueScanner:
    return DueScanner(
        table=ports.table,
        clock=ports.clock,
        dispatch=Dispatch(queues=ports.queues, metrics=ports.metrics),
        metrics=ports.metrics,
        parallel_map=ports.parallel_map,
    )
