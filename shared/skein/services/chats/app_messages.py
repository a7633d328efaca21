"""Post people's messages from the app, within their rate limits."""

from dataclasses import dataclass
from itertools import count

from skein.errors import ConditionFailed, ExtraWriteFailed
from skein.models.common.storage import Put
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_or_opening
from skein.services.chats.post_message import Chats, ExtraWrites, NewMessage, PostedMessage
from skein.services.common.optimistic import optimistic
from skein.services.config.resolution import found_overrides, keys_of_overrides
from skein.services.quotas.rate_limits import RateLimiter, admission_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class AppMessages:
    """The service that posts messages from the app."""

    table: Table
    chats: Chats
    rate_limiter: RateLimiter
    clock: Clock

    def post(
        self,
        new: NewMessage,
        *,
        extra_writes: ExtraWrites = lambda _: (),
        opening: ChatSnapshot | None = None,
    ) -> PostedMessage:
        """Post a person's message, if the limits of the person and the tenant allow it.

        The transaction that stores the message charges the sender. A repeated call returns the
        stored message and charges nothing. The limits and the chat's settings are read in one
        batch, and the chat is read only once.

        Args:
            extra_writes: As in `Chats.post_message`, but if any condition fails, the post is
                retried.
            opening: The chat that this message creates, if the chat does not exist yet.

        Raises:
            RateLimited: A limit is used up; nothing was stored.
            Rejected: As in `Chats.post_message`.
        """
        attempts = count()
        return optimistic(
            self.clock,
            lambda: self._post_once(new, extra_writes, opening, again=next(attempts) > 0),
        )

    def _post_once(
        self,
        new: NewMessage,
        extra_writes: ExtraWrites,
        opening: ChatSnapshot | None,
        *,
        again: bool,
    ) -> PostedMessage:
        """Try once to post the message and charge the sender's rate limit.

        Raises:
            ConditionFailed: Another writer has changed what was read; the caller tries again.
        """
        snapshot = read_or_opening(self.table, new.tenant, new.chat_id, opening)
        sender = snapshot.member(new.sender)
        record_keys = new.record_keys(sender.formerly if sender else ())
        wanted = [
            *admission_keys(new.tenant, new.sender.id),
            *keys_of_overrides(snapshot.chat),
            *record_keys,
        ]
        found = self.table.get_many(list(dict.fromkeys(wanted)))
        charge: tuple[Put, ...] = ()
        if found.keys().isdisjoint(record_keys):
            charge = self.rate_limiter.admission(new.tenant, new.sender.id, found, again=again)
        overrides = found_overrides(snapshot.chat, found)
        try:
            return self.chats.post_message(
                new.model_copy(update={"overrides": overrides}),
                extra_writes=lambda current: (*charge, *extra_writes(current)),
                known=snapshot,
            )
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None
