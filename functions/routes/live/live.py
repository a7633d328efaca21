"""Route that opens the live channel."""

from routes.audited import Unaudited
from routes.router import ApiRouter
from skein.bootstrap import app, service
from skein.errors import NotFound
from skein.live.api import TicketResource
from skein.live.tickets import LiveTickets
from skein.services.quotas.read_limits import READS_OF_TICKET, ReadLimits

router = ApiRouter("live", Unaudited("a ticket shows nothing by itself"))


@router.post("/v1/live", "Get a ticket for the live channel", 404, keyed=False)
def open_live() -> TicketResource:
    """The ticket opens one WebSocket connection within 60 seconds: `url?ticket=`.

    The connection ends when the caller's token expires, and after two hours at most. For the
    caller's rate limit, a ticket counts as ten reads.
    """
    url = app().ports.settings.live_url
    if not url:
        raise NotFound("live updates aren't set up in this deployment")
    caller = router.caller
    service(ReadLimits).admit(caller.tenant, caller.user_id, READS_OF_TICKET)
    issued = service(LiveTickets).issue(
        caller.tenant, caller.user_id, token_ends_at=caller.token_ends_at
    )
    return TicketResource(url=url, ticket=issued.ticket, expires_at=issued.ends_at)
