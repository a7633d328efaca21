"""What people post in the app: within their limits, and never twice."""

from dataclasses import dataclass

from skein.ports import Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.chats.post_message import Chats, NewMessage, Posted, marks_of
from skein.services.config.resolution import found_overrides, keys_of_overrides
from skein.services.quotas.rate_limits import RateLimiter, admission_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """Lets people post."""

    table: Table
    chats: Chats
    limits: RateLimiter

    def post(self, new: NewMessage) -> Posted:
        """Post a person's message, if their limit and the tenant's let it in.

        A message that was posted before is returned as it is, and takes nothing from any limit. The
        limits and the settings of the chat are read together, and the chat only once.

        Raises:
            RateLimited: A limit is used up; nothing was stored.
            Rejected: As `Chats.post_message`.
        """
        snapshot = read_snapshot(self.table, new.tenant, new.chat_id)
        sender = snapshot.member(new.sender)
        marks = marks_of(new, sender.formerly if sender else ())
        wanted = [
            *admission_keys(new.tenant, new.sender.id),
            *keys_of_overrides(snapshot.chat),
            *marks,
        ]
        found = self.table.get_many(list(dict.fromkeys(wanted)))
        if found.keys().isdisjoint(marks):
            self.limits.admit(new.tenant, new.sender.id, known=found)
        said = found_overrides(snapshot.chat, found)
        return self.chats.post_message(new.model_copy(update={"overrides": said}), known=snapshot)
