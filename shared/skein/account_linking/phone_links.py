"""Phone links: link phone numbers to users, and unlink them.

Linking the number of a caller to a known user merges the two users. The transaction that moves the
number also puts the known user in the caller's place in the number's chats. The caller's other
chats and items move soon after.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from pydantic import TypeAdapter, ValidationError

from skein.account_linking.chats import replace_member
from skein.account_linking.owned_items import move_owned, rename_owned
from skein.errands.merging import move_errands
from skein.errors import Conflict, NotFound, SkeinError, Unprocessable
from skein.live.devices import Devices
from skein.models.chats.chat import Chat
from skein.models.chats.membership import member_relation, related_chat
from skein.models.common.address import Address, phone_address
from skein.models.common.base import MemberRef, NamedMember, is_visitor
from skein.models.common.free_fields import Profile
from skein.models.common.retry import Retry, minutes
from skein.models.common.storage import (
    MAX_TRANSACTION_ITEMS,
    Delete,
    Is,
    Item,
    Missing,
    Put,
    Query,
    Update,
    Write,
    any_of,
)
from skein.models.directory.address_index import AddressChat, AddressOwner, address_partition
from skein.models.directory.user import MAX_ADDRESSES, Merge, User
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import RecallJob
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.choices.ending import end_choices
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import ROWS, pages_of_relation
from skein.services.directory.address_detach import detach_addresses, detach_elsewhere
from skein.services.directory.name_index import unindexed
from skein.services.directory.number_codes import NumberCodes
from skein.services.directory.profile_changes import kept_changes
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.settings import Settings

LATE_WRITERS = timedelta(minutes=15)  # all work that began with the former user has ended by then
RETRY = Retry(minutes(1))

Move = Callable[[Table, str, str, NamedMember, datetime], None]
"""Moves a subject's items of the former user, given by id, to the known user (idempotent)."""
MOVES: tuple[Move, ...] = (move_errands,)

logger = logging.getLogger(__name__)

_PROFILE: TypeAdapter[dict[str, Any]] = TypeAdapter(Profile)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneLinks:
    """The service that links phone numbers to users, and unlinks them."""

    table: Table
    clock: Clock
    dispatch: Dispatch
    codes: NumberCodes
    devices: Devices
    settings: Settings

    def link(self, tenant: str, user_id: str, phone: str, *, code: str) -> User:
        """Link a phone number to a user who knows the code that was sent there (idempotent).

        If the number belongs to a caller, the caller is merged into the user: the caller's chats,
        and the items that agents keep for the caller, become the user's. The caller's open choices
        end, and their consents are not carried over. A number that was silent for too long is taken
        from its former owner, who keeps the chats. Afterwards, the number counts as used today.

        Args:
            code: The code from the SMS, which stays valid until the number is linked. It is not
                checked if the number is the user's already, and either was proven today or was used
                for an SMS to Skein today.

        Raises:
            NotFound: The user does not exist or is being erased.
            Unprocessable: The code is wrong, or the user is a visitor.
            Conflict: No code is open for the number, the number belongs to another known user, the
                user already has 20 numbers, an agent is at work in one of the number's chats, or
                the number has too many chats for one transaction.
        """
        if is_visitor(user_id):  # a caller who became a visitor would lose their own chats
            raise Unprocessable("a visitor has no phone numbers")
        address = phone_address(phone)
        known, owner = self._user_and_owner(tenant, user_id, address)
        if owner is not None and owner.user_id == user_id and owner.is_proven_on(self._today):
            return known
        used = self.codes.check(tenant, user_id, phone, code)
        user, merge = optimistic(
            self.clock, lambda: self._link_once(tenant, user_id, address, used)
        )
        if merge is not None:
            try:
                self._move_rest(merge)
            except SkeinError as error:  # the tick completes the merge later
                logger.warning(
                    "user merge incomplete; a retry continues", extra={"why": type(error).__name__}
                )
        return user

    def unlink(self, tenant: str, user_id: str, phone: str) -> User:
        """Unlink a phone number from a user (idempotent).

        The user keeps the chats of the number. The next message from the number creates a new
        caller and a new chat.

        Raises:
            NotFound: The user does not exist.
        """
        address = phone_address(phone)
        user = optimistic(self.clock, lambda: self._unlink_once(tenant, user_id, address))
        if address not in user.addresses:
            detach_elsewhere(self.table, user, {address})
        return user

    def continue_merge(self, item: Item, now: datetime) -> None:
        """Complete a merge of users, for the tick.

        The merge is repeated 15 minutes after its creation, so that items that were written late
        move, too. If an agent is at work in a chat, the merge is retried after 1 minute.

        Args:
            item: The item of the merge, as just read.
        """
        merge = Merge.from_item(item)
        as_read = Is("gsi2sk", item["gsi2sk"])
        try:
            self._move_rest(merge)
        except Conflict:
            due = due_pointer("merge", merge.key, now + RETRY.wait(1))
            self.table.write(Update(merge.key, set=due, condition=as_read))
            return
        last_look = merge.created_at + LATE_WRITERS
        if now >= last_look:
            self.table.write(Delete(merge.key, as_read))
        else:
            due = due_pointer("merge", merge.key, last_look)
            self.table.write(Update(merge.key, set=due, condition=as_read))

    @property
    def _today(self) -> date:
        return self.clock.now().date()

    def _user_and_owner(
        self, tenant: str, user_id: str, address: Address
    ) -> tuple[User, AddressOwner | None]:
        user_key, owner_key = User.key_of(tenant, user_id), AddressOwner.key_of(tenant, address)
        found = self.table.get_many([user_key, owner_key])
        if user_key not in found:
            raise NotFound("user not found")
        user = User.must_read(found, user_key)
        if user.erasure_id is not None:
            raise NotFound("user not found")
        return user, AddressOwner.read(found, owner_key)

    def _link_once(
        self, tenant: str, user_id: str, address: Address, used: Delete
    ) -> tuple[User, Merge | None]:
        user, owner = self._user_and_owner(tenant, user_id, address)
        today = self._today
        if owner is not None and owner.user_id == user_id:
            self.table.transact([owner.proven(today), used])
            return user, None
        if owner is not None and owner.has_lapsed(today, self.settings.number_silence_days):
            self._unlink_once(tenant, owner.user_id, address)
            owner = None
        if len(user.addresses) >= MAX_ADDRESSES:
            raise Conflict(f"a user may have at most {MAX_ADDRESSES} phone numbers")
        if owner is None:
            new = AddressOwner(tenant=tenant, address=address, user_id=user_id, heard_on=today)
            linked, write = revise(user, {"addresses": (*user.addresses, address)})
            self.table.transact([write, Put(new.key, new.to_item(), Missing()), used])
            return linked, None
        return self._merge(user, owner, used)

    def _former(self, owner: AddressOwner) -> User:
        former = User.read(self.table, User.key_of(owner.tenant, owner.user_id))
        if former is None or not former.caller or former.addresses != (owner.address,):
            details = {"phones": [owner.address.address]}
            raise Conflict("the phone number belongs to another user", details=details)
        return former

    def _merge(self, user: User, owner: AddressOwner, used: Delete) -> tuple[User, Merge]:
        """Merge the former user into `user`: move address, chats and record in one transaction."""
        former, address = self._former(owner), owner.address
        now, profile = self.clock.now(), _merged_profiles(user.profile, former.profile)
        adopted = [
            made
            for made in former.profile_changes
            if (made.field == "time_zone" and user.time_zone is None)
            or (made.field in profile and made.field not in user.profile)
        ]
        merged, write = revise(
            user,
            {
                "addresses": (*user.addresses, address),
                "former_addresses": (*user.former_addresses, *former.former_addresses),
                "former_ids": (*user.former_ids, *former.former_ids, former.id),
                "time_zone": user.time_zone or former.time_zone,
                "quiet_hours": user.quiet_hours or former.quiet_hours,
                "profile": profile,
                "profile_changes": kept_changes([*user.profile_changes, *adopted]),
            },
        )
        merge = Merge(tenant=user.tenant, id=former.id, into=user.id, created_at=now)
        look_again_at = now + OUTBOX_GRACE
        writes: list[Write] = [
            write,
            Delete(former.key, Is("version", former.version)),
            *unindexed(former),
            owner.proven(now.date(), user_id=user.id),
            Put(merge.key, merge.to_item(look_again_at), Missing()),
            used,
        ]
        chats = Query.under(address_partition(user.tenant, address), AddressChat.PREFIX)
        page = self.table.query(chats)
        for chat_id in {chat.chat_id for chat in AddressChat.each_of(page.items)}:
            writes.extend(self._replacement_writes(user, former.as_member.ref, chat_id))
        if len(writes) > MAX_TRANSACTION_ITEMS:
            raise Conflict("the phone number has too many chats to move in one request")
        self.table.transact(writes)
        return merged, merge

    def _unlink_once(self, tenant: str, user_id: str, address: Address) -> User:
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is None:
            raise NotFound("user not found")
        if address not in user.addresses:
            return user
        unlinked, write = revise(user, user.without(address))
        owner = AddressOwner.key_of(tenant, address)
        theirs = any_of(Missing(), Is("user_id", user_id))
        detach_addresses(self.table, user, {address}, [write, Delete(owner, theirs)])
        return unlinked

    def _move_rest(self, merge: Merge) -> None:
        """Move the former user's other chats, devices, errands and agents' items.

        The former user's open choices end.

        Raises:
            Conflict: An agent is at work in one of the chats; all other chats have moved. Or no
                name is free for a document.
        """
        user = User.read(self.table, User.key_of(merge.tenant, merge.into))
        if user is None or user.erasure_id is not None:
            return
        end_choices(self.table, self.clock, merge.tenant, merge.id)
        former = MemberRef(kind="user", id=merge.id)
        busy: list[Conflict] = []
        for chat_id in self._chats_of(merge.tenant, former):
            try:
                optimistic(self.clock, partial(self._replace_member, user, former, chat_id))
            except Conflict as conflict:
                busy.append(conflict)
        self.devices.move(merge.tenant, merge.id, merge.into)
        now, people = self.clock.now(), (merge.id, user.as_member)
        for move in MOVES:
            optimistic(self.clock, partial(move, self.table, merge.tenant, *people, now))
        self._move_owned(merge, user)
        if busy:
            raise busy[0]

    def _replace_member(self, user: User, former: MemberRef, chat_id: str) -> None:
        writes = self._replacement_writes(user, former, chat_id)
        if writes:
            self.table.transact(writes)

    def _replacement_writes(self, user: User, former: MemberRef, chat_id: str) -> list[Write]:
        try:
            snapshot = read_snapshot(self.table, user.tenant, chat_id)
        except NotFound:
            return []
        return replace_member(self.table, snapshot, former, user.as_member, self.clock.now())

    def _move_owned(self, merge: Merge, user: User) -> None:
        """Move the items of each agent that shares a private chat with the user.

        Passages of recall move when the chats are indexed again. Each attempt at the merge sends
        the jobs for this, so a lost job does no harm.
        """
        moved: set[str] = set()
        people = (merge.id, merge.into)
        chat_ids = list(self._chats_of(user.tenant, user.as_member.ref))
        for chat in self._chats(user.tenant, chat_ids):
            if merge.id in chat.formerly:
                self.dispatch.send([RecallJob(tenant=chat.tenant, chat_id=chat.id)])
            if chat.visibility == "open":
                continue
            for agent in (member.id for member in chat.roster if member.kind == "agent"):
                if chat.kind != "direct":
                    rename = partial(rename_owned, self.table, chat, agent, *people)
                    optimistic(self.clock, rename)
                if agent not in moved:
                    moved.add(agent)
                    move = partial(move_owned, self.table, user.tenant, agent, *people)
                    optimistic(self.clock, move)

    def _chats(self, tenant: str, chat_ids: list[str]) -> Iterator[Chat]:
        for start in range(0, len(chat_ids), ROWS):
            keys = [Chat.key_of(tenant, chat_id) for chat_id in chat_ids[start : start + ROWS]]
            yield from Chat.read_each(self.table.get_many(keys))

    def _chats_of(self, tenant: str, person: MemberRef) -> Iterator[str]:
        relation = member_relation(tenant, person)
        for rows in pages_of_relation(self.table, relation, newest_first=True):
            yield from map(related_chat, rows)


def _merged_profiles(own: dict[str, Any], former: dict[str, Any]) -> dict[str, Any]:
    """Merge two profiles; values of `own` win, and `own` is returned if the union is too large."""
    with suppress(ValidationError):
        return _PROFILE.validate_python(former | own)
    return own
