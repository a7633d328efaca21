"""`Sms` by the provider of each message's channel."""

from collections.abc import Mapping
from datetime import date, datetime
from functools import cached_property
from importlib import import_module

from skein.channels.registry import PROVIDERS, channel_named
from skein.models.delivery.sms import OutgoingSms, SentSms
from skein.ports import Secrets, Sms
from skein.settings import Settings

# The modules of the providers, and what those import at the first message.
LIBRARIES = tuple(
    library
    for module in (import_module(path.rpartition(".")[0]) for path in PROVIDERS.values())
    for library in (module.__name__, *getattr(module, "LIBRARIES", ()))
)


class TextProviders:
    """`Sms` on all providers. Twilio alone knows files and numbers that have a new owner.

    Args:
        secrets: The secret store that holds the credentials, in one secret for all providers.
        settings: The settings, which name the secret.
    """

    def __init__(self, secrets: Secrets, settings: Settings) -> None:
        self._secrets = secrets
        self._settings = settings

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

    @cached_property
    def _providers(self) -> Mapping[str, Sms]:
        built = {}
        for name, path in PROVIDERS.items():
            module, _, kind = path.rpartition(".")
            built[name] = getattr(import_module(module), kind)(self._secrets, self._settings)
        return built

    def _provider(self, channel: str) -> Sms:
        return self._providers[channel_named(channel).provider]
