"""Composition of the webhook for inbound SMS."""

from skein.bootstrap.ports import Ports
from skein.services.chats.post_message import Chats
from skein.services.inbound.sms import SmsReceiver
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.replies.user_notices import Notices


def build_sms_receiver(ports: Ports) -> SmsReceiver:
    """Build the service that receives SMS."""
    table, clock, ids, metrics = ports.table, ports.clock, ports.ids, ports.metrics
    dispatch = Dispatch(queues=ports.queues, metrics=metrics)
    chats = Chats(table=table, clock=clock, ids=ids, dispatch=dispatch, settings=ports.settings)
    rate_limiter = RateLimiter(table=table, clock=clock, metrics=metrics, settings=ports.settings)
    return SmsReceiver(
        table=table,
        clock=clock,
        ids=ids,
        chats=chats,
        rate_limiter=rate_limiter,
        notices=Notices(chats=chats, rate_limiter=rate_limiter, clock=clock),
        metrics=metrics,
    )
