"""Notifications: notify the phones of a chat's people when someone else has written.

A notification contains no words of the chat. The push job sends it after the frames, so that a
person who is looking at the chat gets none. If a job is handled twice, the second notification
replaces the first on the phone.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from skein.errors import DeviceGone, NotFound, PushRefused, SkeinError, Transient
from skein.live.devices import Devices
from skein.live.models.connection import PersonConnections
from skein.live.models.device import Device, PersonDevices, notification_of
from skein.models.chats.chat import Message
from skein.models.chats.membership import Membership
from skein.models.common.storage import Key
from skein.models.delivery.notification import Notification
from skein.models.outbox.jobs import PushJob
from skein.ports import Clock, Metrics, MobilePush, ParallelMap, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.pagination import read_items
from skein.settings import Settings

logger = logging.getLogger(__name__)


class _Ring(NamedTuple):
    """A notification for one device of a person."""

    tenant: str
    user_id: str
    device: Device
    notification: Notification


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """The service that sends notifications to the phones of a chat's people.

    Args:
        devices: Removes devices that are gone.
        mobile_push: Returns the push provider.
        parallel_map: Notifies several devices at once.
    """

    table: Table
    clock: Clock
    settings: Settings
    devices: Devices
    mobile_push: Callable[[], MobilePush]
    parallel_map: ParallelMap
    metrics: Metrics

    def notify(self, job: PushJob, snapshot: ChatSnapshot, reached: Collection[str]) -> None:
        """Notify each person of the job's newest message that they neither wrote nor read.

        Args:
            reached: The ids of the connections that were sent all their frames of the job.

        Raises:
            Transient: Some notifications may not have been accepted; the others were sent.
        """
        if not self.settings.push_applications or snapshot.chat.discarded_at is not None:
            return
        if not any(event.type in {"message", "resync"} for event in job.events):
            return
        people = {
            PersonDevices.key_of(job.tenant, membership.member.id): membership
            for membership in snapshot.members
            if _by_app(membership, snapshot)
        }
        found = self.table.get_many(list(people)) if people else {}
        devices = {people[key].member.id: PersonDevices.must_read(found, key) for key in found}
        if devices:
            readers = [membership for key, membership in people.items() if key in found]
            self._ring(list(self._rings(job, snapshot, readers, devices, reached)))

    def _rings(
        self,
        job: PushJob,
        snapshot: ChatSnapshot,
        readers: Sequence[Membership],
        devices: dict[str, PersonDevices],
        reached: Collection[str],
    ) -> Iterator[_Ring]:
        """Yield the notifications of a job, at most one for each device."""
        chat, now = snapshot.chat, self.clock.now()
        seqs = {event.seq for event in job.events if event.type == "message" and event.seq}
        if any(event.type == "resync" for event in job.events):  # the messages are not named
            seqs.add(chat.last_seq)
        messages = [Message.key_of(chat.tenant, chat.id, seq) for seq in sorted(seqs)]
        live = {each.member.id: _live_key(each) for each in readers}
        found = read_items(self.table, [*messages, *live.values()])
        written = [chat.as_now(Message.must_read(found, key)) for key in messages if key in found]
        for reader in readers:
            user_id = reader.member.id
            connections = PersonConnections.from_optional(
                found.get(live[user_id]), chat.tenant, user_id
            )
            shown = (each for each in connections.open_at(now) if each.shows == chat.id)
            if any(each.id in reached for each in shown):
                continue
            newest = next((each for each in reversed(written) if _rings_for(each, reader)), None)
            if newest is not None:
                notification = notification_of(chat.id, _text_of(newest))
                for device in devices[user_id].devices:
                    yield _Ring(chat.tenant, user_id, device, notification)

    def _ring(self, rings: Sequence[_Ring]) -> None:
        """Send notifications, and remove the devices that are gone."""
        failures = self.parallel_map(self._send, rings)
        sent = sum(failure is None for failure in failures)
        lost = sum(isinstance(failure, PushRefused) for failure in failures)
        if sent:
            self.metrics.count("NotificationsSent", sent)
        if lost:
            self.metrics.count("NotificationsLost", lost)
        for ring, failure in zip(rings, failures, strict=True):
            if isinstance(failure, DeviceGone):
                with suppress(NotFound):
                    self.devices.remove(ring.tenant, ring.user_id, ring.device.id)
        for failure in failures:
            if isinstance(failure, Transient):
                raise failure

    def _send(self, ring: _Ring) -> SkeinError | None:
        """Send one notification; return the error if it failed."""
        try:
            self.mobile_push().notify(ring.device.address, ring.notification)
        except (DeviceGone, Transient) as error:
            return error
        except PushRefused as error:
            logger.warning("notification refused", exc_info=True)
            return error
        return None


def _by_app(membership: Membership, snapshot: ChatSnapshot) -> bool:
    """Return whether a member is a person who reads the chat in the app instead of by SMS."""
    if not membership.active or membership.member.kind != "user":
        return False
    return snapshot.chat.kind != "direct" or membership.route is None


def _rings_for(message: Message, reader: Membership) -> bool:
    """Return whether a message is new to a member: written by someone else and not read yet."""
    if not message.conversational or message.sender.ref == reader.member.ref:
        return False
    return message.seq > max(reader.joined_seq, reader.seen_seq)


def _text_of(message: Message) -> str:
    """Return what a phone shows for a message: who wrote, but not the words."""
    return f"{message.sender.name} {'wrote' if message.sender.kind == 'user' else 'answered'}"


def _live_key(reader: Membership) -> Key:
    return PersonConnections.key_of(reader.tenant, reader.member.id)
