"""Find or open the direct chat of a person's address and a line."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from skein.errors import NotFound
from skein.inbound.address_lookup import AddressLookup, DirectChat, look_up_address
from skein.inbound.silent_numbers import SilentNumbers
from skein.models.chats.membership import Membership
from skein.models.common.address import Address, Route
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Is, Key, Missing, Put, Write
from skein.models.delivery.sms import ReceivedSms
from skein.models.directory.address_index import AddressChat, AddressOwner, caller_name
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.models.directory.user import User
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.closed_memberships import membership_keys
from skein.services.chats.line_chats import new_line_chat
from skein.services.common.optimistic import optimistic, revise
from skein.services.directory.address_detach import detach_addresses
from skein.services.directory.name_index import indexed
from skein.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectChats:
    """The service that finds the person and the chat of an SMS, and creates missing ones."""

    table: Table
    clock: Clock
    ids: Ids
    silent_numbers: SilentNumbers
    settings: Settings

    def look_up(self, line: Line, route: Route, received: ReceivedSms) -> AddressLookup:
        """Look up the sender of an SMS; if the number was reassigned, its former owner loses it.

        Twilio is asked only if the number was silent for long.

        Raises:
            Forbidden: The id of the SMS came from another address before.
            ConditionFailed: Another user owns the address now.
        """
        lookup = self._look_up(line, route, received)
        owner, channel = lookup.owner, route.channel
        lost = owner is not None and self.silent_numbers.found_reassigned(owner, channel)
        return self._look_up(line, route) if lost else lookup

    def open(self, line: Line, route: Route, *, instead_of: DirectChat | None = None) -> DirectChat:
        """Open the chat, and create a missing user; concurrent SMS create no second chat or user.

        Args:
            instead_of: A chat that was discarded or that its person has left. A new chat replaces
                it.

        Raises:
            NotFound: The line's agent was deleted.
        """
        return optimistic(
            self.clock,
            lambda: self._open_once(line, route, instead_of),
            finds_own_write=True,
        )

    def _look_up(
        self, line: Line, route: Route, received: ReceivedSms | None = None
    ) -> AddressLookup:
        return look_up_address(
            self.table,
            line,
            route,
            today=self.clock.now().date(),
            silence_days=self.settings.number_silence_days,
            received=received,
        )

    def _open_once(self, line: Line, route: Route, instead_of: DirectChat | None) -> DirectChat:
        lookup, sender = self._look_up(line, route), route.person
        owner, former, today = lookup.owner, lookup.chat, self.clock.now().date()
        direct = lookup.fitting(line=line, instead_of=instead_of)
        if direct is not None:
            return direct
        new = owner or AddressOwner(
            tenant=line.tenant,
            address=sender,
            user_id=f"usr_{self.ids.ulid()}",
            heard_on=today,
            heard_by={route.channel: today},
        )
        direct = DirectChat(
            new.user_id, f"chat_{self.ids.ulid()}", lookup.overrides, new, route.channel
        )
        agent, user, former_membership = self._people(line, direct, former)
        writes: list[Write] = []
        if user is None:
            user = self._new_caller(line, direct.user_id, sender)
            writes += [Put(user.key, user.to_item(), Missing()), *indexed(user)]
        if owner is None:
            silent = lookup.silent_owner
            before = Is("user_id", silent.user_id) if silent is not None else Missing()
            writes.append(Put(new.key, new.to_item(), before))
        writes += new_line_chat(
            line,
            sender,
            direct.chat_id,
            (user.as_member, agent.as_member),
            former=former,
            former_membership=former_membership,
            retention=lookup.retention,
            now=self.clock.now(),
        )
        self._commit(lookup.silent_owner, writes)
        return direct

    def _commit(self, silent: AddressOwner | None, writes: Sequence[Write]) -> None:
        """Commit the writes of a new chat, and take the address from its silent owner, if any."""
        former = (
            User.read(self.table, User.key_of(silent.tenant, silent.user_id)) if silent else None
        )
        if silent is None or former is None:
            self.table.transact(writes)
            return
        _, write = revise(former, former.without(silent.address))
        detach_addresses(self.table, former, {silent.address}, [*writes, write])
        logger.info("number reassigned after silence", extra={"user_id": former.id})

    def _people(
        self, line: Line, direct: DirectChat, former: AddressChat | None
    ) -> tuple[Agent, User | None, Membership | None]:
        """Read the line's agent, the user, and the user's membership of the former chat."""
        agent_key = Agent.key_of(line.tenant, line.agent_id)
        user_key = User.key_of(line.tenant, direct.user_id)
        keys: list[Key[Membership]] = []
        if former is not None:
            person = MemberRef(kind="user", id=direct.user_id)
            keys = membership_keys(line.tenant, former.chat_id, person)
        found = self.table.get_many([agent_key, user_key, *keys])
        agent = Agent.read(found, agent_key)
        if agent is None or agent.deleted_at is not None:
            raise NotFound("the line has no agent", reason=Reason.AGENT_DELETED)
        there = Membership.read_each(found, keys)
        return agent, User.read(found, user_key), next(iter(there), None)

    def _new_caller(self, line: Line, user_id: str, address: Address) -> User:
        """Return the record of a person whose only known data is the address."""
        return User(
            tenant=line.tenant,
            id=user_id,
            name=caller_name(address),
            addresses=(address,),
            caller=True,
            created_at=self.clock.now(),
        )
