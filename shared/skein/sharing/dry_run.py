"""Try a change of sharing rules or roles, and count what it would let people be told.

Nothing is written. Both sides are decided by `ReaderRules`, once as it is and once as it would be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice, product
from typing import NamedTuple

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.common.storage import Query
from skein.models.config.sharing import SharingParty, SharingRule, SharingRuleFields, SharingRules
from skein.models.directory.role import Role, roles_after
from skein.models.directory.user import User, users_relation
from skein.ports import Clock, Table
from skein.services.chat_state.sharing_rules import (
    PersonRoles,
    ReaderRules,
    SaidMessage,
    may_tell,
    pause_in,
)
from skein.services.chats.views import ChatViews
from skein.services.common.pagination import pages_of_relation, read_items
from skein.services.config.rule_versions import check_people, read_rules
from skein.settings import Settings

MAX_PEOPLE = 1_000  # of the tenant who are looked at
MAX_PAIRS = 100  # whose messages are counted
MAX_COUNTED = 100  # newest messages of a chat that are read


@dataclass(frozen=True, slots=True)
class SharingChange:
    """A change to try.

    Attributes:
        add: New rules, as if they began now.
        remove: The ids of rules that would be deleted.
        roles: All roles that people would have, by their ids.
    """

    add: tuple[SharingRuleFields, ...] = ()
    remove: tuple[str, ...] = ()
    roles: Mapping[str, tuple[Role, ...]] = field(default_factory=dict)


class PairCount(NamedTuple):
    """What a reader may be told of an author.

    Attributes:
        tells: Whether a rule covers what the author says from now on.
        messages: How many messages may be told now.
        talks: In how many talks.
    """

    tells: bool
    messages: int
    talks: int


class ReaderChange(NamedTuple):
    """An author and a reader for whom a change makes a difference."""

    author: User
    reader: User
    before: PairCount
    after: PairCount


class DryRun(NamedTuple):
    """What a change would do.

    Attributes:
        complete: Whether no limit was reached.
    """

    pairs: tuple[ReaderChange, ...]
    complete: bool


class _Side(NamedTuple):
    """Rules and people, as they are or as they would be."""

    rules: SharingRules
    users: Mapping[str, User]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingDryRuns:
    """The service that tries changes of rules and roles."""

    table: Table
    clock: Clock
    settings: Settings
    views: ChatViews

    def run(self, tenant: str, change: SharingChange) -> DryRun:
        """Return the people for whom a change makes a difference.

        Raises:
            NotFound: A rule or a person whose roles would change does not exist.
            Unprocessable: A new rule names a person who does not exist.
        """
        now, known = self.clock.now(), read_rules(self.table, tenant)
        missing = set(change.remove) - {rule.id for rule in known.rules}
        if missing:
            raise NotFound("sharing rule not found")
        parties = [party for new in change.add for party in (new.from_, new.to)]
        check_people(self.table, tenant, parties)
        people, all_people = self._people(tenant, known, change)
        if not change.roles.keys() <= people.keys():
            raise NotFound("user not found")
        before = _Side(known, people)
        after = _Side(_rules_after(known, change, now), _people_after(people, change, now))
        pairs = list(islice(_candidates(before, after, change), MAX_PAIRS + 1))
        said = {author: self._said(tenant, author) for author in {a for a, _ in pairs[:MAX_PAIRS]}}
        changed: list[ReaderChange] = []
        for author, reader in pairs[:MAX_PAIRS]:
            counts = [
                self._count(side, author, reader, said[author], now) for side in (before, after)
            ]
            if counts[0] != counts[1]:
                changed.append(ReaderChange(people[author], people[reader], *counts))
        read_all = all(of_author.complete for of_author in said.values())
        return DryRun(tuple(changed), all_people and read_all and len(pairs) <= MAX_PAIRS)

    def _people(
        self, tenant: str, known: SharingRules, change: SharingChange
    ) -> tuple[dict[str, User], bool]:
        """Return the people who matter, by id, and whether all of the tenant were looked at."""
        parties = [party for rule in (*known.rules, *change.add) for party in (rule.from_, rule.to)]
        named = {each.user_id for each in parties if each.user_id is not None} | change.roles.keys()
        rows = (
            row for rows in pages_of_relation(self.table, users_relation(tenant)) for row in rows
        )
        listed = [str(row["gsi1sk"]) for row in islice(rows, MAX_PEOPLE + 1)]
        ids = dict.fromkeys([*sorted(named), *listed[:MAX_PEOPLE]])
        found = read_items(self.table, [User.key_of(tenant, each) for each in ids])
        users = map(User.from_item, found.values())
        people = {
            user.id: user
            for user in users
            if user.erasure_id is None and (user.roles or user.id in named)
        }
        return {each: people[each] for each in sorted(people)}, len(listed) <= MAX_PEOPLE

    def _said(self, tenant: str, user_id: str) -> "_Said":
        """Read what a person said to agents alone and what a rule may cover."""
        listing = self.views.direct_chats(tenant, user_id)
        covered = [own.chat for own in listing.items if own.chat.sharing is not None]
        chats: list[tuple[Chat, list[SaidMessage]]] = []
        complete = listing.next_cursor is None
        for chat in covered:
            query = Query.under(
                chat_partition(tenant, chat.id),
                Message.PREFIX,
                limit=MAX_COUNTED,
                newest_first=True,
            )
            page = self.table.query(query)
            complete = complete and page.next_start is None
            said = map(SaidMessage.of, map(Message.from_item, page.items))
            chats.append((chat, [each for each in said if each is not None][::-1]))
        return _Said(chats, complete)

    def _count(
        self, side: _Side, author_id: str, reader_id: str, said: "_Said", now: datetime
    ) -> PairCount:
        """Count what a reader may be told of an author on one side."""
        author, reader = side.users[author_id], side.users[reader_id]
        rules = ReaderRules.of(side.rules, (reader,), now, self.settings)
        speaks, reads = PersonRoles.of(author, now), PersonRoles.of(reader, now)
        messages = talks = 0
        for chat, of_chat in said.chats:
            pause, last = pause_in(chat, self.settings), None
            for one in of_chat:
                if not rules.rules_for(chat, one, author):
                    continue
                messages += 1
                talks += last is None or one.at - last >= pause
                last = one.at
        tells = any(may_tell(rule, speaks, reads) for rule in rules.rules)
        return PairCount(tells, messages, talks)


class _Said(NamedTuple):
    """What a person said to agents alone, oldest first, and whether that is all."""

    chats: list[tuple[Chat, list[SaidMessage]]]
    complete: bool


def _rules_after(known: SharingRules, change: SharingChange, now: datetime) -> SharingRules:
    left = [rule for rule in known.rules if rule.id not in change.remove]
    added = (
        SharingRule(**dict(new), id=f"new_{number}", begins_at=now)
        for number, new in enumerate(change.add, 1)
    )
    return known.model_copy(update={"rules": (*left, *added)})


def _people_after(
    people: Mapping[str, User], change: SharingChange, now: datetime
) -> dict[str, User]:
    def after(user: User) -> User:
        wanted = change.roles.get(user.id)
        if wanted is None:
            return user
        return user.model_copy(update={"roles": roles_after(user.roles, wanted, now)})

    return {each: after(user) for each, user in people.items()}


def _candidates(before: _Side, after: _Side, change: SharingChange) -> Iterator[tuple[str, str]]:
    """Yield the pairs of people whom the change may concern, by id, each once."""
    kept = {rule.id for rule in before.rules.rules} & {rule.id for rule in after.rules.rules}
    rules = {rule.id: rule for rule in (*before.rules.rules, *after.rules.rules)}
    seen = set[tuple[str, str]]()
    for rule in rules.values():
        authors = _ever(rule.from_, before, after)
        readers = _ever(rule.to, before, after)
        by_author = authors if rule.id not in kept else [a for a in authors if a in change.roles]
        by_reader = [] if rule.id not in kept else [r for r in readers if r in change.roles]
        for pair in chain(product(by_author, readers), product(authors, by_reader)):
            if pair[0] != pair[1] and pair not in seen:
                seen.add(pair)
                yield pair


def _ever(party: SharingParty, *sides: _Side) -> list[str]:
    """Return the people who belong to one side of a rule, or did once, by id."""
    return sorted(
        {
            user.id
            for side in sides
            for user in side.users.values()
            if party.user_id == user.id or any(held.role == party.role for held in user.roles)
        }
    )
