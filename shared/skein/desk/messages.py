"""The messages of a person of the team: only the holder of a chat posts them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.errors import Conflict
from skein.models.chats.chat import Chat, Message
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.config.overrides import TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.visibility.provenance import Authors
from skein.ports import Clock, Metrics, Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage
from skein.services.config.resolution import effective_in
from skein.services.delivery.enqueue import person_disturbed
from skein.services.directory.time_zones import quiet_until
from skein.services.quotas.rate_limits import RateLimiter
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMessages:
    """The service that posts the messages of the team."""

    table: Table
    chats: Chats
    rate_limiter: RateLimiter
    metrics: Metrics
    clock: Clock
    settings: Settings

    def post(
        self, tenant: str, chat_id: str, holder_id: str, text: str, client_id: str
    ) -> PostedMessage:
        """Post a message of the holder (idempotent by `client_id`).

        The message reaches the people of the chat as an agent's message does, including by SMS. It
        does not trigger any agent or move a read mark.

        Args:
            holder_id: The operator who holds the chat.

        Raises:
            NotFound: The chat does not exist.
            Conflict: The operator does not hold the chat, the chat is discarded, its person has
                opted out of SMS and would not get the message, or the person has quiet hours.
            RateLimited: The operator has posted too many messages.
            Unprocessable: The text is empty or too long.
        """
        snapshot = read_snapshot(self.table, tenant, chat_id)
        new = NewMessage(
            tenant=tenant,
            chat_id=chat_id,
            sender=MemberRef(kind="team", id=holder_id),
            kind="team",
            text=text,
            client_id=client_id,
            authors=Authors.in_digests(snapshot.chat.person_ids),
        )
        earlier: Message | None = self.chats.earlier(new)
        if earlier is not None:
            return PostedMessage(earlier, created=False)
        if snapshot.opted_out:
            raise Conflict(Reason.OPTED_OUT.meaning, reason=Reason.OPTED_OUT)
        until = self._quiet_until(snapshot)
        if until is not None:
            details = {"until": rfc3339(until)}
            why = "the person has quiet hours and has not written"
            raise Conflict(why, details=details, reason=Reason.QUIET_HOURS)
        self.rate_limiter.admit(tenant, holder_id)
        posted, desk = self.chats.post_message(new, known=snapshot), snapshot.chat.desk
        if posted.created and desk is not None and desk.answered_at is None:
            waited = (posted.message.created_at - desk.since).total_seconds()
            self.metrics.count("DeskAnswerSeconds", waited, unit="Seconds")
        return posted

    def _quiet_until(self, snapshot: ChatSnapshot) -> datetime | None:
        """Return when the person's quiet hours end; None if a message may be sent now.

        A person on a phone who has written in this session gets answers at any time.
        """
        chat, now = snapshot.chat, self.clock.now()
        reached = person_disturbed(snapshot)
        if reached is None or _is_talking(chat, now, self.settings):
            return None
        user_key = User.key_of(chat.tenant, reached.member.id)
        tenant_key = TenantSettings.key_of(chat.tenant)
        agents = [Agent.key_of(chat.tenant, each.member.id) for each in snapshot.agents]
        found = self.table.get_many([user_key, tenant_key, *agents])
        user = User.read(found, user_key)
        zones = [Agent.must_read(found, key).time_zone for key in agents if key in found]
        settings = self.settings.overridden(TenantSettings.from_optional(found.get(tenant_key)))
        return quiet_until(now, user, settings, next(iter(zones), "UTC"))


def _is_talking(chat: Chat, now: datetime, settings: Settings) -> bool:
    """Return whether the person of a direct chat has written in the current session."""
    if chat.session is None or chat.last_message_at is None:
        return False
    gap = timedelta(minutes=effective_in(chat, settings).conversation_gap_minutes)
    return chat.person_seq >= chat.session.first_seq and now - chat.last_message_at < gap
