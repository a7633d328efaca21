"""Composition of the live channel's functions."""

from skein.bootstrap.ports import Ports
from skein.services.live.client_frames import ClientFrames
from skein.services.live.connections import LiveConnections
from skein.services.live.pushes import Pushes
from skein.services.outbox.dispatch import Dispatch


def build_live_connections(ports: Ports) -> LiveConnections:
    """Build the service that opens and closes connections."""
    return LiveConnections(table=ports.table, clock=ports.clock, sockets=ports.sockets)


def build_client_frames(ports: Ports) -> ClientFrames:
    """Build the service that receives clients' frames."""
    return ClientFrames(
        table=ports.table,
        clock=ports.clock,
        connections=build_live_connections(ports),
        dispatch=Dispatch(queues=ports.queues, metrics=ports.metrics),
    )


def build_pushes(ports: Ports) -> Pushes:
    """Build the service that sends frames."""
    return Pushes(
        table=ports.table,
        clock=ports.clock,
        sockets=ports.sockets,
        connections=build_live_connections(ports),
        parallel_map=ports.parallel_map,
        metrics=ports.metrics,
    )
