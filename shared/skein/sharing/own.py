"""What a person may see and decide about their own words and sharing rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.disclosure import DisclosureRecord
from skein.models.chats.sharing import SharingState
from skein.models.common.base import NamedMember
from skein.models.common.storage import Is, Query, Update, Write
from skein.models.config.sharing import (
    OWN_RULE,
    SharingParty,
    SharingRule,
    SharingRuleFields,
    epoch_raised,
)
from skein.models.directory.role import Role
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.chat_state.sharing_rules import PersonRoles, Rules, covering
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.chats.consolidation_schedule import consolidation_due
from skein.services.chats.views import ChatViews
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import read_items
from skein.services.directory.users import Users
from skein.settings import Settings
from skein.sharing.rules import RuleChanges

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.sharing.api import NewOwnRule, Withdrawal

MAX_DISCLOSURES = 100  # records in an answer
StateChange = Callable[[SharingState], SharingState]
"""Returns what a chat stores after a change."""


@dataclass(frozen=True, slots=True)
class OwnView:
    """What a person may see of sharing.

    Attributes:
        user: The person's record.
        roles: The person's roles now.
        rules: The rules that cover what the person says.
        names: The names of the people whom the rules name, by id.
        talks: The person's direct chats that a rule covers.
        disclosures: The newest records of what was told, with the names of those who were told.
    """

    user: User
    roles: tuple[Role, ...]
    rules: Rules
    names: dict[str, str]
    talks: tuple[Chat, ...]
    disclosures: tuple[tuple[DisclosureRecord, tuple[str, ...]], ...]

    def party(self, party: SharingParty) -> str:
        """Return a side of a rule in plain words."""
        if party.role is not None:
            return f"everybody with the role {party.role}"
        return self.names.get(str(party.user_id), "somebody")

    def sentence(self, rule: SharingRule) -> str:
        """Return what a rule says about the person's words, in plain words."""
        same = ", if their role is about the same person as yours" if rule.same_subject else ""
        whom = self.party(rule.to)
        return f"What you tell agents alone may be told to {whom}{same}: {rule.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSharing:
    """The service for what people see and decide about their own words."""

    table: Table
    clock: Clock
    changes: RuleChanges
    users: Users
    views: ChatViews
    settings: Settings

    def view(self, tenant: str, person: NamedMember) -> OwnView:
        """Return what a person may see."""
        now, user = self.clock.now(), self.users.me(tenant, person)
        standing = PersonRoles.of(user, now)
        rules = covering(self.changes.read(tenant).in_force(now), standing)
        ids = {each.to.user_id for each in rules if each.to.user_id is not None}
        keys = [User.key_of(tenant, each) for each in sorted(ids)]
        found = self.table.get_many(keys) if keys else {}
        people = map(User.from_item, found.values())
        direct = self.views.direct_chats(tenant, user.id).items
        return OwnView(
            user=user,
            roles=standing.roles,
            rules=rules,
            names={each.id: each.name for each in people},
            talks=tuple(own.chat for own in direct if _covers(own.chat, user.id)),
            disclosures=self.disclosures(tenant, user.id),
        )

    def disclosures(
        self, tenant: str, user_id: str
    ) -> tuple[tuple[DisclosureRecord, tuple[str, ...]], ...]:
        """Return the newest records of what others were told of a person's words; see `named`."""
        partition = DisclosureRecord.partition_of(tenant, user_id)
        query = Query.under(
            partition, DisclosureRecord.PREFIX, limit=MAX_DISCLOSURES, newest_first=True
        )
        records = [DisclosureRecord.from_item(item) for item in self.table.query(query).items]
        return self.named(tenant, records)

    def named(
        self, tenant: str, records: Sequence[DisclosureRecord]
    ) -> tuple[tuple[DisclosureRecord, tuple[str, ...]], ...]:
        """Return each record with the names of who reads the chat where it was told now."""
        keys = dict.fromkeys(Chat.key_of(tenant, record.shown_in) for record in records)
        found = read_items(self.table, list(keys))
        chats = {chat.id: chat for chat in map(Chat.from_item, found.values())}
        return tuple((record, _names(chats.get(record.shown_in))) for record in records)

    def add_rule(self, tenant: str, person: NamedMember, new: "NewOwnRule") -> SharingRule:
        """Add a rule for a person's own words.

        Raises:
            Conflict: The tenant or the person has too many rules.
            Unprocessable: The rule names a person who does not exist.
        """
        self.users.recorded(tenant, person)
        fields = SharingRuleFields(
            name=OWN_RULE,
            reason=new.reason,
            from_=SharingParty(user_id=person.id),
            to=new.to,
            ends_at=new.ends_at,
        )
        return self.changes.add(tenant, fields, by=person.id, own=True)

    def remove_rule(self, tenant: str, user_id: str, rule_id: str) -> None:
        """Remove a rule that a person made for their own words.

        Raises:
            NotFound: The person made no such rule.
        """
        self.changes.withdraw(tenant, rule_id, by=user_id, own_of=user_id)

    def keep_talk(self, tenant: str, user_id: str, chat_id: str) -> Chat:
        """Keep a person's newest talk in a chat from others (idempotent).

        Raises:
            NotFound: The chat is no direct chat of the person, or no rule covers it.
        """
        return self._changed(tenant, user_id, chat_id, lambda talk: talk.kept_private(0))

    def withdraw(self, tenant: str, user_id: str, chat_id: str, given: "Withdrawal") -> Chat:
        """Keep messages of a person from others from now on (idempotent).

        What others were told before stays said.

        Raises:
            NotFound: The chat is no direct chat of the person, or no rule covers it.
            Unprocessable: The chat has no such messages.
        """

        def withdrawn(sharing: SharingState) -> SharingState:
            return sharing.withdrawn(given.from_seq, given.to_seq)

        return self._changed(tenant, user_id, chat_id, withdrawn, last_seq=given.to_seq)

    def open_to(self, tenant: str, user_id: str, chat_id: str, rule_id: str) -> Chat:
        """Let a rule cover also what the person said in a chat before its notice.

        Agents read the person's own words again, for memories.

        Raises:
            NotFound: The chat is no direct chat of the person, or the rule does not cover it.
        """

        def opened(sharing: SharingState) -> SharingState:
            if rule_id not in sharing.noticed:
                raise NotFound("no such rule covers this chat")
            return sharing.opened_to(rule_id)

        return self._changed(tenant, user_id, chat_id, opened)

    def _changed(
        self,
        tenant: str,
        user_id: str,
        chat_id: str,
        change: StateChange,
        *,
        last_seq: int = 0,
    ) -> Chat:
        """Change what a chat stores for rules, and bind runs to it.

        The feed has the words indexed again.
        """

        def attempt() -> Chat:
            snapshot = read_snapshot(self.table, tenant, chat_id)
            chat = snapshot.chat
            if chat.sharing is None or not _covers(chat, user_id):
                raise NotFound("this chat is covered by no sharing rule")
            if chat.discarded_at is not None:
                raise Conflict("the chat is discarded")
            if last_seq > chat.last_seq:
                raise Unprocessable("the chat has no such messages")
            sharing = change(chat.sharing)
            if sharing == chat.sharing:
                return chat
            revised = chat.model_copy(update={"sharing": sharing, "version": chat.version + 1})
            changed = {name: revised.attributes()[name] for name in ("sharing", "version")}
            writes: list[Write] = [epoch_raised(tenant)]
            due = consolidation_due(
                snapshot._replace(chat=revised), now=self.clock.now(), settings=self.settings
            )
            if due is not None:  # earlier words that were opened are read for memories
                changed |= due.change
                writes.append(due.write)
            as_read = Is("version", chat.version)
            self.table.transact([Update(chat.key, set=changed, condition=as_read), *writes])
            return revised

        return optimistic(self.clock, attempt)


def _names(chat: Chat | None) -> tuple[str, ...]:
    """Return the names of the people in a chat; none if it is gone."""
    roster = chat.roster if chat is not None else ()
    return tuple(member.name for member in roster if member.kind == "user")


def _covers(chat: Chat, user_id: str) -> bool:
    """Tell whether a chat is the direct chat of a person who was told of a sharing rule there."""
    sharing, direct = chat.sharing, chat.kind == "direct" and chat.person_ids == (user_id,)
    return direct and sharing is not None and sharing.person_id == user_id
