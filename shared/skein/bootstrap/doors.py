"""What stands at the doors: how messages come in, and how many."""

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
    """The ways by which messages enter chats, and what limits them."""

    @part
    def chats(self) -> Chats:
        """The door by which messages enter chats."""
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
        """How much people may send."""
        from skein.services.quotas.rate_limits import RateLimiter

        return RateLimiter(
            table=self.table, clock=self.clock, metrics=self.metrics, settings=self.settings
        )

    @part
    def spending(self) -> TokenBudgets:
        """How much models may be asked."""
        from skein.services.quotas.token_budget import TokenBudgets

        return TokenBudgets(
            table=self.table, clock=self.clock, metrics=self.metrics, settings=self.settings
        )

    @part
    def notices(self) -> Notices:
        """What people are told when nobody answers."""
        from skein.services.replies.user_notices import Notices

        return Notices(chats=self.chats, limits=self.limits, clock=self.clock)

    @part
    def posting(self) -> Posting:
        """What people post in the app."""
        from skein.services.chats.app_messages import Posting

        return Posting(table=self.table, chats=self.chats, limits=self.limits)

    @part
    def ingest(self) -> Ingest:
        """Texts on their way in."""
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
