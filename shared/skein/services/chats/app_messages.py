"""Post people's messages from the app, within their rate limits."""

from dataclasses import dataclass

from skein.ports import Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage, record_keys_of
from skein.services.config.resolution import found_overrides, keys_of_overrides
from skein.services.quotas.rate_limits import RateLimiter, admission_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class AppMessages:
    """The service that posts messages from the app."""

    table: Table
    chats: Chats
    rate_limiter: RateLimiter

    def post(self, new: NewMessage) -> PostedMessage:
        """Post a person's message, if the limits of the person and the tenant allow it.

        A message that was posted before is returned unchanged, without charging any limit. The
        limits and the chat's settings are read in one batch, and the chat is read only once.

        Raises:
            RateLimited: A limit is used up; nothing was stored.
            Rejected: As in `Chats.post_message`.
        """
        snapshot = read_snapshot(self.table, new.tenant, new.chat_id)
        sender = snapshot.member(new.sender)
        record_keys = record_keys_of(new, sender.formerly if sender else ())
        wanted = [
            *admission_keys(new.tenant, new.sender.id),
            *keys_of_overrides(snapshot.chat),
            *record_keys,
        ]
        found = self.table.get_many(list(dict.fromkeys(wanted)))
        if found.keys().isdisjoint(record_keys):
            self.rate_limiter.admit(new.tenant, new.sender.id, known=found)
        overrides = found_overrides(snapshot.chat, found)
        return self.chats.post_message(
            new.model_copy(update={"overrides": overrides}), known=snapshot
        )
