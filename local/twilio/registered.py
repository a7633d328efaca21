"""What is registered for the sandbox's account: senders and templates of WhatsApp.

At Twilio, an operator registers both in advance. In the sandbox, each assigned number is a sender,
and the templates are those in the settings of the line's tenant.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from local.demo import LINE
from skein.models.common.address import phone_address
from skein.models.config.overrides import TenantSettings
from skein.models.config.templates import MessageTemplate
from skein.models.directory.line import Line
from skein.ports import Table
from skein.services.config.message_templates import templates_of
from skein.services.directory.assigned_numbers import AssignedNumbers


@dataclass(frozen=True, slots=True)
class RegisteredSenders:
    """The senders and templates of the sandbox's account."""

    table: Table
    numbers: AssignedNumbers

    def senders(self) -> Iterator[str]:
        """Yield the numbers that may send WhatsApp messages."""
        yield LINE
        yield from (number.address.address for number in self.numbers.all())

    def template(self, number: str, sid: str) -> MessageTemplate | None:
        """Return the template with this id from the settings of the line's tenant."""
        line = self.table.get(Line.key_of(phone_address(number)))
        if line is None:
            return None
        tenant = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(line["tenant"])))
        return next((each for each in templates_of(tenant) if each.content_sid == sid), None)
