"""Composition of the finders of consolidations and reflections."""

from skein.bootstrap.ports import Ports
from skein.services.outbox.background_scanner import BackgroundScanner
from skein.services.outbox.dispatch import Dispatch
from skein.services.outbox.due_scanner import DueScanner


def build_background_scanner(ports: Ports) -> BackgroundScanner:
    """Build the finder of due background work."""
    due_scanner = DueScanner(
        table=ports.table,
        clock=ports.clock,
        dispatch=Dispatch(queues=ports.queues, metrics=ports.metrics),
        metrics=ports.metrics,
        parallel_map=ports.parallel_map,
    )
    return BackgroundScanner(table=ports.table, due_scanner=due_scanner)
