"""Devices: register, list and remove the phones that get a person's notifications."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from skein.errors import Conflict, NotFound, PushRefused, Transient, Unprocessable
from skein.live.models.device import MAX_DEVICES, Device, DeviceOwner, PersonDevices
from skein.models.common.storage import Delete, Is, Missing, Put, Write, any_of
from skein.models.delivery.notification import Platform
from skein.models.directory.user import User
from skein.ports import Clock, MobilePush, Table
from skein.services.common.optimistic import optimistic
from skein.settings import Settings

APNS_TOKEN = re.compile("[0-9A-Fa-f]{64,200}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The devices of people, each with the person whose notifications it shows."""

    table: Table
    clock: Clock
    settings: Settings
    mobile_push: Callable[[], MobilePush]

    def register(self, tenant: str, user_id: str, platform: Platform, token: str) -> Device:
        """Register a device for a person, whose record must be stored before (idempotent).

        A device that was registered for another person no longer belongs to that person. A person
        has at most 20 devices: the twenty-first replaces the device that was registered first.

        Raises:
            Unprocessable: The deployment has no push for the platform, or the token is not one of
                the platform's.
            Conflict: The person is being erased.
            Transient: The provider or the table is out of reach.
        """
        if platform not in self.settings.push_applications:
            raise Unprocessable(f"this deployment sends no notifications by {platform}")
        if platform == "apns" and not APNS_TOKEN.fullmatch(token):
            raise Unprocessable("a token of apns has 64 to 200 hexadecimal digits")
        try:
            address = self.mobile_push().register(platform, token)
        except PushRefused as refused:
            raise Unprocessable("the push provider refuses the token") from refused
        device = Device(
            id=Device.id_of(platform, token),
            platform=platform,
            address=address,
            registered_at=self.clock.now(),
        )
        for dropped in optimistic(self.clock, lambda: self._register_once(tenant, user_id, device)):
            try:
                self._forget(dropped)
            except Transient:
                logger.warning("failed to forget a device", extra={"device_id": dropped.id})
        return device

    def _register_once(self, tenant: str, user_id: str, device: Device) -> tuple[Device, ...]:
        """Store a device, and return the devices that it replaces."""
        user_key = User.key_of(tenant, user_id)
        own_key = PersonDevices.key_of(tenant, user_id)
        owner_key = DeviceOwner.key_of(tenant, device.id)
        found = self.table.get_many([user_key, own_key, owner_key])
        if found.get(user_key, {}).get("erasure_id") is not None:
            raise Conflict("this user is being erased", details={"user_id": user_id})
        person = PersonDevices.from_optional(found.get(own_key), tenant, user_id)
        devices = (*person.without(device.id), device)
        kept, dropped = devices[-MAX_DEVICES:], devices[:-MAX_DEVICES]
        before = DeviceOwner.must_read(found, owner_key).user_id if owner_key in found else None
        owner = DeviceOwner(tenant=tenant, device_id=device.id, user_id=user_id)
        as_read = Is("user_id", before) if before is not None else Missing()
        writes: list[Write] = [
            person.replacement(kept),
            Put(owner.key, owner.attributes(), as_read),
            *(Delete(DeviceOwner.key_of(tenant, each.id)) for each in dropped),
        ]
        if before not in {None, user_id}:
            other = self._of(tenant, str(before))
            if other.devices:
                writes.append(other.replacement(other.without(device.id)))
        self.table.transact(writes)
        return dropped

    def list(self, tenant: str, user_id: str) -> tuple[Device, ...]:
        """Return a person's devices, ordered by when they were last registered, newest last."""
        return self._of(tenant, user_id).devices

    def remove(self, tenant: str, user_id: str, device_id: str) -> None:
        """Remove a person's device, at the push provider first.

        After a crash in between, the next notification finds that the device is gone, and removes
        it.

        Raises:
            NotFound: The person has no such device.
            Transient: The provider or the table is out of reach.
        """
        device = next((one for one in self.list(tenant, user_id) if one.id == device_id), None)
        if device is None:
            raise NotFound("device not found")
        self._forget(device)
        optimistic(self.clock, lambda: self._drop_once(tenant, user_id, device_id))

    def remove_all(self, tenant: str, user_id: str) -> None:
        """Remove all devices of a person (idempotent).

        Raises:
            Transient: The provider or the table is out of reach.
        """
        for device in self.list(tenant, user_id):
            self._forget(device)
            optimistic(self.clock, partial(self._drop_once, tenant, user_id, device.id))

    def move(self, tenant: str, old: str, new: str) -> None:
        """Move the devices of a former user to the user into which it was merged (idempotent).

        If the user then has more than 20 devices, the next registration removes the oldest ones.
        """
        optimistic(self.clock, lambda: self._move_once(tenant, old, new))

    def _move_once(self, tenant: str, old: str, new: str) -> None:
        former, person = self._of(tenant, old), self._of(tenant, new)
        if not former.devices:
            return
        ids = {device.id for device in former.devices}
        own = tuple(device for device in person.devices if device.id not in ids)
        devices = sorted((*former.devices, *own), key=lambda device: device.registered_at)
        owners = [DeviceOwner(tenant=tenant, device_id=each, user_id=new) for each in ids]
        self.table.transact(
            [
                former.replacement(()),
                person.replacement(tuple(devices)),
                *(Put(owner.key, owner.attributes(), Is("user_id", old)) for owner in owners),
            ]
        )

    def _drop_once(self, tenant: str, user_id: str, device_id: str) -> None:
        person = self._of(tenant, user_id)
        left = person.without(device_id)
        if left == person.devices:
            return
        theirs = any_of(Missing(), Is("user_id", user_id))
        self.table.transact(
            [
                person.replacement(left),
                Delete(DeviceOwner.key_of(tenant, device_id), theirs),
            ]
        )

    def _forget(self, device: Device) -> None:
        """Delete a device at the push provider, unless its platform is no longer supported."""
        if device.platform in self.settings.push_applications:
            self.mobile_push().forget(device.address)

    def _of(self, tenant: str, user_id: str) -> PersonDevices:
        item = self.table.get(PersonDevices.key_of(tenant, user_id))
        return PersonDevices.from_optional(item, tenant, user_id)
