"""Assigned numbers: the phone numbers that the deployment's owner assigns to tenants."""

from collections.abc import Iterator
from dataclasses import dataclass

from skein.errors import Conflict
from skein.models.common.address import address_at
from skein.models.common.storage import Put
from skein.models.directory.assigned_number import NUMBERS, AssignedNumber
from skein.models.directory.line import Line, ReservedNumber
from skein.ports import Clock, NumbersTable, Table
from skein.services.common.pagination import items_under


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedNumbers:
    """The service that reads and assigns the numbers of the deployment.

    The deployed Lambda functions may read the assignments, but not change them.
    """

    numbers: NumbersTable
    table: Table
    clock: Clock

    def tenant_of(self, phone: str) -> str | None:
        """Return the tenant of a number in E.164; None if the number is not assigned."""
        number = AssignedNumber.read(self.numbers, AssignedNumber.key_of(address_at(phone)))
        return number.tenant if number is not None else None

    def assign(self, tenant: str, phone: str) -> AssignedNumber:
        """Assign a number in E.164 to a tenant, even if another tenant had it (idempotent).

        Raises:
            Conflict: The number is a line of another tenant, or reserved for another tenant.
        """
        address = address_at(phone)
        keys = [Line.key_of(address), ReservedNumber.key_of(address)]
        for item in self.table.get_many(keys).values():
            if item["tenant"] != tenant:
                raise Conflict(
                    "the number is a line of another tenant, or was one in the last 30 days",
                    details={"tenant": item["tenant"]},
                )
        number = AssignedNumber(tenant=tenant, address=address, assigned_at=self.clock.now())
        self.numbers.write(Put(number.key, number.to_item()))
        return number

    def all(self) -> Iterator[AssignedNumber]:
        """Yield all assigned numbers, in order."""
        yield from AssignedNumber.each_of(items_under(self.numbers, NUMBERS, ""))
