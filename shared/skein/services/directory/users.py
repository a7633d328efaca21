"""Users of a tenant: their records, phone numbers and profiles."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skein.errors import ConditionFailed, Conflict, NotFound, Unprocessable
from skein.models.common.address import Address, phone_address
from skein.models.common.base import NamedMember, is_visitor
from skein.models.common.effects import effect_key, effect_record
from skein.models.common.storage import Check, Delete, Is, Missing, Put, Write, any_of
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.profile_change import ProfileSource
from skein.models.directory.role import HeldRole, Role, roles_after
from skein.models.directory.user import User, users_relation
from skein.models.visibility.ownership import owned_partition
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic, revise, transact_guarded
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation
from skein.services.directory.address_detach import detach_addresses, detach_elsewhere
from skein.services.directory.display_names import Renaming
from skein.services.directory.name_index import indexed, reindexed
from skein.services.directory.profile_changes import (
    set_by_agent,
    set_by_operator,
    set_by_person,
    undone,
    withdrawn,
)

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.models.api.directory import NewUser, OwnChange, UserChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Stores users and, in the same transactions, the owner of each address."""

    table: Table
    clock: Clock
    ids: Ids
    renaming: Renaming

    def create(self, tenant: str, new: "NewUser") -> User:
        """Create a user.

        Raises:
            Conflict: The id or one of the phone numbers is taken.
        """
        user = User(
            tenant=tenant,
            id=new.id or f"usr_{self.ids.ulid()}",
            name=new.name,
            addresses=_distinct(new.phones),
            time_zone=new.time_zone,
            quiet_hours=new.quiet_hours,
            profile=new.profile,
            roles=roles_after((), new.roles, self.clock.now()),
            created_at=self.clock.now(),
        )
        taken = [self._taken(user, address) for address in user.addresses]
        try:
            self.table.transact([Put(user.key, user.to_item(), Missing()), *taken, *indexed(user)])
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise Conflict("a user with this id already exists") from failure
            raise _number_taken(user.addresses, failure) from failure
        return user

    def get(self, tenant: str, user_id: str) -> User:
        """Return a user.

        Raises:
            NotFound: The user does not exist or is being erased.
        """
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        return user

    def me(self, tenant: str, person: NamedMember) -> User:
        """Return the signed-in user from their record or, without a record, from the sign-in."""
        try:
            return self.get(tenant, person.id)
        except NotFound:
            return User.unknown(tenant, person, self.clock.now())

    def recorded(self, tenant: str, person: NamedMember) -> None:
        """Create a record for a signed-in user who has no record (idempotent)."""
        user = User.unknown(tenant, person, self.clock.now())
        with suppress(ConditionFailed):
            self.table.transact([Put(user.key, user.to_item(), Missing()), *indexed(user)])

    def change_own(self, tenant: str, person: NamedMember, change: "OwnChange") -> User:
        """Change some fields of the signed-in user, and create the user's record if it is missing.

        A new name counts as chosen by the user. The name and its tag are copied into the rosters of
        the user's chats.

        Raises:
            Conflict: The user is being erased.
        """
        change_id = f"pch_{self.ids.ulid()}"
        return optimistic(
            self.clock, lambda: self._change_own_once(tenant, person, change, change_id)
        )

    def _change_own_once(
        self, tenant: str, person: NamedMember, change: "OwnChange", change_id: str
    ) -> User:
        now = self.clock.now()
        stored = User.read(self.table, User.key_of(tenant, person.id))
        user = stored if stored is not None else User.unknown(tenant, person, now)
        if user.erasure_id is not None:
            raise Conflict("this user is being erased", details={"user_id": user.id})
        given = set_by_person(user, change.given, change_id=change_id, now=now)
        if not given:
            return user
        revised, write = revise(user, given)
        if revised.as_member != user.as_member:
            self.renaming.announce(tenant, person.ref)
        if stored is None:
            new = Put(revised.key, revised.to_item(), Missing())
            self.table.transact([new, *indexed(revised)])
        else:
            self._write(write, user, revised)
        return revised

    def list(
        self,
        tenant: str,
        *,
        visitors: bool = False,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[User]:
        """List a page of a tenant's members, or of its visitors, by id.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        relation = users_relation(tenant, visitors=visitors)
        of = "visitors" if visitors else "users"
        return list_relation(self.table, relation, User, of=of, limit=limit, cursor=cursor)

    def owner_of(self, tenant: str, phone: str) -> User | None:
        """Return the user who owns a phone number; None if the number has no owner.

        A user who is being erased is not returned.

        Args:
            phone: The number in E.164.
        """
        owner = AddressOwner.read(self.table, AddressOwner.key_of(tenant, phone_address(phone)))
        if owner is None:
            return None
        try:
            return self.get(tenant, owner.user_id)
        except NotFound:
            return None

    def change(self, tenant: str, user_id: str, change: "UserChange") -> User:
        """Change some of a user's fields (idempotent).

        A new name counts as given by the operator, and is copied into the rosters of the user's
        chats. Messages to addresses that the user loses are no longer sent. If a call crashes
        halfway, repeating the call completes the change.

        Raises:
            NotFound: The user does not exist or is being erased.
            Unprocessable: A phone number is new and must first be proven with a code, the profile
                as a whole would be too large, or the user is a visitor, who cannot have roles.
        """
        user = optimistic(self.clock, lambda: self._change_once(tenant, user_id, change))
        if "phones" in change.given:
            detach_elsewhere(
                self.table, user, set(user.former_addresses).difference(user.addresses)
            )
        return user

    def _change_once(self, tenant: str, user_id: str, change: "UserChange") -> User:
        user = self.get(tenant, user_id)
        wanted = dict(change.given)
        if wanted.get("roles") and is_visitor(user_id):
            raise Unprocessable("a visitor has no roles")
        roles = self._roles_after(user, wanted.pop("roles", None))
        given = set_by_operator(user, wanted)
        if roles != user.roles:  # a new role matters too, since it can add a second subject
            given |= {"roles": roles, **user.next_sharing}
        if not given:
            return user
        if "phones" in given:
            given["addresses"] = _distinct(given.pop("phones"))
        kept = given.get("addresses", user.addresses)
        if not set(kept) <= set(user.addresses):
            raise Unprocessable("a new phone number needs a code: send one, then link the number")
        gone = [address for address in user.addresses if address not in kept]
        if gone:
            given["former_addresses"] = tuple(dict.fromkeys([*user.former_addresses, *gone]))
        revised, write = revise(user, given)
        if revised.as_member != user.as_member:
            self.renaming.announce(tenant, user.as_member.ref)
        writes: list[Write] = [write]
        writes.extend(
            Delete(AddressOwner.key_of(tenant, address), any_of(Missing(), Is("user_id", user_id)))
            for address in gone
        )
        writes.extend(reindexed(user, revised))
        detach_addresses(self.table, user, gone, writes)
        return revised

    def _roles_after(self, user: User, wanted: Iterable[Role] | None) -> tuple[HeldRole, ...]:
        """Return a person's roles after a change; None as `wanted` leaves the roles unchanged."""
        return user.roles if wanted is None else roles_after(user.roles, wanted, self.clock.now())

    def undo(self, tenant: str, user_id: str, change_id: str) -> User:
        """Undo an agent's change of a user's field: restore the previous value (idempotent).

        Raises:
            NotFound: The user or the change does not exist, or the user is being erased.
            Conflict: The field has changed since.
            Unprocessable: The profile with the earlier value would be too large.
        """
        return optimistic(self.clock, lambda: self._undo_once(tenant, user_id, change_id))

    def _undo_once(self, tenant: str, user_id: str, change_id: str) -> User:
        user = self.get(tenant, user_id)
        made = next((each for each in user.profile_changes if each.id == change_id), None)
        if made is None:
            raise NotFound("profile change not found")
        if made.undone_at is not None:
            return user
        given = undone(user, made, now=self.clock.now())
        if made.field == "name":
            self.renaming.announce(tenant, user.as_member.ref)
        restored, write = revise(user, given)
        self._write(write, user, restored)
        return restored

    def withdraw(self, tenant: str, user_id: str, gone: Callable[[ProfileSource], bool]) -> int:
        """Remove values that agents made from deleted messages; see `withdrawn` (idempotent).

        Returns:
            The number of removed values.

        Raises:
            NotFound: The user does not exist, or is being erased.
        """
        return optimistic(self.clock, lambda: self._withdraw_once(tenant, user_id, gone))

    def _withdraw_once(
        self, tenant: str, user_id: str, gone: Callable[[ProfileSource], bool]
    ) -> int:
        user = self.get(tenant, user_id)
        given = withdrawn(user, gone)
        if not given:
            return 0
        if "name" in given:
            self.renaming.announce(tenant, user.as_member.ref)
        restored, write = revise(user, given)
        self._write(write, user, restored)
        return len(user.profile_changes) - len(restored.profile_changes)

    def _write(self, write: Write, before: User, after: User) -> None:
        words = reindexed(before, after)
        if words:
            self.table.transact([write, *words])
        else:
            self.table.write(write)

    def _taken(self, user: User, address: Address) -> Put:
        today = self.clock.now().date()
        owner = AddressOwner(tenant=user.tenant, address=address, user_id=user.id, heard_on=today)
        free = any_of(Missing(), Is("user_id", user.id))
        return Put(owner.key, owner.to_item(), free)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """The service with which agents change users' profiles."""

    table: Table
    clock: Clock

    def set_field(
        self,
        tenant: str,
        person: NamedMember,
        field: str,
        value: Any,
        *,
        source: ProfileSource,
        effect: str,
        guard: Check,
    ) -> None:
        """Set a user's name, time zone or one field of the profile (idempotent per effect).

        The change and its source are recorded, so that operators can undo it.

        Args:
            person: The user as a member of the chat. A record is created for a user without a
                record.
            field: The name of the field.
            value: The new value; None removes the field, except for the name.
            source: The source of the value.
            effect: The id of the run's effect; a second call with the same id changes nothing.
            guard: The check on the run's fencing token.

        Raises:
            Unprocessable: The value is invalid or too large, or the field cannot be removed.
            LostLease: The guard failed: another worker has claimed the run.
        """
        done = effect_key(owned_partition(tenant, source.agent_id, None), effect)

        def attempt() -> None:
            record = effect_record(done, None, self.clock.now())
            stored = User.read(self.table, User.key_of(tenant, person.id))
            now = self.clock.now()
            user = stored if stored is not None else User.unknown(tenant, person, now)
            given = set_by_agent(user, field, value, source, change_id=f"pch_{effect}", now=now)
            revised, write = revise(user, given)
            new = Put(user.key, revised.to_item() | {"version": 1}, Missing())
            words = reindexed(user, revised) if stored is not None else indexed(revised)
            change: list[Write] = [write if stored is not None else new, *words] if given else []
            try:
                transact_guarded(self.table, [record, *change], guard)
            except ConditionFailed as failure:
                if 0 not in failure.failed:
                    raise

        optimistic(self.clock, attempt)


def _distinct(phones: Iterable[str]) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(map(phone_address, phones)))


def _number_taken(addresses: Iterable[Address], failure: ConditionFailed) -> Conflict:
    """Build the error that lists the taken numbers; write `n` is for the `n`-th address."""
    taken = [own.address for n, own in enumerate(addresses, 1) if n in failure.failed]
    return Conflict("the phone number belongs to another user", details={"phones": taken})
