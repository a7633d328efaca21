"""Devices: the phones and tablets on which the app shows notifications."""

import hashlib
from typing import Self

from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.common.storage import META, Delete, Item, Key, Put, at_version
from skein.models.delivery.notification import Notification, Platform
from skein.models.directory.user import User

MAX_DEVICES = 20  # of one person


class Device(Value):
    """A device in the list of its person. The token itself is stored only at the push provider.

    Attributes:
        id: Derived from the token, so that the same token is the same device.
        address: The id of the device at the push provider.
        registered_at: When the app last registered the device.
    """

    id: Identifier
    platform: Platform
    address: str
    registered_at: Instant

    @staticmethod
    def id_of(platform: Platform, token: str) -> str:
        return f"dev_{hashlib.sha256(f'{platform} {token}'.encode()).hexdigest()[:32]}"


class PersonDevices(Stored):
    """The devices of one person, so that a notification reads one item for each person.

    Attributes:
        devices: The devices, ordered by when they were last registered, newest last.
        version: The optimistic lock; 0 if nothing is stored.
    """

    tenant: Tenant
    user_id: Identifier
    devices: tuple[Device, ...] = ()
    version: int = 0

    @staticmethod
    def key_of(tenant: str, user_id: str) -> "Key[PersonDevices]":
        return Key(User.key_of(tenant, user_id).pk, "DEVICES")

    @classmethod
    def from_optional(cls, item: Item | None, tenant: str, user_id: str) -> Self:
        """Return a person's devices from their item; empty if there is no item."""
        return cls.from_item(item) if item else cls(tenant=tenant, user_id=user_id)

    @property
    def key(self) -> "Key[PersonDevices]":
        return self.key_of(self.tenant, self.user_id)

    def without(self, device_id: str) -> tuple[Device, ...]:
        """Return all devices except the given one."""
        return tuple(each for each in self.devices if each.id != device_id)

    def replacement(self, devices: tuple[Device, ...]) -> Put | Delete:
        """Return the write that replaces the devices (optimistic lock)."""
        condition = at_version(self.version)
        if not devices:
            return Delete(self.key, condition)
        changed = self.model_copy(update={"devices": devices, "version": self.version + 1})
        return Put(self.key, changed.attributes(), condition)


class DeviceOwner(Stored):
    """The person who gets a device's notifications: the last one who signed in on it."""

    tenant: Tenant
    device_id: Identifier
    user_id: Identifier

    @staticmethod
    def key_of(tenant: str, device_id: str) -> "Key[DeviceOwner]":
        return Key(f"{key_part(tenant)}#DEVICE#{key_part(device_id)}", META)

    @property
    def key(self) -> "Key[DeviceOwner]":
        return self.key_of(self.tenant, self.device_id)


def notification_of(chat_id: str, text: str) -> Notification:
    """Return a notification of a chat, whose collapse key fits every provider."""
    key = hashlib.sha256(chat_id.encode()).hexdigest()[:32]
    return Notification(text=text, chat_id=chat_id, collapse_key=key)
