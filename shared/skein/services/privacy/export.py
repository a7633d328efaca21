"""All that is on record of a person, as one document in pages.

A page is as much as one answer of the API holds. What is read for a page is bounded, too, so it may
be short, or even empty, where much has been said by others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, StringConstraints

from skein.errors import NotFound
from skein.models.base import MemberRef
from skein.models.chat import (
    Chat,
    Membership,
    Message,
    member_relation,
    past_relation,
    related_chat,
)
from skein.models.delivery import Delivery
from skein.models.memory import LIVE, OLD_REVISION, REVISION
from skein.models.ownership import EFFECT, owned_partition
from skein.models.reflection import REFLECTED
from skein.models.storage import Item, key_kind
from skein.models.user import User
from skein.ports import Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.common.pagination import (
    MAX_PAGE_BYTES,
    Cursor,
    KeyText,
    items_under,
    pages_of_relation,
)

MAX_READ = 5_000  # things that are looked at for one page
MINE = (Delivery.PREFIX, Message.PREFIX)  # of a chat, in the order of the table
BOOKKEEPING = (EFFECT, REVISION, OLD_REVISION)  # of what an agent keeps
RowText = Annotated[KeyText, StringConstraints(pattern="#")]  # before it the hour, then the chat
UNTOLD = frozenset({"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "due_tries", "version"})


class ExportCursor(Cursor):
    """Goes on behind one thing of an export.

    Attributes:
        relation: Which of the person's lists of chats.
        row: The chat's row in it.
        key: The last thing of that chat that was looked at.
        agent: Once the chats are through: whose possessions are looked at, up to `key`.
    """

    of: Literal["export"] = "export"
    relation: Annotated[int, Field(ge=0)] = 0
    row: RowText | None = None
    key: KeyText | None = None
    agent: KeyText | None = None


class OwnPlace(NamedTuple):
    """A chat and the person's place in it, open or closed."""

    chat: Chat
    place: Membership


class Kept(NamedTuple):
    """Something that an agent keeps for the person."""

    agent_id: str
    kind: str
    attributes: dict[str, Any]


class Export(NamedTuple):
    """One page; the document ends when `next_cursor` is None."""

    user: User
    chats: list[OwnPlace]
    messages: list[Message]
    deliveries: list[Delivery]
    kept: list[Kept]
    next_cursor: str | None


Thing = OwnPlace | Message | Delivery | Kept | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Gathers what is on record of people."""

    table: Table

    def page(self, tenant: str, user_id: str, *, cursor: str | None = None) -> Export:
        """A page of all that is on record of a person: theirs, and agents' answers to them.

        Args:
            tenant: Whose person.
            user_id: Who.
            cursor: Where an earlier page ended.

        Raises:
            NotFound: There is no such person.
            Invalid: The cursor is not one of an export.
        """
        at = ExportCursor.decode(cursor) if cursor is not None else ExportCursor()
        item = self.table.get(User.key_of(tenant, user_id))
        user = User.from_item(item) if item is not None else None
        if user is None or user.erasure_id is not None:
            raise NotFound("there is no such person")
        page = Export(user, [], [], [], [], None)
        size = 0
        before = at
        for read, (position, thing) in enumerate(self._things(user, at), 1):
            size += _size(thing)
            if read > MAX_READ or (size > MAX_PAGE_BYTES and before != at):
                return page._replace(next_cursor=before.encode())
            _put(page, thing)
            before = position
        return page

    def _things(self, user: User, at: ExportCursor) -> Iterator[tuple[ExportCursor, Thing]]:
        if at.agent is None:
            relations = _relations(user)
            for number in range(at.relation, len(relations)):
                here = at if number == at.relation else ExportCursor(relation=number)
                yield from self._of_relation(user, relations[number], here)
        for agent_id in self._agents(user):
            if at.agent is None or agent_id >= at.agent:
                behind = (at.key or "") if agent_id == at.agent else ""
                for key, kept in self._kept(user, agent_id):
                    if key > behind:
                        yield ExportCursor(agent=agent_id, key=key), kept

    def _of_relation(
        self, user: User, relation: str, at: ExportCursor
    ) -> Iterator[tuple[ExportCursor, Thing]]:
        if at.row is not None and at.key is not None:
            yield from self._rest_of_chat(user, at, at.row)
        for rows in pages_of_relation(self.table, relation, after=at.row):
            for row in rows:
                here = ExportCursor(relation=at.relation, row=row["gsi1sk"], key="-")
                own = self._own_place(user, related_chat(row))
                if own is not None:
                    yield here, own
                    yield from self._of_chat(user, here, own.chat)

    def _rest_of_chat(
        self, user: User, at: ExportCursor, row: str
    ) -> Iterator[tuple[ExportCursor, Thing]]:
        """The rest of the chat in which an earlier page ended, if they were ever in it."""
        own = self._own_place(user, related_chat({"gsi1sk": row}))
        if own is not None:
            yield from self._of_chat(user, at, own.chat)

    def _own_place(self, user: User, chat_id: str) -> OwnPlace | None:
        try:
            snapshot = read_snapshot(self.table, user.tenant, chat_id, closed=True)
        except NotFound:
            return None
        own = (
            OwnPlace(snapshot.chat, place) for place in snapshot.members if _is(user, place.member)
        )
        return next(own, None)

    def _of_chat(
        self, user: User, at: ExportCursor, chat: Chat
    ) -> Iterator[tuple[ExportCursor, Thing]]:
        """What is theirs of a chat behind `at.key`; of a direct chat, the agent's answers, too."""
        direct = chat.kind == "direct"
        pk, done = chat.key.pk, at.key or "-"
        for prefix in MINE:
            if done > prefix.last:
                continue
            after = done if done.startswith(prefix) else None
            for found in items_under(self.table, pk, prefix, after=after):
                position = at.model_copy(update={"key": found["sk"]})
                yield position, _theirs(user, found, direct=direct)

    def _agents(self, user: User) -> list[str]:
        """Those who may keep something for the person alone: of their direct chats."""
        agents: set[str] = set()
        for relation in _relations(user):
            for rows in pages_of_relation(self.table, relation):
                keys = [Chat.key_of(user.tenant, related_chat(row)) for row in rows]
                found = self.table.get_many(keys) if keys else {}
                for chat in map(Chat.from_item, found.values()):
                    agents |= {member.id for member in chat.roster if member.kind == "agent"}
        return sorted(agents)

    def _kept(self, user: User, agent_id: str) -> Iterator[tuple[str, Kept]]:
        for number, user_id in enumerate((user.id, *user.former_ids)):
            pk = owned_partition(user.tenant, agent_id, f"user:{user_id}")
            for item in items_under(self.table, pk, ""):
                if not item["sk"].startswith(BOOKKEEPING):
                    yield (
                        f"{number:04d} {item['sk']}",
                        Kept(agent_id, _kind(item["sk"]), _told(item)),
                    )


def _relations(user: User) -> list[str]:
    """Where a person's chats are listed: those that they are in, and those that they have left."""
    refs = [MemberRef(kind="user", id=user_id) for user_id in (user.id, *user.former_ids)]
    return [
        relation
        for ref in refs
        for relation in (member_relation(user.tenant, ref), past_relation(user.tenant, ref.id))
    ]


def _is(user: User, member: MemberRef) -> bool:
    return member.kind == "user" and member.id in {user.id, *user.former_ids}


def _theirs(user: User, item: Item, *, direct: bool) -> Thing:
    if Delivery.PREFIX.holds(item):
        delivery = Delivery.from_item(item)
        return delivery if delivery.user_id in {user.id, *user.former_ids} else None
    message = Message.from_item(item)
    return message if _is(user, message.sender) or direct else None


def _kind(sort_key: str) -> str:
    """What a possession is, by its sort key."""
    kind = key_kind(sort_key)
    return {LIVE.kind: "memory", REFLECTED.kind: "reflection"}.get(kind, kind.lower())


def _told(item: Item) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in UNTOLD}


def _size(thing: Thing) -> int:
    if thing is None:
        return 0
    if isinstance(thing, BaseModel):
        return len(thing.model_dump_json().encode())
    if isinstance(thing, OwnPlace):
        return len(thing.chat.model_dump_json().encode())
    return len(str(thing.attributes).encode())


def _put(page: Export, thing: Thing) -> None:
    if isinstance(thing, OwnPlace):
        page.chats.append(thing)
    elif isinstance(thing, Message):
        page.messages.append(thing)
    elif isinstance(thing, Delivery):
        page.deliveries.append(thing)
    elif isinstance(thing, Kept):
        page.kept.append(thing)
