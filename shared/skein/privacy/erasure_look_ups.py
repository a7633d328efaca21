"""Erase the items by which the person can be found, for example by a phone number."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from skein.channels.registry import reached_by_address
from skein.errands.erasing import errands_erased, errands_posted
from skein.errands.models.errand import ErrandLink
from skein.errors import ConditionFailed
from skein.events.erasing import erase_events
from skein.identity.models.user_token import UserToken
from skein.models.chats.consent import Consent
from skein.models.chats.idempotency import OPENED
from skein.models.chats.person_choices import PersonChoices
from skein.models.common.address import Address
from skein.models.common.base import is_visitor
from skein.models.common.storage import Delete, Is, Item, Key, Write
from skein.models.directory.address_index import AddressChat, AddressOwner, address_partition
from skein.models.directory.number_code import NumberCode
from skein.models.directory.user import Merge, NameWord, User
from skein.models.quotas.limit import Allowance, owner_of_user, owner_on_channel
from skein.models.quotas.usage import days_of_user_usage
from skein.models.visibility.disclosure import DisclosureRecord
from skein.outreach.erasing import outreach_to
from skein.own_tools.erasing import approvals_erased
from skein.ports import Clock, Table
from skein.privacy.erasure_rewrites import MessageEraser
from skein.privacy.erasure_sweep import Sweep
from skein.privacy.models.audit import Access
from skein.privacy.models.forgetting import ForgetRequest, Forgetting
from skein.services.chats.invitations import end_invitation, invitations_of
from skein.services.common.pagination import items_under, read_items
from skein.services.directory.name_index import name_words
from skein.sharing.erasing import erase_from_sharing

Ids = tuple[str, ...]

OF_USER = (
    OPENED,
    Consent.PREFIX,
    Forgetting.PREFIX,
    ForgetRequest.PREFIX,
    NumberCode.PREFIX,
    Access.PREFIX,
    UserToken.PREFIX,
    ErrandLink.PREFIX,
    DisclosureRecord.PREFIX,
)
# Functions of other packages that find the messages posted for a person, by one of the ids.
POSTED: tuple[Callable[[Table, str, str, Ids], Iterator[tuple[str, int]]], ...] = (errands_posted,)
# Functions of other packages that find a person's data by one of the person's ids.
ERASED_FIRST: tuple[Callable[[Table, str, str, Ids], Iterator[Write]], ...] = (
    errands_erased,
    approvals_erased,
)
KEYS: tuple[Callable[[Table, str, str], Iterator[Key]], ...] = (outreach_to,)
# Functions that take all ids of the person: they delete queued events or change shared items.
WAITING: tuple[Callable[[Table, str, Ids, Ids], int], ...] = (erase_events,)
CHANGED: tuple[Callable[[Table, Clock, str, frozenset[str]], Iterator[str]], ...] = (
    erase_from_sharing,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpEraser:
    """The stage `rest` of an erasure: look-ups, events, sharing rules, limits and usage."""

    table: Table
    clock: Clock
    rewriter: MessageEraser

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Delete the items that are found by the person's addresses, ids or names.

        These include look-ups, queued events, invitations, consents, limits and usage counters. The
        person is also removed from the sharing rules of the tenant. Before errands are deleted, the
        rules of the erasure are applied to the messages that they posted.
        """
        del after  # this stage is short and starts over
        for address in sweep.subject.addresses:
            for item in items_under(self.table, address_partition(sweep.tenant, address), ""):
                self._delete(sweep, _look_up(sweep, address, item))
            yield f"address {len(sweep.subject.addresses)}"
        self._rewrite_posted(sweep)
        for user_id in sweep.subject.ids:
            merge = Merge.key_of(sweep.tenant, user_id)
            sent = (owner_on_channel(name, user_id) for name in reached_by_address())
            owners = (owner_of_user(user_id), *sent)
            allowances = [Allowance.key_of(sweep.tenant, owner) for owner in owners]
            for chat, _ in invitations_of(self.table, sweep.tenant, user_id):
                end_invitation(self.table, self.clock, sweep.tenant, chat.id, user_id)
                sweep.unsaved.counts["invitations"] += 1
            choices = PersonChoices.key_of(sweep.tenant, user_id)
            for key in self.table.get_many([merge, *allowances, choices]):
                self._delete(sweep, Delete(key))
            ids = sweep.subject.ids
            linked = (each(self.table, sweep.tenant, user_id, ids) for each in ERASED_FIRST)
            for write in chain.from_iterable(linked):
                self._delete(sweep, write)
            for key in _items_of(self.table, sweep.tenant, user_id):
                self._delete(sweep, Delete(key))
        self._erase_events(sweep)
        yield from self._erase_sharing(sweep)
        for key in read_items(self.table, list(_names(sweep))):
            self._delete(sweep, Delete(key))
        counters = days_of_user_usage(sweep.tenant, sweep.subject.ids, sweep.now)
        for key in read_items(self.table, list(counters)):
            self._delete(sweep, Delete(key))

    def _rewrite_posted(self, sweep: Sweep) -> None:
        """Apply the rules to the messages that errands posted for the person."""
        ids = sweep.subject.ids
        posted = (find(self.table, sweep.tenant, each, ids) for each in ids for find in POSTED)
        for chat_id, seq in chain.from_iterable(posted):
            self.rewriter.rewrite(sweep, chat_id, seq)

    def _erase_events(self, sweep: Sweep) -> None:
        """Delete queued events that name the person; skipped for the erasure of a message."""
        ids, chats = sweep.subject.ids, tuple(sweep.chats)
        for erase in WAITING if ids else ():
            if erased := erase(self.table, sweep.tenant, ids, chats):
                sweep.unsaved.counts["events"] += erased

    def _erase_sharing(self, sweep: Sweep) -> Iterator[str]:
        """Remove the person from sharing rules and roles.

        This reads all members, so it is skipped for visitors, who have no part in either, and for
        the erasure of a message.
        """
        people = frozenset(each for each in sweep.subject.ids if not is_visitor(each))
        if not people:
            return
        for change in CHANGED:
            for changed in change(self.table, self.clock, sweep.tenant, people):
                sweep.unsaved.counts["sharing"] += 1
                yield changed

    def _delete(self, sweep: Sweep, write: Write | None) -> None:
        if write is None:
            return
        try:
            self.table.write(write)
        except ConditionFailed:  # the look-up now belongs to someone else
            return
        sweep.unsaved.counts["look_ups"] += 1


def _items_of(table: Table, tenant: str, user_id: str) -> Iterator[Key]:
    """Yield the keys of outreach items, and of items in the person's partition such as consents."""
    for keys in KEYS:
        yield from keys(table, tenant, user_id)
    for prefix in OF_USER:
        for item in items_under(table, User.key_of(tenant, user_id).pk, prefix):
            yield Key(item["pk"], item["sk"])


def _names(sweep: Sweep) -> Iterator[Key]:
    """Yield the keys in the name index under which the person may be listed."""
    words = {word for name in sweep.subject.names for word in name_words(name)}
    for user_id in sweep.subject.ids:
        yield from (NameWord.key_of(sweep.tenant, word, user_id) for word in sorted(words))


def _look_up(sweep: Sweep, address: Address, item: Item) -> Write | None:
    """Return the write that deletes an address's index entry, if it leads to the person."""
    key = Key(item["pk"], item["sk"])
    if key == AddressOwner.key_of(sweep.tenant, address):
        owner = AddressOwner.from_item(item)
        theirs = owner.user_id in sweep.subject.ids
        return Delete(key, Is("user_id", owner.user_id)) if theirs else None
    leads = AddressChat.from_item(item)
    return Delete(key, Is("chat_id", leads.chat_id)) if leads.chat_id in sweep.chats else None
