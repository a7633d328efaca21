"""Export all data of a person as one document, in pages.

The size of a page is limited to one API response. The number of items read for a page is also
limited. If most messages of a chat are by other people, a page can be short or even empty.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, StringConstraints

from skein.errands.models.errand import ErrandLink
from skein.errands.views import exported_errand
from skein.errors import NotFound
from skein.identity.models.visit import Visit
from skein.live.models.device import Device, PersonDevices
from skein.media.uploads import FileLink, MediaUploads
from skein.memory.models.memory import Memory
from skein.memory.models.records import REFLECTED
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import Invited
from skein.models.chats.consent import Consent
from skein.models.chats.desk_stay import DeskStay
from skein.models.chats.media import MediaFile
from skein.models.chats.membership import Membership, member_relation, past_relation, related_chat
from skein.models.common.address import Address
from skein.models.common.base import MemberRef
from skein.models.common.effects import EFFECT
from skein.models.common.storage import Item, Key, SortKeyPrefix, key_kind
from skein.models.delivery.delivery import Delivery
from skein.models.directory.address_index import ChannelConsents
from skein.models.directory.user import User
from skein.models.items.agent_item import REVISION
from skein.models.quotas.usage import Usage, UsageCounter, days_of_user_usage
from skein.models.visibility.audience import Audience, may_show
from skein.models.visibility.disclosure import DisclosureRecord
from skein.models.visibility.ownership import owned_partition
from skein.models.visibility.provenance import made_relation, mixed_relation
from skein.ports import Clock, Table
from skein.privacy.made_items import ROWS, folder_of, keys_made_from, made_in
from skein.recall.models.own_words import OwnWordsMemory
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.chats.invitations import invitations_of
from skein.services.common.pagination import (
    MAX_PAGE_BYTES,
    Cursor,
    KeyText,
    items_under,
    pages_of_relation,
    read_items,
)
from skein.services.directory.text_consents import TextConsents
from skein.workspace.models.thread import ACTIVE_THREAD, Thread

MAX_READ = 5_000  # items read for one page
# The items of a chat that are exported, in table order.
PERSONAL_PREFIXES = tuple(
    sorted((Delivery.PREFIX, DeskStay.PREFIX, MediaFile.PREFIX, Message.PREFIX))
)
BOOKKEEPING = (EFFECT, REVISION, ACTIVE_THREAD)  # in an agent's partition; not exported
RowText = Annotated[KeyText, StringConstraints(pattern="#")]  # the hour, `#`, the chat's id
HIDDEN_ATTRIBUTES = frozenset(
    {"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "due_tries", "version", "authors"}
)


class ExportCursor(Cursor):
    """The position of the last exported item.

    Attributes:
        relation: The position of the current list of chats in `_relations`. The number after the
            last list stands for the consents, disclosures and errands.
        row: Sort key of the chat's row in that list.
        key: The sort key of the last item read in the current chat, list or agent's data. For an
            item that was made from a chat, its position among such items.
        agent: The agent whose data is being exported; set after all chats are exported.
    """

    of: Literal["export"] = "export"
    relation: Annotated[int, Field(ge=0)] = 0
    row: RowText | None = None
    key: KeyText | None = None
    agent: KeyText | None = None


class OwnMembership(NamedTuple):
    """A chat and the person's membership in it, which may have ended."""

    chat: Chat
    membership: Membership


class KeptItem(NamedTuple):
    """An item that an agent stores only for the person, or made only from the person's words."""

    agent_id: str
    kind: str
    attributes: dict[str, Any]


class ExportedFile(NamedTuple):
    """A picture or file of the person, with a signed link if it is ready."""

    file: MediaFile
    link: FileLink | None


class Export(NamedTuple):
    """One page of an export; `next_cursor` is None on the last page.

    Attributes:
        files: The pictures and files of messages, and files that are in no message yet.
        usage: The usage of work for the person, by day (UTC); on the first page only.
        devices: The devices that get the person's notifications; on the first page only.
        invitations: The chats to which the person is invited; on the first page only.
        consents: The posts of agents' words that the person approved.
        disclosures: Records of the person's words that sharing rules have shown to others.
        text_consents: The person's consents to texts, by phone number; on the first page only.
        visit: The visit of a visitor, on the first page only; None for members.
    """

    user: User
    usage: dict[date, Usage]
    devices: tuple[Device, ...]
    invitations: list[tuple[Chat, Invited]]
    chats: list[OwnMembership]
    messages: list[Message]
    deliveries: list[Delivery]
    files: list[ExportedFile]
    consents: list[Consent]
    disclosures: list[DisclosureRecord]
    kept: list[KeptItem]
    next_cursor: str | None
    text_consents: dict[Address, ChannelConsents]
    visit: Visit | None


Thing = (
    OwnMembership | Message | Delivery | MediaFile | Consent | DisclosureRecord | KeptItem | None
)


Exported = Callable[[Table, Item, datetime], tuple[str, dict[str, Any]] | None]
"""Returns the agent id and the attributes of the item that a link leads to; None if hidden."""
LINKED: Mapping[SortKeyPrefix, tuple[str, Exported]] = {
    ErrandLink.PREFIX: ("errand", exported_errand),
}
"""For each kind of link in a person's partition: the linked item's kind, and how to export it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Service that exports all data of a person."""

    table: Table
    clock: Clock
    uploads: Callable[[], MediaUploads]

    def page(self, tenant: str, user_id: str, *, cursor: str | None = None) -> Export:
        """Get a page of a person's data. In direct chats, the agent's answers are included.

        Raises:
            NotFound: The person does not exist or is being erased.
            Invalid: The cursor does not belong to an export.
        """
        at = ExportCursor.decode(cursor) if cursor is not None else ExportCursor()
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        usage = self._usage(user) if cursor is None else {}
        invited = self._invitations(user) if cursor is None else []
        devices = self._devices(user) if cursor is None else ()
        texts = TextConsents(table=self.table, clock=self.clock)
        consents = texts.of_user(user) if cursor is None else {}
        visit = Visit.read(self.table, Visit.key_of(tenant, user.id)) if cursor is None else None
        page = Export(
            user, usage, devices, invited, [], [], [], [], [], [], [], None, consents, visit
        )
        size = sum(len(used.model_dump_json().encode()) for used in usage.values())
        before = at
        for read, (position, thing) in enumerate(self._things(user, at), 1):
            size += _size(thing)
            if read > MAX_READ or (size > MAX_PAGE_BYTES and before != at):
                return page._replace(next_cursor=before.encode())
            self._put(page, thing)
            before = position
        return page

    def _put(self, page: Export, thing: Thing) -> None:
        if isinstance(thing, OwnMembership):
            page.chats.append(thing)
        elif isinstance(thing, Message):
            page.messages.append(thing)
        elif isinstance(thing, Delivery):
            page.deliveries.append(thing)
        elif isinstance(thing, MediaFile):
            link = self.uploads().signed(thing) if thing.state == "ready" else None
            page.files.append(ExportedFile(thing, link))
        elif isinstance(thing, Consent):
            page.consents.append(thing)
        elif isinstance(thing, DisclosureRecord):
            page.disclosures.append(thing)
        elif isinstance(thing, KeptItem):
            page.kept.append(thing)

    def _invitations(self, user: User) -> list[tuple[Chat, Invited]]:
        ids = (user.id, *user.former_ids)
        return [one for each in ids for one in invitations_of(self.table, user.tenant, each)]

    def _devices(self, user: User) -> tuple[Device, ...]:
        ids = (user.id, *user.former_ids)
        keys = [PersonDevices.key_of(user.tenant, each) for each in ids]
        found = read_items(self.table, keys)
        items = PersonDevices.read_each(found)
        return tuple(device for person in items for device in person.devices)

    def _usage(self, user: User) -> dict[date, Usage]:
        """Return the usage of all ids of the person by day, oldest first."""
        days = days_of_user_usage(user.tenant, (user.id, *user.former_ids), self.clock.now())
        found = read_items(self.table, list(days))
        usage: dict[date, Usage] = {}
        for key, day in days.items():
            if key in found:
                counted = UsageCounter.from_item(found[key]).usage
                usage[day] = usage.get(day, Usage()) + counted
        return usage

    def _things(self, user: User, at: ExportCursor) -> Iterator[tuple[ExportCursor, Thing]]:
        if at.agent is None:
            relations = _relations(user)
            for number in range(at.relation, len(relations)):
                here = at if number == at.relation else ExportCursor(relation=number)
                yield from self._of_relation(user, relations[number], here)
            yield from self._records(user, len(relations), at)
        for agent_id in self._agents(user):
            if at.agent is None or agent_id >= at.agent:
                behind = (at.key or "") if agent_id == at.agent else ""
                mixed = self._made(user, mixed_relation(user.tenant, agent_id), behind)
                for key, kept in chain(self._kept(user, agent_id), mixed):
                    if key > behind:
                        yield ExportCursor(agent=agent_id, key=key), kept

    def _records(
        self, user: User, number: int, at: ExportCursor
    ) -> Iterator[tuple[ExportCursor, Thing]]:
        """Yield consents, disclosures and errands, which are exported after the lists of chats.

        Args:
            number: The position of this list, as in `ExportCursor.relation`.
            at: Where the previous page ended.
        """
        behind = (at.key or "") if at.relation >= number else ""
        for position, user_id in enumerate((user.id, *user.former_ids)):
            pk = User.key_of(user.tenant, user_id).pk
            kinds = (Consent.PREFIX, DisclosureRecord.PREFIX, *LINKED)  # in table order
            for item in chain.from_iterable(items_under(self.table, pk, kind) for kind in kinds):
                key = f"{position:04d} {item['sk']}"
                if key > behind:
                    yield ExportCursor(relation=number, key=key), self._record(item)

    def _record(self, item: Item) -> Thing:
        """Return a record, or the item to which a link leads; None if the item may not be shown."""
        if Consent.PREFIX.holds(item):
            return Consent.from_item(item)
        if DisclosureRecord.PREFIX.holds(item):
            return DisclosureRecord.from_item(item)
        name, exported = next(found for prefix, found in LINKED.items() if prefix.holds(item))
        shown = exported(self.table, item, self.clock.now())
        return KeptItem(shown[0], name, shown[1]) if shown is not None else None

    def _of_relation(
        self, user: User, relation: str, at: ExportCursor
    ) -> Iterator[tuple[ExportCursor, Thing]]:
        if at.row is not None and at.key is not None:
            yield from self._rest_of_chat(user, at, at.row)
        for rows in pages_of_relation(self.table, relation, after=at.row):
            for row in rows:
                here = ExportCursor(relation=at.relation, row=row["gsi1sk"], key="-")
                own = self._own_membership(user, related_chat(row))
                if own is not None:
                    yield here, own
                    yield from self._of_chat(user, here, own.chat)

    def _rest_of_chat(
        self, user: User, at: ExportCursor, row: str
    ) -> Iterator[tuple[ExportCursor, Thing]]:
        """Yield the rest of the chat in which the previous page ended.

        If the cursor names a chat in which the person has no membership, nothing is yielded.
        """
        own = self._own_membership(user, related_chat({"gsi1sk": row}))
        if own is not None:
            yield from self._of_chat(user, at, own.chat)

    def _own_membership(self, user: User, chat_id: str) -> OwnMembership | None:
        try:
            snapshot = read_snapshot(self.table, user.tenant, chat_id, closed=True)
        except NotFound:
            return None
        own = (
            OwnMembership(snapshot.chat, membership)
            for membership in snapshot.members
            if _is(user, membership.member)
        )
        return next(own, None)

    def _of_chat(
        self, user: User, at: ExportCursor, chat: Chat
    ) -> Iterator[tuple[ExportCursor, Thing]]:
        """Yield the person's items of a chat after `at.key`; in a direct chat, also the agent's.

        Other people's items are yielded as None, so that they count as read.
        """
        pk, done = chat.key.pk, at.key or "-"
        for prefix in PERSONAL_PREFIXES:
            if done > prefix.last:
                continue
            after = done if done.startswith(prefix) else None
            for found in items_under(self.table, pk, prefix, after=after):
                position = at.model_copy(update={"key": found["sk"]})
                yield position, _theirs(user, found, chat)
        for key, made in self._made(user, made_relation(user.tenant, chat.id), done):
            yield at.model_copy(update={"key": key}), made

    def _made(self, user: User, relation: str, done: str) -> Iterator[tuple[str, KeptItem]]:
        """Yield items that agents made only from the person's words and that the person may see.

        Items in the person's own scope are skipped, because `_kept` exports them.

        Args:
            relation: A relation of the index of source chats.
            done: The position of the last exported item.
        """
        ids, readers = (user.id, *user.former_ids), Audience(open=False, people=(user.id,))
        own = {f"user:{user_id}" for user_id in ids}
        keys = sorted(keys_made_from(self.table, relation))
        keys = [key for key in keys if _position(key) > done]
        for start in range(0, len(keys), ROWS):
            found = self.table.get_many(keys[start : start + ROWS])
            for key, item in sorted(found.items()):
                thing = made_in(item)
                if thing is None or not thing.made_from.writers.only(ids):
                    continue
                shown = may_show(thing.audience, readers) and folder_of(thing).scope not in own
                if shown and thing.agent_id is not None:
                    kind = type(thing).__name__.lower()
                    kept = KeptItem(thing.agent_id, kind, _shown_attributes(item))
                    yield _position(key), kept

    def _agents(self, user: User) -> list[str]:
        """Return the ids of all agents in the person's current and former chats."""
        agents: set[str] = set()
        for relation in _relations(user):
            for rows in pages_of_relation(self.table, relation):
                keys = [Chat.key_of(user.tenant, related_chat(row)) for row in rows]
                found = self.table.get_many(keys) if keys else {}
                for chat in Chat.read_each(found):
                    agents |= {member.id for member in chat.roster if member.kind == "agent"}
        return sorted(agents)

    def _kept(self, user: User, agent_id: str) -> Iterator[tuple[str, KeptItem]]:
        for number, user_id in enumerate((user.id, *user.former_ids)):
            pk = owned_partition(user.tenant, agent_id, f"user:{user_id}")
            for item in items_under(self.table, pk, ""):
                if not item["sk"].startswith(BOOKKEEPING):
                    yield (
                        f"{number:04d} {item['sk']}",
                        KeptItem(agent_id, _kind(item["sk"]), _shown_attributes(item)),
                    )


def _relations(user: User) -> list[str]:
    """Return the index partitions with the person's current and former chats, for each id."""
    refs = [MemberRef(kind="user", id=user_id) for user_id in (user.id, *user.former_ids)]
    return [
        relation
        for ref in refs
        for relation in (member_relation(user.tenant, ref), past_relation(user.tenant, ref.id))
    ]


def _is(user: User, member: MemberRef) -> bool:
    return member.kind == "user" and member.id in {user.id, *user.former_ids}


def _theirs(user: User, item: Item, chat: Chat) -> Thing:
    direct = chat.kind == "direct"
    if DeskStay.PREFIX.holds(item):
        agents = (member.id for member in chat.roster if member.kind == "agent")
        agent_id = DeskStay.from_item(item).agent_id or next(agents, "")
        return KeptItem(agent_id, "desk_stay", _shown_attributes(item)) if direct else None
    if MediaFile.PREFIX.holds(item):
        file = MediaFile.from_item(item)
        return file if _is(user, file.sender) or direct else None
    if Delivery.PREFIX.holds(item):
        delivery = Delivery.from_item(item)
        return delivery if delivery.user_id in {user.id, *user.former_ids} else None
    message = Message.from_item(item)
    return message if _is(user, message.sender) or direct else None


def _position(key: Key) -> str:
    """Return the cursor's `key` for an item made from chats; it sorts after all sort keys."""
    return f"~{key.pk} {key.sk}"


def _kind(sort_key: str) -> str:
    """Return an item's kind, as named in the export, from its sort key."""
    kind = key_kind(sort_key)
    names = {Memory.PREFIX.kind: "memory", OwnWordsMemory.PREFIX.kind: "memory"}
    others = {Thread.PREFIX.kind: "thread", REFLECTED.kind: "reflection"}
    return (names | others).get(kind, kind.lower())


def _shown_attributes(item: Item) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in HIDDEN_ATTRIBUTES}


def _size(thing: Thing) -> int:
    if thing is None:
        return 0
    if isinstance(thing, BaseModel):
        return len(thing.model_dump_json().encode())
    if isinstance(thing, OwnMembership):
        return len(thing.chat.model_dump_json().encode())
    return len(str(thing.attributes).encode())
