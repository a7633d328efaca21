"""Lines of a tenant; each line connects a phone number to one agent."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein.channels.registry import channel_named
from skein.errors import ConditionFailed, Conflict, NotFound, Rejected, Unprocessable
from skein.models.common.address import address_at
from skein.models.common.storage import Check, Delete, Is, Missing, Put, Write, any_of, gone
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.line import Line, ReservedNumber, lines_relation
from skein.ports import Clock, Sms, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation
from skein.services.directory.agents import agent_is_there
from skein.services.directory.assigned_numbers import AssignedNumbers
from skein.settings import Settings

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.models.api.directory import LineChange, NewLine

NOT_ASSIGNED = "this phone number is not assigned to the tenant"
AGENT_CHECK = 2  # the position of this check in the transaction of a new line


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The service that manages lines; a number can be a line of only one tenant."""

    table: Table
    clock: Clock
    numbers: AssignedNumbers
    sms: Callable[[], Sms]  # imported for new lines only
    settings: Settings

    def create(self, tenant: str, new: "NewLine") -> Line:
        """Create a line: connect a phone number of the tenant to an agent.

        On the local stack, an unassigned number is assigned to the first tenant that asks for it.

        Raises:
            Conflict: The number is already a line of the tenant, or the phone of a person.
            Unprocessable: The agent does not exist, the number is not assigned to the tenant, or
                the account at the SMS provider does not have the number. A number of another tenant
                is rejected with the same error as an unassigned number.
            Unavailable: The SMS provider did not answer.
        """
        self._check_number(tenant, new.phone, new.channels)
        line = Line(
            tenant=tenant,
            address=address_at(new.phone),
            agent_id=new.agent_id,
            channels=new.channels,
            settings=new.settings.values,
            created_at=self.clock.now(),
        )
        reserved = ReservedNumber.key_of(line.address)
        own_or_free = any_of(gone(line.created_at), Is("tenant", tenant))
        try:
            self.table.transact(
                [
                    Put(line.key, line.to_item(), Missing()),
                    Delete(reserved, own_or_free),
                    agent_is_there(tenant, line.agent_id),
                    Check(AddressOwner.key_of(tenant, line.address), Missing()),
                ]
            )
        except ConditionFailed as failure:
            raise self._refusal(line, failure) from failure
        return line

    def _check_number(self, tenant: str, phone: str, channels: Iterable[str]) -> None:
        """Check that a number is assigned to the tenant, and that the account can send from it.

        Raises:
            Unprocessable: The number is not assigned to the tenant, or the account cannot send from
                it.
        """
        assigned = self.numbers.tenant_of(phone)
        if assigned != tenant and not (assigned is None and self.settings.local):
            raise Unprocessable(NOT_ASSIGNED)
        self._check_account(phone, channels)

    def _check_account(self, phone: str, channels: Iterable[str]) -> None:
        """Check that the account at the SMS provider can send from a number on all channels.

        Raises:
            Unprocessable: The account cannot send from the number on one of the channels.
        """
        for channel in channels:
            if not self.sms().has_number(phone, channel):
                title = channel_named(channel).title
                raise Unprocessable(
                    f"the account at the SMS provider does not have this phone number for {title}"
                )

    def _refusal(self, line: Line, failure: ConditionFailed) -> Rejected:
        """Return the error that says why a line was not created, without data of other tenants."""
        item = self.table.get(line.key)
        if 1 in failure.failed or (item is not None and item["tenant"] != line.tenant):
            return Unprocessable(NOT_ASSIGNED)
        if 0 in failure.failed:
            return Conflict("this phone number is already a line")
        if AGENT_CHECK in failure.failed:
            return Unprocessable("agent not found")
        return Conflict("this phone number belongs to a person")

    def get(self, tenant: str, phone: str) -> Line:
        """Return a line.

        Raises:
            NotFound: The number is not a line of this tenant.
        """
        try:
            line = Line.read(self.table, Line.key_of(address_at(phone)))
        except ValueError:
            line = None
        if line is None or line.tenant != tenant:
            raise NotFound("line not found")
        return line

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Line]:
        """List a page of a tenant's lines, by phone number.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_relation(
            self.table,
            lines_relation(tenant),
            Line,
            of="lines",
            limit=limit,
            cursor=cursor,
            keep=lambda line: line.tenant == tenant,
        )

    def change(self, tenant: str, phone: str, change: "LineChange") -> Line:
        """Connect a line to another agent, or change its settings.

        Raises:
            NotFound: The number is not a line of this tenant.
            Unprocessable: The agent does not exist, or the account at the provider cannot send from
                the number on a new channel.
            Unavailable: The SMS provider did not answer.
        """
        return optimistic(self.clock, lambda: self._change_once(tenant, phone, change))

    def _change_once(self, tenant: str, phone: str, change: "LineChange") -> Line:
        line = self.get(tenant, phone)
        if not change.given:
            return line
        given = change.given
        self._check_account(phone, set(given.get("channels", ())) - set(line.channels))
        if "settings" in given:
            given["settings"] = given["settings"].applied_to(line.settings)
        revised, write = revise(line, given)
        writes: list[Write] = [write]
        if "agent_id" in given:
            writes.append(agent_is_there(tenant, revised.agent_id))
        try:
            self.table.transact(writes)
        except ConditionFailed as failure:
            if 1 in failure.failed:
                raise Unprocessable("agent not found") from failure
            raise
        return revised

    def delete(self, tenant: str, phone: str) -> None:
        """Delete a line; its chats stay, and its number is reserved for the tenant for 30 days.

        Raises:
            NotFound: The number is not a line of this tenant.
        """
        line = self.get(tenant, phone)
        try:
            reserved = ReservedNumber.of(line, self.clock.now())
            self.table.transact(
                [Delete(line.key, Is("tenant", tenant)), Put(reserved.key, reserved.to_item())]
            )
        except ConditionFailed as failure:
            raise NotFound("line not found") from failure
