"""Send SMS: hand over each part of a delivery to Twilio, only once if possible.

Twilio's call that creates a message is not idempotent, so the sender stores an intent before each
call. A worker that finds an intent without an outcome first waits for the status callback, and then
looks up the SMS at Twilio. If Twilio does not have the SMS, the worker posts the part again.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from skein.correlation import correlated, follow
from skein.errors import (
    Ambiguous,
    LostLease,
    NotFound,
    SmsRejected,
    Throttled,
    Unavailable,
)
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key
from skein.models.config.overrides import TenantSettings
from skein.models.config.templates import MessageTemplate
from skein.models.delivery.delivery import Delivery, DeliveryPart
from skein.models.delivery.sms import StatusReport
from skein.models.directory.user import User
from skein.models.outbox.jobs import DeliveryJob
from skein.ports import Clock, Metrics, Sms, Table
from skein.services.config.message_templates import templates_of
from skein.services.config.pauses import is_paused, keys_of_pauses
from skein.services.config.resolution import effective_in
from skein.services.delivery.attachments import FILE_WAIT, without_file
from skein.services.delivery.cancellations import (
    NOT_ANSWERED,
    NOTHING_TO_SEND,
    NUMBER_LOST,
    PERSON_LEFT,
    PERSON_OPTED_OUT,
    SEGMENTS_USED_UP,
    Cancellation,
    canceled,
)
from skein.services.delivery.composing import compose, sms_of_part
from skein.services.delivery.media_links import MediaLinks
from skein.services.delivery.policy import (
    ORDER_CHECK_SECONDS,
    lease_end,
    next_look_up,
    queue_delay,
    queue_notice,
    time_for_another_post,
    waits_for,
)
from skein.services.delivery.reconcile import DeliveryLookup
from skein.services.delivery.state import (
    answered,
    intended,
    next_part,
    not_taken,
    parts_of,
    refused,
    reported,
    with_part,
)
from skein.services.delivery.store import (
    DeliveryLease,
    DeliveryStore,
    DeliveryUpdate,
    Recipient,
    recipient_keys,
)
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.services.quotas.segment_limits import (
    SegmentLimiter,
    Turn,
    segment_keys,
    segment_rates,
)
from skein.services.quotas.usage import UsageCounters
from skein.settings import Settings
from skein.tracing import span


class _Circumstances(NamedTuple):
    """The items that decide whether a delivery may be sent now; they are read in one batch."""

    message: Message | None
    recipient: Recipient
    predecessor: Delivery | None
    chat: Chat | None
    settings: Settings
    items: Mapping[Key, Item]
    templates: tuple[MessageTemplate, ...]
    paused: bool


logger = logging.getLogger(__name__)


class SmsSender:
    """Sends SMS and receives their status reports."""

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        sms: Sms,
        dispatch: Dispatch,
        metrics: Metrics,
        usage: UsageCounters,
        settings: Settings,
    ) -> None:
        self._table = table
        self._clock = clock
        self._sms = sms
        self._dispatch = dispatch
        self._metrics = metrics
        self._settings = settings
        self._store = DeliveryStore(
            table=table, clock=clock, metrics=metrics, usage=usage, settings=settings
        )
        self._limiter = SegmentLimiter(table=table, clock=clock, metrics=metrics)
        self._links = MediaLinks(table=table, clock=clock, settings=settings)
        self._lookup = DeliveryLookup(store=self._store, clock=clock, sms=sms, settings=settings)

    @correlated()
    def deliver(self, job: DeliveryJob, *, deadline: datetime) -> None:
        """Post the parts of a delivery that can be posted now.

        Nothing happens if another worker has the lease, or if the delivery is not due yet or has
        ended. If the previous delivery to the same phone has not ended, the job is sent again with
        a delay of 2 seconds. The delivery waits at most `ORDER_WAIT`, counted from its creation or
        from the end of a pause. If texts are paused, the tick sends the job after the pause.

        Args:
            job: The job, which names the delivery.
            deadline: The end of this invocation. The lease ends 2 seconds later.

        Raises:
            Transient: The table failed; the delivery is due again when the lease ends.
        """
        try:
            found = self._store.read(job.tenant, job.chat_id, job.delivery_id)
        except NotFound:
            logger.warning(
                "delivery of a job not found",
                extra={"delivery_id": job.delivery_id, "reason": Reason.DELIVERY_MISSING},
            )
            return
        follow(found.followed_by)
        now = self._clock.now()
        idle = _why_idle(found, now)
        if idle is not None:
            _log_no_work(found, idle)
            return
        now_known = self._circumstances(found)
        message, recipient, predecessor = now_known[:3]
        if now_known.paused:
            self._store.save(found, _held_back(found), owned=False)
            _log_no_work(found, Reason.PAUSED)
            return
        if waits_for(predecessor, found, now):
            _log_no_work(found, Reason.BEHIND_OTHER_DELIVERY)
            self._dispatch.send([job], delay_seconds=ORDER_CHECK_SECONDS)
            return
        composed = compose(
            self._table,
            found,
            message,
            recipient.membership,
            settings=now_known.settings if now_known.chat is not None else None,
            templates=now_known.templates,
            now=now,
        )

        if composed.waits and now < found.counted_from + FILE_WAIT:
            _log_no_work(found, Reason.FILE_PENDING)
            self._dispatch.send([job], delay_seconds=ORDER_CHECK_SECONDS)
            return

        def claim(delivery: Delivery) -> Delivery:
            claimed = delivery.model_copy(
                update={
                    "fence": delivery.fence + 1,
                    "lease_until": lease_end(deadline),
                    "paused": None,
                    "unpaused_at": now if delivery.paused else delivery.unpaused_at,
                    "reason": None if delivery.reason == Reason.PAUSED else delivery.reason,
                }
            )
            return composed.applied_to(claimed)

        lease = DeliveryLease(self._store, found, claim)
        try:
            if composed.refusal is not None:
                lease.save(canceled(composed.refusal))
                return
            if self._admitted(lease, now_known, job):
                self._carry_on(lease, recipient, job, deadline)
        except (LostLease, NotFound):
            logger.info(
                "delivery taken over by another worker",
                extra={"delivery_id": found.id, "reason": Reason.TAKEN_OVER},
            )

    @correlated()
    def report(self, report: StatusReport) -> None:
        """Record Twilio's status report for a part (idempotent, in any order).

        Raises:
            NotFound: The delivery or the part does not exist.
            Contention: The optimistic lock failed 20 times.
        """
        delivery = self._store.read(report.tenant, report.chat_id, report.delivery_id)
        follow(delivery.followed_by)
        logger.info(
            "SMS status received from Twilio",
            extra={"status": report.status, "delivery_id": delivery.id, "part": report.part},
        )
        if report.part >= len(delivery.parts):
            raise NotFound("delivery part not found", reason=Reason.DELIVERY_MISSING)
        now = self._clock.now()
        opted_out = report.error_code in delivery.channel.opted_out_errors

        def change(delivery: Delivery) -> Delivery:
            changed = with_part(
                delivery,
                report.part,
                lambda p: reported(p, report, delivery.channel, now),
                reason=_reason_of(delivery, report.error_code),
            )
            refusal = opted_out and changed != delivery
            return canceled(PERSON_OPTED_OUT)(changed) if refusal else changed

        if opted_out and change(delivery) != delivery:
            self._store.opt_out(delivery)
        self._store.save(delivery, change, owned=False)

    def _circumstances(self, delivery: Delivery) -> _Circumstances:
        """Read a delivery's message, its recipient, the previous delivery and the pauses."""
        message_key = Message.key_of(delivery.tenant, delivery.chat_id, delivery.seq)
        chat_key = Chat.key_of(delivery.tenant, delivery.chat_id)
        keys: list[Key] = [message_key, chat_key]
        first_key = None
        if delivery.after is not None:
            first_key = Delivery.key_of(delivery.tenant, delivery.chat_id, delivery.after)
            keys.append(first_key)
        pauses = keys_of_pauses(delivery.tenant, delivery.id)
        limits = [TenantSettings.key_of(delivery.tenant), *segment_keys(delivery)]
        known = recipient_keys(delivery)
        found = self._table.get_many(list(dict.fromkeys([*keys, *known, *pauses, *limits])))
        chat = Chat.read(found, chat_key)
        tenant = TenantSettings.from_optional(found.get(limits[0]))
        settings = self._settings.overridden(tenant)
        return _Circumstances(
            Message.read(found, message_key),
            self._store.recipient_in(found, delivery),
            Delivery.read(found, first_key) if first_key is not None else None,
            chat,
            effective_in(chat, settings) if chat else settings,
            found,
            templates_of(tenant) if "message_templates" in tenant else (),
            paused=is_paused("texts", delivery.tenant, delivery.id, found),
        )

    def _admitted(self, lease: DeliveryLease, known: _Circumstances, job: DeliveryJob) -> bool:
        """Charge a delivery before its first post, and store its turn in the line's queue.

        Returns:
            Whether the worker may go on. If not, the delivery was canceled.
        """
        delivery, recipient, now = lease.delivery, known.recipient, self._clock.now()
        barred = not recipient.owns_address or _refusal_of(recipient.membership, delivery)
        if delivery.send_at is not None or barred or not delivery.parts:
            return True
        line, person = delivery.to.line.address, delivery.to.person.address
        if not delivery.channel.may_answer(person, line, known.settings.answered_countries):
            lease.save(canceled(NOT_ANSWERED))
            return False
        user = User.read(known.items, User.key_of(delivery.tenant, delivery.payer_id))
        rates = segment_rates(
            known.settings,
            user,
            now,
            pace=delivery.channel.pace(line, known.settings),
        )
        turn = self._limiter.take_turn(delivery, rates, known.items)
        if turn is None:
            lease.save(canceled(SEGMENTS_USED_UP))
            return False
        if turn.send_at <= now:
            lease.plan(_with_turn(turn, ()))
            return True
        notice = (
            parts_of(queue_notice(turn.send_at - now), delivery.channel) if turn.announced else ()
        )
        lease.save(_with_turn(turn, notice))
        return True

    def _withhold(self, lease: DeliveryLease, job: DeliveryJob) -> None:
        """Cancel a delivery to a number that no longer belongs to its user.

        If the user was merged into another user, the delivery is stored with another user id by
        now. It is not canceled then: the lease is released, and the job is sent again with a delay
        of 2 seconds.
        """
        user_id = lease.delivery.user_id
        give_up = canceled(NUMBER_LOST)
        lease.save(lambda found: give_up(found) if found.user_id == user_id else _released(found))
        if not lease.delivery.settled:
            self._dispatch.send([job], delay_seconds=ORDER_CHECK_SECONDS)

    def _carry_on(
        self, lease: DeliveryLease, known: Recipient, job: DeliveryJob, deadline: datetime
    ) -> None:
        """Post the parts in order, until all parts are handed over or a part must wait."""
        if not known.owns_address:
            self._withhold(lease, job)
            return
        recipient: Recipient | None = known
        if not lease.delivery.parts:
            lease.save(canceled(NOTHING_TO_SEND))
        posted = False
        while (index := next_part(lease.delivery)) is not None and not lease.delivery.settled:
            part = lease.delivery.parts[index]
            now = self._clock.now()
            if self._waits(lease, index, job):
                return
            if posted and not time_for_another_post(deadline, now):
                lease.save(_released)
                self._dispatch.send([job])
                return
            recipient = recipient or self._store.recipient_of(lease.delivery)
            if not recipient.owns_address:
                self._withhold(lease, job)
                return
            cause = _refusal_of(recipient.membership, lease.delivery)
            if cause is not None:
                lease.save(canceled(cause))
                return
            if part.status != "sending" or not self._lookup.settle(lease, index):
                self._post(lease, index, part)
                # Read again before the next part: the person may have opted out or lost the number.
                recipient = None
                posted = True

    def _waits(self, lease: DeliveryLease, index: int, job: DeliveryJob) -> bool:
        """If the next part may not be posted yet, release the lease and return True."""
        now, part = self._clock.now(), lease.delivery.parts[index]
        turn = lease.delivery.waits_until(index)
        if turn is not None and turn > now:
            _log_no_work(lease.delivery, Reason.LINE_BUSY)
            lease.save(_queued)
            if turn - now <= OUTBOX_GRACE:
                self._dispatch.send([job], delay_seconds=queue_delay(turn - now))
            return True
        if part.next_at is None or part.next_at <= now:
            return False
        _log_no_work(lease.delivery, Reason.NOT_DUE)
        lease.save(_released)
        # The tick sends the job of a failed part again: see `policy.RETRY`.
        if part.status in {"sending", "pending"}:
            self._dispatch.send([job], delay_seconds=queue_delay(part.next_at - now))
        return True

    def _post(self, lease: DeliveryLease, index: int, part: DeliveryPart) -> None:
        """Write the intent, post the part, and write the outcome.

        If a status callback has changed the part in the meantime, Twilio has accepted an earlier
        post, and nothing is posted.
        """
        link = self._links.issue(lease.delivery, part.file) if part.file is not None else None
        if part.file is not None and link is None:
            lease.save_part(index, without_file)
            return
        now = self._clock.now()
        intent = intended(part, now, next_look_up(now))
        lease.save_part(index, lambda stored: intent if stored == part else stored)
        if lease.delivery.parts[index].tries != intent.tries:
            return
        try:
            with span("twilio"):
                sms = sms_of_part(lease.delivery, index, self._settings, link=link)
                sent = self._sms.send(sms)
        except Ambiguous as error:
            logger.warning(
                "outcome of an SMS to Twilio unknown: %s",
                error,
                extra={"reason": Reason.OUTCOME_UNKNOWN},
            )
            self._metrics.count("PostsUnclear")
        except SmsRejected as error:
            logger.warning(
                "SMS rejected by Twilio: %s", error, extra={"reason": Reason.PROVIDER_REFUSED}
            )
            self._refused(lease, index, error.code)
        except (Throttled, Unavailable) as error:
            logger.warning(
                "SMS not accepted by Twilio, will retry: %s",
                error,
                extra={"reason": Reason.PROVIDER_UNAVAILABLE},
            )
            lease.save_part(
                index,
                lambda part: not_taken(part, self._clock.now()),
                reason=Reason.PROVIDER_UNAVAILABLE,
            )
        else:
            lease.save_part(
                index,
                lambda part: answered(part, sent, lease.delivery.channel, self._clock.now()),
            )
            logger.info(
                "SMS accepted by Twilio", extra={"delivery_id": lease.delivery.id, "part": index}
            )
            self._metrics.count("SegmentsSent", lease.delivery.parts[index].segments)

    def _refused(self, lease: DeliveryLease, index: int, code: int | None) -> None:
        def lost(part: DeliveryPart) -> DeliveryPart:
            return refused(part, code, lease.delivery.channel, self._clock.now())

        if code in lease.delivery.channel.opted_out_errors:
            self._store.opt_out(lease.delivery)
            cancel = canceled(PERSON_OPTED_OUT)
            lease.save(lambda delivery: cancel(with_part(delivery, index, lost)))
        else:
            lease.save_part(index, lost, reason=_reason_of(lease.delivery, code))


def _reason_of(delivery: Delivery, code: int | None) -> Reason | None:
    """Return the reason for a provider's error code; None if the code has no reason of its own."""
    return Reason.WINDOW_CLOSED if code in delivery.channel.closed_errors else None


def _why_idle(delivery: Delivery, now: datetime) -> Reason | None:
    """Return why a worker may not claim the delivery now; None if the worker may claim it."""
    if delivery.settled:
        return Reason.DELIVERY_SETTLED
    if delivery.lease_until is not None:
        return Reason.WORKING if delivery.lease_until > now else None
    index = next_part(delivery)
    if index is None:
        return None
    next_at, turn = delivery.parts[index].next_at, delivery.waits_until(index)
    if turn is not None and turn > now:
        return Reason.LINE_BUSY
    return Reason.NOT_DUE if next_at is not None and next_at > now else None


def _log_no_work(delivery: Delivery, reason: Reason) -> None:
    logger.info("delivery not sent now", extra={"delivery_id": delivery.id, "reason": reason})


def _refusal_of(membership: Membership | None, delivery: Delivery) -> Cancellation | None:
    """Return why the person may not get a delivery; None if the delivery is allowed."""
    if membership is None or not membership.active:
        return PERSON_LEFT
    refused = delivery.to.channel in membership.opt_outs and not delivery.confirms_opt_out
    return PERSON_OPTED_OUT if refused else None


def _held_back(found: Delivery) -> DeliveryUpdate:
    """Return a change that marks a delivery as paused, unless a worker has claimed it meanwhile."""

    def hold_back(delivery: Delivery) -> Delivery:
        if delivery.fence != found.fence or delivery.settled:
            return delivery
        return delivery.model_copy(update={"paused": True, "reason": Reason.PAUSED})

    return hold_back


def _released(delivery: Delivery) -> Delivery:
    return delivery.model_copy(update={"lease_until": None})


def _queued(delivery: Delivery) -> Delivery:
    return _released(delivery).model_copy(update={"reason": Reason.LINE_BUSY})


def _with_turn(turn: Turn, notice: tuple[DeliveryPart, ...]) -> DeliveryUpdate:
    """Return a change that stores when a delivery is sent, and puts a notice before its parts."""

    def planned(delivery: Delivery) -> Delivery:
        return delivery.model_copy(
            update={
                "send_at": turn.send_at,
                "announced": bool(notice),
                "parts": (*notice, *delivery.parts),
            }
        )

    return planned
