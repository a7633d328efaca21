"""Webhooks as Twilio sends them: the recorded events, with other fields, signed or forged."""

import base64
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from twilio.request_validator import RequestValidator

from skein import bootstrap
from skein.adapters.twilio.signature import TwilioSignature
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets
from tests.support.api_client import Context, recorded
from tests.support.builders import World
from tests.support.scripted_twilio import ACCOUNT

BASE_URL = "https://skein.example.com/dev"
SETTINGS = Settings(twilio_secret="twilio", public_base_url=BASE_URL)


class Multi(dict[str, list[str]]):
    """Form fields as Twilio's validator takes them from web frameworks."""

    def getall(self, name: str) -> list[str]:
        return self[name]


def signed_world(**changed: Any) -> World:
    """A world that knows Twilio's signature, with an agent on a line.

    Args:
        changed: Settings with other values.
    """
    secrets = MemorySecrets({"twilio": ACCOUNT})
    settings = SETTINGS.model_copy(update=changed)
    world = World(settings, overrides={"verifier": TwilioSignature(secrets, settings)})
    world.secret_values["twilio"] = ACCOUNT
    world.agent()
    world.line()
    return world


def invoke(function: ModuleType, world: World, event: dict[str, Any]) -> Any:
    """Call a function's handler in a world, as Lambda would."""
    bootstrap.use(world.app)
    return function.handler(event, Context(function))


@dataclass(frozen=True)
class Webhook:
    """A recorded webhook, as a test wants it."""

    event: dict[str, Any]
    fields: Sequence[tuple[str, str]]
    query: str
    token: str = ACCOUNT["auth_token"]
    base_url: str = BASE_URL
    fragment: str = ""

    @classmethod
    def recorded(cls, name: str) -> Self:
        """The payload `events/<name>.json`."""
        event = recorded(name)
        body = event["body"]
        if event["isBase64Encoded"]:
            body = base64.b64decode(body).decode()
        fields = parse_qsl(body, keep_blank_values=True)
        return cls(event, tuple(fields), event["rawQueryString"])

    def but(self, **changed: str | None) -> Self:
        """The same with other fields; None leaves one out."""
        kept = [(name, value) for name, value in self.fields if name not in changed]
        added = [(name, value) for name, value in changed.items() if value is not None]
        return replace(self, fields=(*kept, *added))

    def asking(self, query: str) -> Self:
        """The same with another query string."""
        return replace(self, query=query)

    def signature(self) -> str:
        """Twilio's signature, by Twilio's own library."""
        path = self.event["routeKey"].split(" ")[1]
        url = f"{self.base_url}{path}{'?' if self.query else ''}{self.query}{self.fragment}"
        names = {name for name, _ in self.fields}
        grouped = Multi({name: [v for n, v in self.fields if n == name] for name in names})
        return str(RequestValidator(self.token).compute_signature(url, grouped))

    def signed(self, **headers: str | None) -> dict[str, Any]:
        """The event, with the right signature unless `headers` has another one."""
        event = deepcopy(self.event)
        body = urlencode(self.fields).encode()
        encoded = event["isBase64Encoded"]
        event["body"] = base64.b64encode(body).decode() if encoded else body.decode()
        event["rawQueryString"] = self.query
        event["headers"] |= {"x-twilio-signature": self.signature()}
        for name, value in headers.items():
            event["headers"].pop(name.replace("_", "-").lower(), None)
            if value is not None:
                event["headers"][name.replace("_", "-")] = value
        return event
