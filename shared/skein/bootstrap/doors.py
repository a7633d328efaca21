"""Services for incoming messages and their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skein.bootstrap.background import Background
from skein.bootstrap.part import part

if TYPE_CHECKING:
    from skein.services.chats.app_messages import Posting
    from skein.services.chats.post_message import Chats
    from skein.services.inbound.sms import Ingest
    from skein.services.quotas.rate_limits import RateLimiter
    from skein.services.quotas.token_budget import TokenBudgets
    from skein.services.replies.user_notices import Notices


class Doors(Background):
    """Services that post messages, and the limits on them."""

    @part
    def chats(self) -> Chats:
        """The service through which every message is posted."""
        from skein.services.chats.post_message import Chats

        return Chats(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            settings=self.settings,
        )

    @part
    def limits(self) -> RateLimiter:
        """The rate limits on people's messages."""
        from skein.services.quotas.rate_limits import RateLimiter

        return RateLimiter(
            table=self.table, clock=self.clock, metrics=self.metrics, settings=self.settings
        )

    @part
    def spending(self) -> TokenBudgets:
        """The limits on model tokens."""
        from skein.services.quotas.token_budget import TokenBudgets

        return TokenBudgets(
            table=self.table, clock=self.clock, metrics=self.metrics, settings=self.settings
        )

    @part
    def notices(self) -> Notices:
        """The notices that people receive when no agent answers."""
        from skein.services.replies.user_notices import Notices

        return Notices(chats=self.chats, limits=self.limits, clock=self.clock)

    @part
    def posting(self) -> Posting:
        """The service for messages that people post in the app."""
        from skein.services.chats.app_messages import Posting

        return Posting(table=self.table, chats=self.chats, limits=self.limits)

    @part
    def ingest(self) -> Ingest:
        """The service for inbound SMS."""
        from skein.services.inbound.sms import Ingest

        return Ingest(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            chats=self.chats,
            limits=self.limits,
            notices=self.notices,
            metrics=self.metrics,
        )
