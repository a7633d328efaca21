"""Codes that prove phone numbers, as if an SMS had brought them."""

from skein.models.common.address import phone_address
from skein.models.common.storage import Put
from skein.models.directory.number_code import CODE_DIGITS, VALID_FOR, NumberCode
from skein.models.directory.user import User
from skein.ports import Clock, Table
from tests.support.builders import LINE, TENANT, World

CODE = "483920"


def prove(table: Table, clock: Clock, user_id: str, phone: str, *, tenant: str = TENANT) -> str:
    """Let a user have got a code for a number, and return the code."""
    now = clock.now()
    made = NumberCode(
        tenant=tenant,
        user_id=user_id,
        address=phone_address(phone),
        id="code_1",
        line=phone_address(LINE),
        valid_until=now + VALID_FOR,
        expires_at=int((now + VALID_FOR).timestamp()),
    )
    table.write(
        Put(made.key, (made.model_copy(update={"code_hash": made.hash_of(CODE)})).to_item())
    )
    return CODE


def link_number(world: World, user_id: str, phone: str, *, tenant: str = TENANT) -> User:
    """Link a number to a user, with a code."""
    code = prove(world.table, world.clock, user_id, phone, tenant=tenant)
    return world.app.phone_links.link(tenant, user_id, phone, code=code)


def newest_code(world: World, phone: str) -> str:
    """Let the queued SMS go out, and return the code in the newest one to a phone."""
    world.drain()
    body = [sms.body for sms, _ in world.sms.taken if sms.phone == phone][-1]
    return body[:CODE_DIGITS]
