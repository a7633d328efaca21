"""`Sms` through the provider of each channel."""

from datetime import date, datetime
from importlib import import_module

from skein.channels.registry import PROVIDERS, channel_named
from skein.models.delivery.sms import OutgoingSms, SentSms
from skein.ports import Secrets, Sms
from skein.settings import Settings

# Imported at the first message, or by `load_adapters`, with their own libraries.
LIBRARIES = tuple(path.rpartition(".")[0] for path in PROVIDERS.values())


class TextProviders:
    """`Sms` on all providers; only Twilio provides files and knows reassigned numbers.

    Args:
        secrets: The secret store that holds the credentials, in one secret for all providers.
        settings: The settings, which name the secret.
    """

    def __init__(self, secrets: Secrets, settings: Settings) -> None:
        self._secrets = secrets
        self._settings = settings
        self._built: dict[str, Sms] = {}

    def send(self, sms: OutgoingSms) -> SentSms:
        return self._provider(sms.channel).send(sms)

    def find(self, sms: OutgoingSms, *, since: datetime) -> tuple[SentSms, ...]:
        return self._provider(sms.channel).find(sms, since=since)

    def has_number(self, phone: str, channel: str = "sms") -> bool:
        return self._provider(channel).has_number(phone, channel)

    def media(self, url: str, *, max_bytes: int) -> bytes | None:
        return self._provider("sms").media(url, max_bytes=max_bytes)

    def was_reassigned(self, phone: str, *, since: date) -> bool:
        return self._provider("sms").was_reassigned(phone, since=since)

    def _provider(self, channel: str) -> Sms:
        name = channel_named(channel).provider
        if name not in self._built:
            module, _, kind = PROVIDERS[name].rpartition(".")
            provider: Sms = getattr(import_module(module), kind)(self._secrets, self._settings)
            self._built.setdefault(name, provider)
        return self._built[name]
