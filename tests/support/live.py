"""People who are connected to the live channel."""

from tests.support.builders import TENANT, World


def connect(world: World, user_id: str, connection_id: str) -> None:
    """Connect a person with a new ticket, whose token does not expire."""
    issued = world.app.live_tickets.issue(TENANT, user_id, token_ends_at=None)
    world.app.live_connections.connect(issued.ticket, connection_id)
