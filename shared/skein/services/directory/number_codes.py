"""Number codes: send a code to a phone number to prove that the number is a person's.

The worker that sends the SMS generates the code, so that the code itself is never stored or queued.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from skein.channels.sms import SMS
from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.address import Address, phone_address
from skein.models.common.storage import Delete, Is, Put, Query, Update, all_of
from skein.models.directory.address_index import AddressChat, address_partition
from skein.models.directory.line import Line
from skein.models.directory.number_code import MAX_TRIES, VALID_FOR, NumberCode
from skein.models.directory.user import User
from skein.models.outbox.jobs import NumberCodeJob
from skein.models.quotas.limit import DAY
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic
from skein.services.directory.lines import Lines
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.rate_limits import RateLimiter


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberCodes:
    """The service that requests codes for phone numbers and checks them."""

    table: Table
    clock: Clock
    ids: Ids
    lines: Lines
    limiter: RateLimiter
    dispatch: Dispatch

    def request(self, tenant: str, user_id: str, phone: str) -> NumberCode:
        """Send a code to a phone number, in place of the user's earlier code for the number.

        The result does not depend on who owns the number, so that a person learns nothing about
        others.

        Args:
            phone: The number in E.164.

        Raises:
            NotFound: The user does not exist or is being erased.
            Unprocessable: The number is a line.
            Conflict: The tenant has no line with SMS.
            RateLimited: The user, the number or the tenant has received too many codes.
            Transient: The job was not queued; the request can be repeated.
        """
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        address = phone_address(phone)
        line = self._line_to(tenant, address)
        self.limiter.admit_code(tenant, user_id, phone)
        now = self.clock.now()
        code = NumberCode(
            tenant=tenant,
            user_id=user_id,
            address=address,
            id=self.ids.ulid(),
            line=line,
            valid_until=now + VALID_FOR,
            expires_at=int((now + DAY).timestamp()),
        )
        self.table.write(Put(code.key, code.to_item()))
        self._queue(code, phone)
        return code

    def requested(self, tenant: str, user_id: str, phone: str, code_id: str) -> NumberCode:
        """Return the code for a repeated request; queue the code again if it was not sent yet.

        Raises:
            NotFound: The code was used or replaced, or has expired.
            Transient: The job was not queued; the request can be repeated.
        """
        code = NumberCode.read(self.table, NumberCode.key_of(tenant, user_id, phone_address(phone)))
        if code is None or code.id != code_id:
            raise NotFound("this code was already used or replaced")
        if code.sent_at is None:
            self._queue(code, phone)
        return code

    def _queue(self, code: NumberCode, phone: str) -> None:
        job = NumberCodeJob(tenant=code.tenant, user_id=code.user_id, phone=phone, code_id=code.id)
        self.dispatch.send_surely([job])

    def check(self, tenant: str, user_id: str, phone: str, code: str) -> Delete:
        """Count one try of a code, and compare the code that the person entered.

        Returns:
            The write that deletes the code. It belongs in the transaction of the change that the
            code authorizes.

        Raises:
            Conflict: No code was sent, or the code has expired or has no try left.
            Unprocessable: The code is wrong.
        """
        known = optimistic(self.clock, lambda: self._take_try(tenant, user_id, phone))
        if not known.matches(code):
            left = MAX_TRIES - known.tries
            raise Unprocessable("the code is wrong", details={"tries_left": left})
        return Delete(known.key)

    def _take_try(self, tenant: str, user_id: str, phone: str) -> NumberCode:
        """Count a try before the code is compared, so that parallel tries are also counted."""
        known = read_code(self.table, tenant, user_id, phone)
        if known is None or not known.open_at(self.clock.now()):
            raise Conflict("no code is open for this number; send a new one")
        tried = known.model_copy(update={"tries": known.tries + 1})
        as_read = all_of(Is("id", known.id), Is("tries", known.tries))
        self.table.write(Update(known.key, set={"tries": tried.tries}, condition=as_read))
        return tried

    def _line_to(self, tenant: str, address: Address) -> Address:
        """Return the line that sends the SMS, preferably a line that has a chat with the number."""
        chats = Query.under(address_partition(tenant, address), AddressChat.PREFIX)
        known = [chat.line for chat in AddressChat.each_of(self.table.query(chats).items)]
        found = self.table.get_many([Line.key_of(each) for each in (address, *known)])
        if Line.key_of(address) in found:
            raise Unprocessable("this phone number is a line")
        lines = [line for line in Line.read_each(found) if line.tenant == tenant]
        for line in chain(lines, self._all_lines(tenant)):
            if SMS.name in line.channels:
                return line.address
        raise Conflict("no line is available to send the code from")

    def _all_lines(self, tenant: str) -> Iterator[Line]:
        cursor: str | None = None
        while True:
            page = self.lines.list(tenant, cursor=cursor)
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return


def read_code(table: Table, tenant: str, user_id: str, phone: str) -> NumberCode | None:
    """Return the user's newest code for a phone number."""
    return NumberCode.read(table, NumberCode.key_of(tenant, user_id, phone_address(phone)))
