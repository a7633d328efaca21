"""Lines of a tenant: addresses, each of which belongs to one agent."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein.errors import ConditionFailed, Conflict, NotFound, Unprocessable
from skein.models.common.address import sms_address
from skein.models.common.storage import Delete, Is, Missing, Put, Write
from skein.models.directory.line import Line, lines_relation
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation
from skein.services.directory.agents import agent_is_there

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.models.api.directory import LineChange, NewLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Lines and their records; an address is a line of one tenant only."""

    table: Table
    clock: Clock

    def create(self, tenant: str, new: "NewLine") -> Line:
        """Create a line: connect a phone number to an agent.

        Raises:
            Conflict: The number is already a line, perhaps of another tenant.
            Unprocessable: The agent does not exist.
        """
        line = Line(
            tenant=tenant,
            address=sms_address(new.phone),
            agent_id=new.agent_id,
            settings=new.settings.values,
            created_at=self.clock.now(),
        )
        try:
            self.table.transact(
                [Put(line.key, line.to_item(), Missing()), agent_is_there(tenant, line.agent_id)]
            )
        except ConditionFailed as failure:
            if 1 in failure.failed:
                raise Unprocessable("agent not found") from failure
            raise Conflict("this phone number is already a line") from failure
        return line

    def get(self, tenant: str, phone: str) -> Line:
        """Return a line.

        Raises:
            NotFound: The number is not a line of this tenant.
        """
        try:
            item = self.table.get(Line.key_of(sms_address(phone)))
        except ValueError:
            item = None
        if item is None or item["tenant"] != tenant:
            raise NotFound("line not found")
        return Line.from_item(item)

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
            Unprocessable: The agent does not exist.
        """
        return optimistic(self.clock, lambda: self._change_once(tenant, phone, change))

    def _change_once(self, tenant: str, phone: str, change: "LineChange") -> Line:
        line = self.get(tenant, phone)
        if not change.given:
            return line
        given = change.given
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
        """Delete a line; its chats stay.

        Raises:
            NotFound: The number is not a line of this tenant.
        """
        line = self.get(tenant, phone)
        try:
            self.table.write(Delete(line.key, Is("tenant", tenant)))
        except ConditionFailed as failure:
            raise NotFound("line not found") from failure
