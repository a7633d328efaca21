"""A push provider that keeps what the phones were shown."""

from skein.errors import DeviceGone
from skein.models.delivery.notification import Notification, Platform


class FakePush:
    """`MobilePush` in memory."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.shown: list[tuple[str, Notification]] = []
        self.gone: set[str] = set()
        self.failing: Exception | None = None

    def register(self, platform: Platform, token: str) -> str:
        """See `skein.ports.MobilePush`."""
        if self.failing is not None:
            raise self.failing
        address = f"{platform}/{token[:8]}"
        self.known[address] = token
        self.gone.discard(address)
        return address

    def forget(self, address: str) -> None:
        """See `skein.ports.MobilePush`."""
        self.known.pop(address, None)

    def notify(self, address: str, notification: Notification) -> None:
        """See `skein.ports.MobilePush`."""
        if address in self.gone or address not in self.known:
            raise DeviceGone(address)
        if self.failing is not None:
            raise self.failing
        self.shown.append((address, notification))

    def texts(self, address: str) -> list[str]:
        """Return what a phone showed, oldest first; each text replaces the one before."""
        return [notification.text for each, notification in self.shown if each == address]
