"""Push provider of the local stack, which keeps the notifications that phones would show."""

from collections import deque
from dataclasses import dataclass
from threading import Lock

from skein.errors import DeviceGone
from skein.models.common.base import rfc3339
from skein.models.delivery.notification import Notification, Platform
from skein.ports import Clock

MAX_SHOWN = 100
GONE = "0" * 64  # a token whose device is gone at the first notification, for trials


@dataclass(frozen=True)
class ShownNotification:
    """A notification as a phone shows it.

    Attributes:
        platform: The platform of the phone.
        token: The token with which the app registered the phone.
        at: When the phone showed it.
    """

    platform: str
    token: str
    text: str
    chat_id: str
    collapse_key: str
    at: str


class LocalPush:
    """`MobilePush` that keeps the notifications in memory.

    The address of a device contains its platform and token, so devices stay registered after a
    restart.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._shown: deque[ShownNotification] = deque(maxlen=MAX_SHOWN)

    def register(self, platform: Platform, token: str) -> str:
        return f"{platform}/{token}"

    def forget(self, address: str) -> None:
        """See `skein.ports.MobilePush`."""

    def notify(self, address: str, notification: Notification) -> None:
        """See `skein.ports.MobilePush`.

        As on phones, a new notification of a chat replaces the last one of this chat.
        """
        platform, _, token = address.partition("/")
        if token == GONE:
            raise DeviceGone("the app is no longer on the device")
        shown = ShownNotification(
            platform=platform,
            token=token,
            text=notification.text,
            chat_id=notification.chat_id,
            collapse_key=notification.collapse_key,
            at=rfc3339(self._clock.now()),
        )
        same = (platform, token, notification.collapse_key)
        with self._lock:
            others = [
                each
                for each in self._shown
                if (each.platform, each.token, each.collapse_key) != same
            ]
            self._shown = deque([*others, shown], maxlen=MAX_SHOWN)

    def shown(self) -> list[ShownNotification]:
        """Return the notifications on all phones, newest first."""
        with self._lock:
            return list(reversed(self._shown))
