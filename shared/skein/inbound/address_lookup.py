"""What is stored about the sender of an SMS: the address's owner, and the chat on the line."""

from datetime import date
from typing import NamedTuple

from skein.errors import Forbidden
from skein.models.common.address import Route
from skein.models.common.reason import Reason
from skein.models.common.storage import Item
from skein.models.config.overrides import Overrides, Retention, TenantSettings
from skein.models.delivery.sms import ReceivedSms
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.ports import Table
from skein.services.config.resolution import merged_overrides
from skein.services.config.retention import retention_of


class DirectChat(NamedTuple):
    """The sender and the chat of an SMS, with the chat's setting overrides.

    Attributes:
        owner: The owner of the address, as stored before the SMS.
        channel: The channel of the SMS.
    """

    user_id: str
    chat_id: str
    overrides: Overrides
    owner: AddressOwner
    channel: str


class AddressLookup(NamedTuple):
    """The stored data about a person's address on a line.

    Attributes:
        owner: The owner of the address; None for an unknown address, and after a long silence.
        silent_owner: The former owner, if the sender counts as a new person after a long silence.
        chat: The pointer to the chat of the address and the line; None before the first contact.
        overrides: The setting overrides of the agent, the line and the tenant.
        retention: The tenant's retention.
        is_line: Whether the address is itself a line of the same tenant.
        channel: The channel of the SMS.
        tenant_settings: The stored settings of the tenant, so that they are read only once.
    """

    owner: AddressOwner | None
    silent_owner: AddressOwner | None
    chat: AddressChat | None
    overrides: Overrides
    retention: Retention | None
    is_line: bool
    channel: str
    tenant_settings: Item | None

    def fitting(self, *, line: Line, instead_of: DirectChat | None = None) -> DirectChat | None:
        """Return the stored chat; None if it equals `instead_of` or belongs to another agent."""
        if self.owner is None or self.chat is None:
            return None
        direct = DirectChat(
            self.owner.user_id, self.chat.chat_id, self.overrides, self.owner, self.channel
        )
        gone = instead_of is not None and direct[:2] == instead_of[:2]
        return None if self.chat.agent_id != line.agent_id or gone else direct


def look_up_address(
    table: Table,
    line: Line,
    route: Route,
    *,
    today: date,
    silence_days: int,
    received: ReceivedSms | None = None,
) -> AddressLookup:
    """Read the data about the address of an SMS's sender, in one database request.

    Args:
        silence_days: The number of days without an SMS after which the sender counts as a new
            person; 0 for never.
        received: The SMS, to check that no SMS from another address had the same id.

    Raises:
        Forbidden: The id of the SMS came from another address before.
    """
    sender = route.person
    owner_key = AddressOwner.key_of(line.tenant, sender)
    chat_key = AddressChat.key_of(line.tenant, sender, line.address)
    agent_key = Agent.key_of(line.tenant, line.agent_id)
    tenant_key = TenantSettings.key_of(line.tenant)
    sender_key = Line.key_of(sender)
    keys = [owner_key, chat_key, agent_key, tenant_key, sender_key]
    found = table.get_many([*keys, received.key] if received is not None else keys)
    before = found.get(received.key) if received is not None else None
    if received is not None and before is not None and received.is_from_another(before):
        raise Forbidden("this SMS ID was already used by another number", reason=Reason.REPEATED)
    agent = Agent.read(found, agent_key)
    tenant = TenantSettings.from_optional(found.get(tenant_key))
    owner = AddressOwner.read(found, owner_key)
    silent = owner is not None and owner.has_lapsed(today, silence_days, route.channel)
    return AddressLookup(
        None if silent else owner,
        owner if silent else None,
        AddressChat.read(found, chat_key),
        merged_overrides(agent, line, tenant),
        retention_of(tenant),
        is_line=found.get(sender_key, {}).get("tenant") == line.tenant,
        channel=route.channel,
        tenant_settings=found.get(tenant_key),
    )
