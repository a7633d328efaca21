"""Store deliveries so that workers and status callbacks do not overwrite each other."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

from skein.errors import Ambiguous, ConditionFailed, LostLease, NotFound
from skein.models.chats.chat import Message, chat_partition, epoch_raised
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Exists, Is, Item, Key, Query, Update, Write, all_of
from skein.models.delivery.delivery import Delivery
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.outbox.due import NOT_DUE, fence_is
from skein.models.quotas.usage import Payer
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import optimistic
from skein.services.delivery.policy import grace_end
from skein.services.delivery.state import PartUpdate, loss_of, next_attempt, status_of, with_part
from skein.services.quotas.usage import UsageCounters
from skein.settings import Settings

# A look-up compares an SMS with this many of the chat's newest deliveries. Only deliveries of the
# last minutes matter.
NEIGHBOURS = 50

DeliveryUpdate = Callable[[Delivery], Delivery]

logger = logging.getLogger(__name__)


class Recipient(NamedTuple):
    """The recipient of a delivery, as read just now.

    Attributes:
        membership: The recipient's membership of the chat; None if the recipient is not a member.
        owns_address: Whether the address still belongs to the recipient.
    """

    membership: Membership | None
    owns_address: bool

    @classmethod
    def from_optional(
        cls, found: Mapping[Key, Item], delivery: Delivery, *, today: date, silence_days: int
    ) -> "Recipient":
        """Build the recipient from the items of `recipient_keys`.

        Args:
            silence_days: The days without an SMS after which the address no longer counts as the
                recipient's.
        """
        key, owner_key = recipient_keys(delivery)
        owner = AddressOwner.read(found, owner_key)
        return cls(
            Membership.read(found, key),
            owner is not None
            and owner.user_id == delivery.user_id
            and not owner.has_lapsed(today, silence_days, delivery.to.channel),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStore:
    """Stores deliveries with their status, due pointers and counts, and counts failures."""

    table: Table
    clock: Clock
    metrics: Metrics
    usage: UsageCounters
    settings: Settings

    def read(self, tenant: str, chat_id: str, delivery_id: str) -> Delivery:
        """Read a delivery.

        Raises:
            NotFound: The delivery does not exist.
        """
        delivery = Delivery.read(self.table, Delivery.key_of(tenant, chat_id, delivery_id))
        if delivery is None:
            raise NotFound("delivery not found", reason=Reason.DELIVERY_MISSING)
        return delivery

    def save(self, known: Delivery, change: DeliveryUpdate, *, owned: bool) -> Delivery:
        """Change a delivery; its status, its end time and its due pointer follow from the change.

        Args:
            known: The delivery as it was last read or written.
            change: The change. If another writer was faster, the delivery is read again, and the
                change is applied to it.
            owned: Whether the caller has a lease on the delivery, and must stop if the lease is
                lost.

        Returns:
            The delivery as stored.

        Raises:
            LostLease: `owned` is true, but another worker has claimed the delivery.
            NotFound: The delivery does not exist any more.
            Contention: The optimistic lock failed 20 times.
        """
        readings = [known]

        def attempt() -> Delivery:
            before = readings.pop() if readings else self._reread(known)
            if owned and before.fence != known.fence:
                raise LostLease(known.id)
            after = self._completed(before, change(before))
            if after == before:
                return before
            try:
                self._write(before, after)
            except Ambiguous:
                fresh = self._reread(known)
                if fresh != after:
                    readings.append(fresh)
                    raise ConditionFailed(frozenset({0})) from None
            self._count(before, after)
            return after

        return optimistic(self.clock, attempt)

    def neighbours(self, delivery: Delivery) -> tuple[Delivery, ...]:
        """Read the chat's newest 50 deliveries, and return all but the given one."""
        page = self.table.query(
            Query.under(
                chat_partition(delivery.tenant, delivery.chat_id),
                Delivery.PREFIX,
                limit=NEIGHBOURS,
                newest_first=True,
            )
        )
        found = Delivery.each_of(page.items)
        return tuple(other for other in found if other.id != delivery.id)

    def recipient_of(self, delivery: Delivery) -> Recipient:
        found = self.table.get_many(recipient_keys(delivery))
        return self.recipient_in(found, delivery)

    def recipient_in(self, found: Mapping[Key, Item], delivery: Delivery) -> Recipient:
        """Return the recipient of a delivery from the items of `recipient_keys`."""
        today, days = self.clock.now().date(), self.settings.number_silence_days
        recipient = Recipient.from_optional(found, delivery, today=today, silence_days=days)
        there = recipient.membership
        if there is None or not there.superseded:
            return recipient
        return recipient._replace(membership=self._with_newest_opt_outs(there, delivery))

    def _with_newest_opt_outs(self, there: Membership, delivery: Delivery) -> Membership:
        """Return a membership of an earlier chat of the line, with the newest chat's opt-outs."""
        key = AddressChat.key_of(delivery.tenant, delivery.to.person, delivery.to.line)
        newest = AddressChat.read(self.table, key)
        if newest is None:
            return there
        key_there = Membership.key_of(delivery.tenant, newest.chat_id, there.member.ref)
        membership = Membership.read(self.table, key_there)
        opt_outs = membership.opt_outs if membership is not None else there.opt_outs
        return there.model_copy(update={"opt_outs": opt_outs})

    def opt_out(self, delivery: Delivery) -> None:
        """Record an opt-out that the carrier reported, and revoke the person's consent to texts."""
        optimistic(self.clock, lambda: self._opt_out_once(delivery))

    def _opt_out_once(self, delivery: Delivery) -> None:
        key, owner_key = recipient_keys(delivery)
        found = self.table.get_many([key, owner_key])
        item = found.get(key)
        if item is None:
            logger.warning("opt-out ignored: user not found", extra={"reason": Reason.PERSON_LEFT})
            return
        before = item.get("opt_outs")
        after = (before or {}) | {delivery.to.channel: rfc3339(self.clock.now())}
        as_read = all_of(Exists(), Is("opt_outs", before))
        writes: list[Write] = [Update(key, set={"opt_outs": after}, condition=as_read)]
        owner = AddressOwner.read(found, owner_key)
        if owner is not None and owner.user_id == delivery.user_id:
            consents = owner.without_consent(delivery.to.channel)
            writes += [owner.consenting(consents)] if consents != owner.consents else []
        self.table.transact(writes)

    def _reread(self, known: Delivery) -> Delivery:
        return self.read(known.tenant, known.chat_id, known.id)

    def _completed(self, before: Delivery, changed: Delivery) -> Delivery:
        after = changed.model_copy(update={"status": status_of(changed), "ended_at": None})
        if after.settled:
            after = after.model_copy(
                update={
                    "ended_at": before.ended_at or self.clock.now(),
                    "lease_until": None,
                    "charged_to": None,
                }
            )
        after = Delivery.from_item(after.attributes())
        if after == before:
            return before
        return after.model_copy(update={"version": before.version + 1})

    def _write(self, before: Delivery, after: Delivery) -> None:
        """Write a changed delivery.

        If the change alters how much of the message is lost (`loss_of`), the same transaction
        stores the loss in the message. The transaction then also raises the chat's epoch, so that
        containers do not use the cached message.
        """
        old, new = before.attributes(), after.attributes()
        change = {
            name: new.get(name)
            for name in old.keys() | new.keys()
            if old.get(name) != new.get(name)
        }
        unchanged = all_of(Is("version", before.version), fence_is(before.fence))
        write = Update(after.key, set=change | self._due_change(after), condition=unchanged)
        lost = loss_of(after)
        if lost == loss_of(before):
            self.table.write(write)
            return
        message = Message.key_of(after.tenant, after.chat_id, after.seq)
        marked = Update(message, set={"lost": lost}, condition=Exists())
        try:
            self.table.transact([write, marked, epoch_raised(after.tenant, after.chat_id)])
        except ConditionFailed as failure:
            if not failure.failed or 0 in failure.failed:
                raise
            self.table.write(write)  # the message was deleted, for example because it has expired

    def _due_change(self, delivery: Delivery) -> dict[str, Any]:
        at = next_attempt(delivery, self._grace())
        if at is not None and delivery.paused:
            return delivery.due_while_paused() | {"due_tries": None}
        return dict(NOT_DUE) if at is None else delivery.due(at) | {"due_tries": None}

    def _grace(self) -> datetime:
        return grace_end(self.clock.now())

    def _count(self, before: Delivery, after: Delivery) -> None:
        self._count_usage(before, after)
        if after.status == "failed" and before.status != "failed":
            codes = [part.error_code for part in after.parts if part.lost]
            logger.error(
                "SMS delivery failed",
                extra={"delivery_id": after.id, "codes": codes, "reason": after.reason},
            )
            self.metrics.count("DeliveriesFailed")
        if _first_handed_over(after) and not _first_handed_over(before):
            waited = self.clock.now() - after.counted_from
            self.metrics.count("HandoverSeconds", waited.total_seconds(), unit="Seconds")
        if after.arrived and not before.arrived:
            waited = self.clock.now() - after.counted_from
            self.metrics.count("ArrivalSeconds", waited.total_seconds(), unit="Seconds")
        if after.status == "canceled" and before.status != "canceled":
            logger.info(
                "delivery canceled",
                extra={"delivery_id": after.id, "reason": after.reason},
            )

    def _count_usage(self, before: Delivery, after: Delivery) -> None:
        """Count the usage of each SMS whose provider id this write stores for the first time."""
        known = before.parts or after.parts
        if len(known) < len(after.parts):  # a notice was added before the first post
            return
        counted: Counter[str] = Counter()
        units: Counter[str] = Counter()
        for part, earlier in zip(after.parts, known, strict=True):
            new = len(part.sids - (earlier.sids if before.parts else frozenset()))
            name, each = part.counted_as(after.channel)
            counted[name] += new
            units[name] += new * each
        for name, texts in counted.items():
            if not texts:
                continue
            self.usage.add_texts(
                after.tenant,
                Payer(after.agent_id, before.payer_id),
                name,
                texts=texts,
                units=units[name],
                spread_by=after.id,
            )


class DeliveryLease:
    """A worker's lease on a delivery; the first write claims the lease."""

    def __init__(self, store: DeliveryStore, found: Delivery, claim: DeliveryUpdate) -> None:
        self.delivery = claim(found)
        self._store = store
        self._stored = found
        self._claim: DeliveryUpdate | None = claim

    def plan(self, change: DeliveryUpdate) -> None:
        """Add a change to the write that claims the lease, unless the lease was claimed already."""
        claim = self._claim
        if claim is not None:
            self._claim = lambda d: change(claim(d))
            self.delivery = change(self.delivery)

    def save(self, change: DeliveryUpdate) -> None:
        """Write a change, on condition that the worker still has the lease.

        Raises:
            LostLease: Another worker has claimed the delivery.
        """
        claim = self._claim
        self._stored = self._store.save(
            self._stored, lambda d: change(claim(d) if claim else d), owned=True
        )
        self.delivery, self._claim = self._stored, None

    def save_part(self, index: int, change: PartUpdate, *, reason: Reason | None = None) -> None:
        """Write a change of one part, and the reason if the part has failed; see `save`."""
        self.save(lambda d: with_part(d, index, change, reason=reason))


def _first_handed_over(delivery: Delivery) -> bool:
    """Return whether all parts were handed over to Twilio, each exactly once."""
    parts = delivery.parts
    return bool(parts) and all(part.handed_over and not part.earlier_sids for part in parts)


def recipient_keys(delivery: Delivery) -> tuple[Key, Key]:
    """Return the keys of the recipient's membership and of the address's owner."""
    return membership_key(delivery), AddressOwner.key_of(delivery.tenant, delivery.to.person)


def membership_key(delivery: Delivery) -> Key:
    person = MemberRef(kind="user", id=delivery.user_id)
    return Membership.key_of(delivery.tenant, delivery.chat_id, person)
