"""The providers of messages. Each provider has a module in `webhooks` that reads its webhooks."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, Protocol

from skein.bootstrap.ports import Ports
from skein.channels import registry
from skein.models.delivery.sms import InboundSms, StatusReport
from webhooks.event import Webhook

Fields = Mapping[str, Any]


class Provider(Protocol):
    """The module of a provider.

    Attributes:
        NOTHING_TO_SAY: The response to an inbound message that makes the provider send nothing.
    """

    NOTHING_TO_SAY: Mapping[str, Any]

    def signed_fields(self, webhook: Webhook, ports: Ports) -> Fields:
        """Verify the signature of a webhook, and return the fields of its body.

        Raises:
            Forbidden: The signature is missing or wrong.
            Invalid: The body cannot be parsed.
            TooLarge: The body is too long.
        """
        ...

    def inbound_sms(self, fields: Fields) -> InboundSms:
        """Parse an inbound message.

        Raises:
            Invalid: A field is missing or malformed.
        """
        ...

    def status_report(self, webhook: Webhook, fields: Fields) -> StatusReport | None:
        """Parse the status of a message that Skein sent; None for an unknown status.

        Raises:
            Invalid: A field of the body or of the callback's URL is missing or malformed.
        """
        ...

    def named_in(self, fields: Fields, *, line: Literal["From", "To"]) -> dict[str, str]:
        """Return the valid log fields that identify a message.

        Args:
            fields: The fields of the body; empty if the signature is wrong.
            line: The field with the line's number: `To` in a message to Skein, `From` in a message
                that Skein sent.
        """
        ...


def _module(name: str) -> Provider:
    module: Any = import_module(f"webhooks.{name}")
    return module  # type: ignore[no-any-return] # a test compares the modules with `Provider`


PROVIDERS: Mapping[str, Provider] = {name: _module(name) for name in registry.PROVIDERS}

OTHERWISE = PROVIDERS["twilio"]
"""The provider for paths without a provider's name, which a function URL accepts.

This provider refuses all requests that it has not signed itself.
"""
