"""Send the rest of a text that was too long, once, when the person replies MORE.

No model is called. The delivery that sent the beginning of a text stores the position of the rest.
One transaction stores the SMS with MORE, creates the delivery of the next part of the text, and
moves the position.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from skein.correlation import current
from skein.models.chats.chat import Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import Is, Missing, Put, Update, Write, all_of
from skein.models.delivery.delivery import Delivery
from skein.models.outbox.jobs import DeliveryJob
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.closed_memberships import read_membership
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.config.resolution import effective_in
from skein.services.delivery.policy import grace_end
from skein.services.delivery.state import first_parts
from skein.services.outbox.dispatch import Dispatch
from skein.settings import Settings

MAX_LATER = 5  # deliveries after the cut one; after more of them, MORE is an ordinary message
MAX_AGE = timedelta(days=1)


class ContinuationRequest(NamedTuple):
    """A request for the rest of a text: the person who asks, and the job of the rest's delivery."""

    person: MemberRef
    job: DeliveryJob


@dataclass(frozen=True, slots=True, kw_only=True)
class TextContinuations:
    """The service that sends the rest of cut texts."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    settings: Settings

    def asked_for(self, tenant: str, chat_id: str, user_id: str) -> ContinuationRequest | None:
        """Return a person's request for the rest of a text; None if there is no rest."""
        person = MemberRef(kind="user", id=user_id)
        if self._cut(read_membership(self.table, tenant, chat_id, person)) is None:
            return None
        delivery_id = f"dlv_{self.ids.ulid()}"
        job = DeliveryJob(tenant=tenant, chat_id=chat_id, delivery_id=delivery_id)
        return ContinuationRequest(person, job)

    def writes(self, request: ContinuationRequest, snapshot: ChatSnapshot) -> tuple[Write, ...]:
        """Return the writes that queue the rest, for the transaction that stores the SMS with MORE.

        The writes fail if another writer has changed the delivery of the beginning (optimistic
        lock). There are no writes if another MORE has already requested the rest, or the message
        was deleted.
        """
        membership = snapshot.member(request.person)
        cut = self._cut(membership)
        if membership is None or cut is None:
            return ()
        message = Message.read(self.table, Message.key_of(cut.tenant, cut.chat_id, cut.seq))
        text = message.as_delivered if message is not None else ""
        # A message in a template has no files, so they are sent with the first part of the rest.
        by_template = any(part.content is not None for part in cut.parts)
        has_files = by_template and message is not None and bool(message.media)
        settings = effective_in(snapshot.chat, self.settings)
        parts, rest_at = first_parts(text, cut.channel, settings, cut.rest_at or 0)
        if not parts and not has_files:
            return ()
        now = self.clock.now()
        following = Delivery(
            tenant=cut.tenant,
            id=request.job.delivery_id,
            chat_id=cut.chat_id,
            user_id=cut.user_id,
            agent_id=cut.agent_id,
            seq=cut.seq,
            to=cut.to,
            parts=parts,
            continues=cut.id,
            has_files=has_files,
            after=membership.last_delivery,
            expires_at=cut.expires_at,
            correlation_id=current(),
            created_at=now,
        )
        return (
            Update(
                cut.key,
                set={"rest_at": rest_at, "version": cut.version + 1},
                condition=all_of(Is("version", cut.version), Is("rest_at", cut.rest_at)),
            ),
            Put(following.key, following.to_item(grace_end(now)), Missing()),
        )

    def send(self, request: ContinuationRequest) -> None:
        """Send the job that delivers the rest; if this call fails, the tick sends the job later."""
        self.dispatch.send([request.job])

    def _cut(self, membership: Membership | None) -> Delivery | None:
        """Return the newest delivery with an unsent rest; None if no recent delivery has a rest.

        Only the person's latest deliveries of the last day are searched.
        """
        following = membership.last_delivery if membership is not None else None
        for _ in range(MAX_LATER + 1):
            if membership is None or following is None:
                return None
            key = Delivery.key_of(membership.tenant, membership.chat_id, following)
            delivery = Delivery.read(self.table, key)
            if delivery is None or self.clock.now() - delivery.created_at > MAX_AGE:
                return None
            if delivery.rest_at is not None:
                return delivery
            following = delivery.after
        return None
