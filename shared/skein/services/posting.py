"""What people post in the app: within their limits, and never twice."""

from skein.errors import RateLimited
from skein.services.chats import Chats, NewMessage, Posted
from skein.services.limits import Limits


class Posting:
    """Lets people post."""

    def __init__(self, *, chats: Chats, limits: Limits) -> None:
        self._chats = chats
        self._limits = limits

    def post(self, new: NewMessage) -> Posted:
        """Post a person's message, if their limit and the tenant's let it in.

        A repetition is answered with the message that is there, whatever the limits.

        Raises:
            RateLimited: A limit is used up; nothing was stored.
            Rejected: As `Chats.post_message`.
        """
        try:
            self._limits.admit(new.tenant, new.sender.id)
        except RateLimited:
            earlier = self._chats.earlier(new)
            if earlier is None:
                raise
            return Posted(earlier, created=False)
        return self._chats.post_message(new)
