"""Open a direct chat with a person who has not written to the agent before (first contact).

An agent writes first only to people who have consented to texts (`directory/text_consents.py`),
outside their quiet hours and within limits. The first text begins with an introduction. The
introduction names the person who asked the agent to write, and says how to stop the texts. The
person's membership stores the introduction until the first text is posted.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import NamedTuple

from skein.channels.registry import channel_named
from skein.errors import Conflict, NotFound
from skein.models.chats.membership import Membership
from skein.models.common.address import Route, route_on
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.reason import Reason
from skein.models.common.storage import Is, Item, Key, Update, Write, all_of
from skein.models.config.overrides import Overrides, TenantOnlySettings, TenantSettings
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line, lines_relation
from skein.models.directory.user import User
from skein.models.quotas.limit import DAY, Allowance, Rate, owner_of_line, owner_on_channel
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.closed_memberships import read_membership
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.line_chats import new_line_chat
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import pages_of_relation, read_items
from skein.services.config.retention import retention_of
from skein.services.directory.display_names import people_in_shared_chats
from skein.services.directory.opted_out_numbers import OptedOutNumbers
from skein.services.directory.time_zones import quiet_until
from skein.settings import Settings

logger = logging.getLogger(__name__)


class Contact(NamedTuple):
    """A direct chat in which an agent may send a person the first text."""

    tenant: str
    chat_id: str
    agent: NamedMember
    person: NamedMember
    route: Route


class NotNow(Conflict):
    """A first contact must wait: the person has quiet hours, or a limit is used up.

    Args:
        reason: Why the first contact must wait.
        until: When to try again.
    """

    def __init__(self, reason: Reason, until: datetime) -> None:
        super().__init__("the person may not be written to now", reason=reason)
        self.until = until


class _Parties(NamedTuple):
    user: User
    agent: Agent
    overrides: Overrides


class _Way(NamedTuple):
    """A route to the person, and the current chat between the person's address and the line."""

    owner: AddressOwner
    line: Line
    route: Route
    known: AddressChat | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstContact:
    """The service that opens a chat in which an agent writes first.

    Each refusal is an error with a `Reason`. Operators see the reason. If a person asked through an
    agent, the caller decides how much of the reason to reveal to that person.
    """

    table: Table
    clock: Clock
    ids: Ids
    opted_out: OptedOutNumbers
    settings: Settings

    def open(
        self,
        tenant: str,
        agent_id: str,
        user_id: str,
        *,
        asker: str,
        asked_by: MemberRef | None = None,
    ) -> Contact:
        """Open or find the chat for the first text (idempotent).

        The method sends no text and charges no limit. The caller posts the text, in one transaction
        with the writes that `charges` returns.

        Args:
            agent_id: The agent, which needs a line.
            user_id: The person to write to.
            asker: The name of the person or business that has the agent write, for the
                introduction.
            asked_by: The person who asks through an agent. This person and `user_id` must share a
                chat that both have accepted. None if an operator asks, or if the text contains no
                words of the person who caused it.

        Raises:
            NotFound: The person or the agent does not exist, or `asked_by` shares no chat with the
                person.
            Conflict: The person may not be reached; `reason` says why.
            NotNow: The person may not be reached now.
        """
        try:
            return optimistic(
                self.clock,
                lambda: self._open_once(tenant, agent_id, user_id, asker, asked_by),
                finds_own_write=True,
            )
        except Conflict as refusal:
            extra = {"agent_id": agent_id, "user_id": user_id, "reason": refusal.reason}
            logger.info("person not written to", extra=extra)
            raise

    def check(self, tenant: str, agent_id: str, user_id: str) -> None:
        """Check that a person may be reached, now or later, without writing anything.

        Raises:
            NotFound: The person or the agent does not exist.
            Conflict: The person may not be reached; `reason` says why.
        """
        parties = self._parties(tenant, agent_id, user_id)
        self._not_opted_out(self._way(parties), parties)

    def charges(self, contact: Contact) -> tuple[Write, ...]:
        """Return the writes that charge the limits and check the consent.

        They belong in the transaction that posts the text.

        The writes fail if another writer has charged the person or the line in the meantime, or has
        changed the person's consents (optimistic lock). So no text is posted after its consent was
        revoked.

        Raises:
            Conflict: The person has revoked the consent, or no longer has the number.
            NotNow: A daily limit is used up.
        """
        owner = AddressOwner.read(
            self.table, AddressOwner.key_of(contact.tenant, contact.route.person)
        )
        if (
            owner is None
            or owner.user_id != contact.person.id
            or owner.reassigned
            or contact.route.channel not in owner.consents
        ):
            raise _no_consent(contact.person.id)
        limits, now = self._limits(contact.tenant, contact.person.id, contact.route), self._now
        return (
            owner.still_consents(),
            *(
                allowance.changed(now, contacts_full_at=full_at)[1]
                for allowance, rate in limits
                if rate.limited
                for full_at in (rate.after(allowance.contacts_full_at, 1, now),)
            ),
        )

    def _open_once(
        self,
        tenant: str,
        agent_id: str,
        user_id: str,
        asker: str,
        asked_by: MemberRef | None,
    ) -> Contact:
        parties = self._parties(tenant, agent_id, user_id)
        person = parties.user.as_member
        if asked_by is not None and asked_by.id != user_id:
            met = people_in_shared_chats(self.table, tenant, asked_by, {person.ref})
            if person.ref not in met:
                raise NotFound("user not found")
        way = self._way(parties)
        former, there = self._not_opted_out(way, parties)
        settings = self.settings.overridden(parties.overrides)
        resumes_at = quiet_until(self._now, parties.user, settings, parties.agent.time_zone)
        if resumes_at is not None:
            raise NotNow(Reason.QUIET_HOURS, resumes_at)
        self._limits(tenant, user_id, way.route, parties.overrides)
        introduction = self._introduction(parties, way, asker)
        if there is not None and there.member(person.ref) is not None:
            self._ready(there, person, way, introduction)
            chat_id = there.chat.id
        else:
            chat_id = f"chat_{self.ids.ulid()}"
            new = new_line_chat(
                way.line,
                way.owner.address,
                chat_id,
                (person, parties.agent.as_member),
                former=way.known,
                former_membership=former,
                retention=retention_of(parties.overrides),
                now=self._now,
                route=way.route,
                introduction=introduction,
            )
            self.table.transact([way.owner.still_consents(), *new])
        return Contact(tenant, chat_id, parties.agent.as_member, person, way.route)

    @property
    def _now(self) -> datetime:
        return self.clock.now()

    def _parties(self, tenant: str, agent_id: str, user_id: str) -> _Parties:
        keys = (
            User.key_of(tenant, user_id),
            Agent.key_of(tenant, agent_id),
            TenantSettings.key_of(tenant),
        )
        found = self.table.get_many(list(keys))
        user_key, agent_key, settings_key = keys
        user = User.read(found, user_key)
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        agent = Agent.read(found, agent_key)
        if agent is None or agent.deleted_at is not None:
            raise NotFound("agent not found", reason=Reason.AGENT_DELETED)
        return _Parties(user, agent, TenantSettings.from_optional(found.get(settings_key)))

    def _way(self, parties: _Parties) -> _Way:
        """Choose how to reach the person; an existing chat with the agent is preferred.

        Raises:
            Conflict: The person cannot be reached; `reason` says why.
        """
        owners = self._consenting(parties.user)
        ways = list(self._ways(owners, list(self.lines_of(parties.agent))))
        if not ways:
            raise Conflict("the agent has no line to write from", reason=Reason.NO_LINE)
        settings = self.settings.overridden(parties.overrides)
        answered = [
            way
            for way in ways
            if channel_named(way.route.channel).may_answer(
                way.route.person.address, way.line.phone, settings.answered_countries
            )
        ]
        if not answered:
            raise Conflict(
                "the line isn't allowed to send to this number", reason=Reason.NUMBER_NOT_ANSWERED
            )
        theirs = (way for way in answered if way.known and way.known.agent_id == parties.agent.id)
        return next(theirs, answered[0])

    def _consenting(self, user: User) -> list[AddressOwner]:
        """Return the person's addresses on which they have consented to texts.

        Raises:
            Conflict: The person has not consented on any address, or each address with a consent
                may belong to someone else by now.
        """
        keys = [AddressOwner.key_of(user.tenant, each) for each in user.addresses]
        found = self.table.get_many(keys) if keys else {}
        owners = AddressOwner.read_each(found, keys)
        consenting = [each for each in owners if each.user_id == user.id and each.consents]
        if not consenting:
            raise _no_consent(user.id)
        proven = [
            each
            for each in consenting
            if each.unproven is None and any(self._is_theirs(each, name) for name in each.consents)
        ]
        if not proven:
            raise Conflict(
                "the person's number may be somebody else's",
                details={"user_id": user.id},
                reason=Reason.NUMBER_UNPROVEN,
            )
        return proven

    def _is_theirs(self, owner: AddressOwner, channel: str) -> bool:
        """Return whether an address has been used recently enough to still be the person's."""
        return not owner.has_lapsed(self._now.date(), self.settings.number_silence_days, channel)

    def lines_of(self, agent: Agent) -> Iterator[Line]:
        for rows in pages_of_relation(self.table, lines_relation(agent.tenant)):
            keys = [Key(row["pk"], row["sk"]) for row in rows]
            for line in Line.read_each(self.table.get_many(keys) if keys else {}):
                if line.tenant == agent.tenant and line.agent_id == agent.id:
                    yield line

    def _ways(self, owners: Sequence[AddressOwner], lines: Sequence[Line]) -> Iterator[_Way]:
        pairs = list(product(owners, lines))
        keys = [
            AddressChat.key_of(line.tenant, owner.address, line.address) for owner, line in pairs
        ]
        found: Mapping[Key, Item] = read_items(self.table, keys)
        for key, (owner, line) in zip(keys, pairs, strict=True):
            known = AddressChat.read(found, key)
            for channel in line.channels:
                kind = channel_named(channel).kind
                here = kind is not None and kind.name == owner.address.kind
                if here and channel in owner.consents and self._is_theirs(owner, channel):
                    route = route_on(
                        channel, line=line.address.address, person=owner.address.address
                    )
                    yield _Way(owner, line, route, known)

    def _not_opted_out(
        self, way: _Way, parties: _Parties
    ) -> tuple[Membership | None, ChatSnapshot | None]:
        """Check that the person has not opted out, and read the current chat on the route.

        Returns:
            The person's membership in the current chat, and the chat. The chat is None if it
                belongs to another agent or is discarded.

        Raises:
            Conflict: The person has opted out of the channel in this chat. Or a person who was
                erased had opted out on this number, and the current consent was recorded by an
                operator.
        """
        consent = way.owner.consents[way.route.channel]
        if consent.how == "operator" and self.opted_out.has(
            parties.user.tenant, way.owner.address, way.route.channel
        ):
            raise _opted_out(parties.user.id)
        if way.known is None:
            return None, None
        tenant, chat_id = way.known.tenant, way.known.chat_id
        former = read_membership(self.table, tenant, chat_id, parties.user.as_member.ref)
        if former is not None and way.route.channel in former.opt_outs:
            raise _opted_out(parties.user.id)
        if way.known.agent_id != parties.agent.id:
            return former, None
        try:
            there = read_snapshot(self.table, tenant, chat_id)
        except NotFound:
            return former, None
        usable = there.chat.discarded_at is None
        return former, there if usable else None

    def _ready(
        self, there: ChatSnapshot, person: NamedMember, way: _Way, introduction: str
    ) -> None:
        member = there.member(person.ref)
        if member is None:
            return
        change: dict[str, object] = {}
        if member.route is None or member.route.after(None) != way.route:
            change["route"] = way.route.model_dump(mode="json", exclude_none=True)
        if member.introduction not in {None, introduction}:
            change["introduction"] = introduction
        if not change:
            return
        stored = member.attributes()
        as_read = all_of(*(Is(name, stored.get(name)) for name in ("route", "introduction")))
        checks = [way.owner.still_consents()]
        self.table.transact([*checks, Update(member.key, set=change, condition=as_read)])

    def _limits(
        self,
        tenant: str,
        user_id: str,
        route: Route,
        overrides: Overrides | None = None,
    ) -> list[tuple[Allowance, Rate]]:
        """Return the daily limits of first contacts to the person and from the line.

        Returns:
            The stored allowance and the rate of each limit.

        Raises:
            NotNow: One of the limits is used up.
        """
        owners = (
            owner_on_channel(route.channel, user_id),
            owner_of_line(route.channel, route.line.address),
        )
        keys = [Allowance.key_of(tenant, owner) for owner in owners]
        settings_key = TenantSettings.key_of(tenant)
        found = self.table.get_many([*keys, settings_key])
        if overrides is None:
            overrides = TenantSettings.from_optional(found.get(settings_key))
        settings = self.settings.overridden(overrides)
        sizes = (settings.user_first_contacts_per_day, settings.line_first_contacts_per_day)
        limits = [
            (Allowance.from_optional(found.get(key), tenant, owner), Rate(size, DAY))
            for key, owner, size in zip(keys, owners, sizes, strict=True)
        ]
        now = self._now
        wait = max(rate.waiting(each.contacts_full_at, 1, now) for each, rate in limits)
        if wait:
            raise NotNow(Reason.RATE_LIMITED, now + wait)
        return limits

    def _introduction(self, parties: _Parties, way: _Way, asker: str) -> str:
        own = {name: value for name, value in parties.overrides.items() if name == "introduction"}
        words = TenantOnlySettings.model_validate(own).introduction
        stop = channel_named(way.route.channel).stop_word
        for name, value in {"agent": parties.agent.name, "asker": asker, "stop": stop}.items():
            words = words.replace(f"{{{name}}}", value)
        return words


def _opted_out(user_id: str) -> Conflict:
    return Conflict(
        "the person has opted out of texts of this line",
        details={"user_id": user_id},
        reason=Reason.OPTED_OUT,
    )


def _no_consent(user_id: str) -> Conflict:
    return Conflict(
        "the person has not consented to texts",
        details={"user_id": user_id},
        reason=Reason.NO_CONSENT,
    )
