"""Roles of people in a tenant, such as nurse or patient, which sharing rules name."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field

from skein.models.common.base import Identifier, Instant, Value, not_a_visitor
from skein.models.visibility.sharing_rules import RoleName

MAX_ROLES = 10  # current roles of one person
MAX_KEPT = 40  # roles of one person, including those that have ended


class Role(Value):
    """A role of a person in a tenant.

    Attributes:
        role: The name, such as `nurse`.
        subject: The person whom the role is about, such as a nurse's patient.
    """

    role: Annotated[RoleName, Field(description="The name of the role, such as `nurse`.")]
    subject: Annotated[
        Annotated[Identifier, AfterValidator(not_a_visitor)] | None,
        Field(description="The id of the person whom it is about, such as the patient of a nurse."),
    ] = None


class HeldRole(Role):
    """A role that a person has, or had for a time.

    Attributes:
        since: When operators assigned it.
        until: When operators removed it; None while the person has it.
    """

    since: Instant
    until: Annotated[Instant | None, Field(exclude_if=lambda until: until is None)] = None

    @property
    def plain(self) -> Role:
        """The role without its times."""
        return Role(role=self.role, subject=self.subject)

    def held_at(self, moment: datetime) -> bool:
        return self.since <= moment and (self.until is None or moment < self.until)


def roles_at(roles: Iterable[HeldRole], moment: datetime) -> tuple[Role, ...]:
    return tuple(held.plain for held in roles if held.held_at(moment))


def roles_after(
    roles: tuple[HeldRole, ...], wanted: Iterable[Role], now: datetime
) -> tuple[HeldRole, ...]:
    """Return a person's roles after a change: unwanted roles end now, and new roles begin now.

    The newest of the ended roles are kept, because sharing rules go by the roles that people had
    when a message was written.
    """
    left = list(dict.fromkeys(wanted))
    changed = []
    for held in roles:
        if held.until is None and held.plain in left:
            left.remove(held.plain)
            changed.append(held)
        else:
            changed.append(held.model_copy(update={"until": held.until or now}))
    current = [held for held in changed if held.until is None]
    ended = [held for held in changed if held.until is not None]
    begun = [HeldRole(role=each.role, subject=each.subject, since=now) for each in left]
    latest = sorted(ended, key=lambda held: held.until or now)[-(MAX_KEPT - MAX_ROLES) :]
    return (*latest, *current, *begun)
