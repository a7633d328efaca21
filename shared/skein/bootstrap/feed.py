"""Composition of the feed."""

from skein.bootstrap.ports import Ports
from skein.services.feed.feed import Feed
from skein.services.outbox.dispatch import Dispatch


def build_feed(ports: Ports) -> Feed:
    """Build the service that sends the jobs of changes of the table."""
    dispatch = Dispatch(queues=ports.queues, metrics=ports.metrics)
    return Feed(dispatch=dispatch)
