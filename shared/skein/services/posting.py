"""What people post in the app: within their limits, and never twice."""

from skein.errors import RateLimited
from skein.ports import Table
from skein.services.chats import Chats, NewMessage, Posted
from skein.services.effective import found_overrides, keys_of_overrides
from skein.services.limits import Limits, admission_keys
from skein.services.roster import read_room


class Posting:
    """Lets people post."""

    def __init__(self, *, table: Table, chats: Chats, limits: Limits) -> None:
        self._table = table
        self._chats = chats
        self._limits = limits

    def post(self, new: NewMessage) -> Posted:
        """Post a person's message, if their limit and the tenant's let it in.

        A repetition is answered with the message that is there, whatever the limits. The limits and
        the settings that hold in the chat are read together, and the chat only once.

        Raises:
            RateLimited: A limit is used up; nothing was stored.
            Rejected: As `Chats.post_message`.
        """
        room = read_room(self._table, new.tenant, new.chat_id)
        wanted = [*admission_keys(new.tenant, new.sender.id), *keys_of_overrides(room.chat)]
        found = self._table.get_many(list(dict.fromkeys(wanted)))
        try:
            self._limits.admit(new.tenant, new.sender.id, known=found)
        except RateLimited:
            earlier = self._chats.earlier(new)
            if earlier is None:
                raise
            return Posted(earlier, created=False)
        said = found_overrides(room.chat, found)
        return self._chats.post_message(new.model_copy(update={"overrides": said}), known=room)
