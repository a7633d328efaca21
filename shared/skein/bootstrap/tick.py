"""Composition of the tick."""

from skein.bootstrap.ports import Ports
from skein.services.account_linking.phone_links import PhoneLinks
from skein.services.outbox.background_scanner import BackgroundScanner
from skein.services.outbox.dispatch import Dispatch
from skein.services.outbox.due_scanner import DueScanner
from skein.services.outbox.pause_scanner import PauseScanner
from skein.services.outbox.tick import Tick
from skein.services.planning.firing import Firing


def build_tick(ports: Ports) -> Tick:
    """Build the service that sends due jobs, fires plans and continues merges of users."""
    table, clock, metrics, settings = ports.table, ports.clock, ports.metrics, ports.settings
    dispatch = Dispatch(queues=ports.queues, metrics=metrics)
    due_scanner = DueScanner(
        table=table,
        clock=clock,
        dispatch=dispatch,
        metrics=metrics,
        parallel_map=ports.parallel_map,
    )
    return Tick(
        table=table,
        due_scanner=due_scanner,
        background_scanner=BackgroundScanner(table=table, due_scanner=due_scanner),
        pause_scanner=PauseScanner(
            table=table, clock=clock, due_scanner=due_scanner, metrics=metrics
        ),
        metrics=metrics,
        firing={
            "plan": Firing(table=table, metrics=metrics, settings=settings).fire,
            "merge": PhoneLinks(table=table, clock=clock, dispatch=dispatch).continue_merge,
        },
    )
