"""The messages of a person of the team: only the holder of a chat posts them."""

from dataclasses import dataclass

from skein.errors import Conflict
from skein.models.chats.chat import Message
from skein.models.common.base import MemberRef
from skein.models.common.provenance import Authors
from skein.models.common.reason import Reason
from skein.ports import Metrics, Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage
from skein.services.quotas.rate_limits import RateLimiter


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMessages:
    """The service that posts the messages of the team."""

    table: Table
    chats: Chats
    rate_limiter: RateLimiter
    metrics: Metrics

    def post(
        self, tenant: str, chat_id: str, holder_id: str, text: str, client_id: str
    ) -> PostedMessage:
        """Post a message of the holder (idempotent by `client_id`).

        It goes to the people of the chat as an agent's message does: by SMS, too. It triggers
        nobody, and moves no read mark.

        Args:
            holder_id: The operator who holds the chat.

        Raises:
            NotFound: The chat does not exist.
            Conflict: The operator does not hold the chat, it is discarded, or its person has opted
                out of SMS, so that nobody would read the message.
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
        self.rate_limiter.admit(tenant, holder_id)
        posted, desk = self.chats.post_message(new, known=snapshot), snapshot.chat.desk
        if posted.created and desk is not None and desk.answered_at is None:
            waited = (posted.message.created_at - desk.since).total_seconds()
            self.metrics.count("DeskAnswerSeconds", waited, unit="Seconds")
        return posted
