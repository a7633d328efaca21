"""Read the chats of people and agents, newest first, with messages and unread counts.

The number of reads does not depend on the length of a chat: a list takes one query and one batch, a
chat takes one batch, and a page of messages takes one batch and one query.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from skein.errors import NotFound
from skein.models.chats.chat import (
    CHAT_SHARDS,
    Chat,
    ListedMember,
    Message,
    chat_partition,
    chats_relation,
)
from skein.models.chats.membership import Membership, member_relation, related_chat
from skein.models.common.base import Instant, MemberRef
from skein.models.common.storage import Absent, Below, Is, Item, Key, Query, Update, all_of, any_of
from skein.models.config.overrides import TenantSettings
from skein.ports import Clock, ParallelMap, Table
from skein.services.chat_state.snapshot import read_chat, read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    Cursor,
    KeyText,
    Listing,
    RowCursor,
    fitting,
    rows_after,
)
from skein.services.config.tenant_settings import check_reading

WINDOW = 50  # index rows per page; two items per row fit into one batch


class OwnChat(NamedTuple):
    """A chat, and the membership of the person or agent whose chats are listed."""

    chat: Chat
    membership: Membership

    @property
    def unread(self) -> int:
        """The number of messages after the member's `seen_seq`."""
        return self.chat.last_seq - self.membership.seen_seq

    @property
    def rank(self) -> tuple[datetime, str]:
        """The sort key of the chat in a list; newer chats have higher keys.

        Chats are sorted by the time of their last message. Empty chats are sorted by the time of
        their creation.
        """
        return (self.chat.last_message_at or self.chat.created_at, self.chat.id)


class ChatsCursor(Cursor):
    """A position in a list of chats, which is read in windows of 50 index rows.

    Attributes:
        after: The sort key after which the window's rows begin.
        end: The sort key of the window's last row; None if all chats of the window were shown.
        at: The time part of the last shown chat's `rank`.
        chat_id: The id of the last shown chat.
    """

    of: Literal["chats"] = "chats"
    after: KeyText
    end: KeyText | None = None
    at: Instant | None = None
    chat_id: KeyText | None = None

    def shows(self, own: OwnChat) -> bool:
        """Return whether a chat of the window comes after the last shown chat."""
        return self.at is None or own.rank < (self.at, self.chat_id or "")


class MessagesCursor(Cursor):
    """A cursor in a chat's messages.

    Attributes:
        after: The next page has messages with a higher seq.
        before: The next page has messages with a lower seq; None for no bound.
        upwards: Whether the next page has newer messages; otherwise it has older messages.
    """

    of: Literal["messages"] = "messages"
    after: int = 0
    before: int | None = None
    upwards: bool

    @classmethod
    def at(cls, cursor: str | None, after: int | None, before: int | None) -> "MessagesCursor":
        """Decode a cursor or, if `cursor` is None, build one from the bounds in a request.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        if cursor is not None:
            return cls.decode(cursor)
        return cls(after=after or 0, before=before, upwards=after is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatViews:
    """The service that reads chats for their members and for operators."""

    table: Table
    clock: Clock
    parallel_map: ParallelMap

    def chats(
        self, tenant: str, user_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[OwnChat]:
        """List a person's chats, newest message first, without discarded chats.

        The index orders chats only by the hour of their activity, and is updated late. So only the
        chats within a window of 50 index rows are in exact order.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return self._chats_of(tenant, MemberRef(kind="user", id=user_id), limit, cursor)

    def _chats_of(
        self, tenant: str, member: MemberRef, limit: int, cursor: str | None
    ) -> Listing[OwnChat]:
        at = ChatsCursor.decode(cursor) if cursor is not None else None
        after, end = (at.after, at.end) if at else (None, None)
        relation = member_relation(tenant, member)
        rows = rows_after(self.table, relation, after, limit=WINDOW + 1, newest_first=True)
        window = [row for row in rows if end is None or row["gsi1sk"] >= end][:WINDOW]
        own = sorted(self._active(tenant, window), key=lambda seen: seen.rank, reverse=True)
        left = [seen for seen in own if at is None or at.shows(seen)]
        count = len(fitting(seen.chat for seen in left[:limit]))
        page = tuple(left[:count])
        following: ChatsCursor | None = None
        last_row = window[-1]["gsi1sk"] if window else end
        if len(left) > count:
            moment, chat_id = page[-1].rank
            top = after or _just_above(window[0])
            following = ChatsCursor(after=top, end=last_row, at=moment, chat_id=chat_id)
        elif len(rows) > len(window) and last_row is not None:
            following = ChatsCursor(after=last_row)
        return Listing(page, following.encode() if following else None)

    def direct_chats(
        self, tenant: str, user_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[OwnChat]:
        """List a person's direct chats, the chat with the newest message first.

        A page may be short or empty.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        page = self.chats(tenant, user_id, limit=limit, cursor=cursor)
        direct = tuple(own for own in page.items if own.chat.kind == "direct")
        return Listing(direct, page.next_cursor)

    def agent_chats(
        self,
        tenant: str,
        agent_id: str,
        *,
        user_id: str | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Chat]:
        """List an agent's chats, the chat with the newest message first.

        The index lists only an agent's open chats. Its private chats are found through a person.

        Args:
            user_id: List only the chats with this person, both open and private. If None, list all
                open chats.
            limit: The maximum number of chats. With `user_id`, a page may be shorter or empty.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        agent = MemberRef(kind="agent", id=agent_id)
        member = agent if user_id is None else MemberRef(kind="user", id=user_id)
        page = self._chats_of(tenant, member, limit, cursor)
        shared = (own.chat for own in page.items if own.chat.has(agent))
        return Listing(tuple(shared), page.next_cursor)

    def tenant_chats(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Chat]:
        """List a tenant's chats by the hour of the newest message, newest first.

        Discarded chats are listed, too. Upkeep updates the index, so the list can be out of date.
        Chats that were created before the index existed are listed after their next upkeep.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        after = RowCursor.key_in(cursor, "tenant_chats")
        shards = [chats_relation(tenant, shard) for shard in range(CHAT_SHARDS)]
        read = self.parallel_map(
            lambda shard: rows_after(self.table, shard, after, limit=limit + 1, newest_first=True),
            shards,
        )
        rows = sorted(
            (row for of_shard in read for row in of_shard),
            key=lambda row: str(row["gsi1sk"]),
            reverse=True,
        )
        keys = {Key(row["pk"], row["sk"]): str(row["gsi1sk"]) for row in rows[:limit]}
        found = self.table.get_many(list(keys)) if keys else {}
        there = [key for key in keys if key in found]
        now = self.clock.now()
        page = fitting(Chat.must_read(found, key).at(now) for key in there)
        if len(page) < len(there):
            last: str | None = keys[there[len(page) - 1]]
        else:
            last = list(keys.values())[-1] if len(rows) > limit else None
        following = RowCursor(of="tenant_chats", after=last).encode() if last else None
        return Listing(tuple(page), following)

    def _active(self, tenant: str, rows: list[Item]) -> list[OwnChat]:
        memberships = {
            Chat.key_of(tenant, related_chat(row)): Key(row["pk"], row["sk"]) for row in rows
        }
        found = self.table.get_many([*memberships, *memberships.values()]) if memberships else {}
        own = [
            self._own(found[chat_key], found[membership_key])
            for chat_key, membership_key in memberships.items()
            if chat_key in found and membership_key in found
        ]
        return [seen for seen in own if seen.membership.active and seen.chat.discarded_at is None]

    def _own(self, chat: Item, membership: Item) -> OwnChat:
        now = self.clock.now()
        return OwnChat(Chat.from_item(chat).at(now), Membership.from_item(membership))

    def chat(self, tenant: str, user_id: str, chat_id: str) -> OwnChat:
        """Get one chat of a person, even if the chat is discarded.

        Raises:
            NotFound: The chat does not exist, or the person is not a member.
        """
        person = MemberRef(kind="user", id=user_id)
        chat_key = Chat.key_of(tenant, chat_id)
        membership_key = Membership.key_of(tenant, chat_id, person)
        found = self.table.get_many([chat_key, membership_key])
        if chat_key not in found or membership_key not in found:
            raise NotFound("chat not found")
        own = self._own(found[chat_key], found[membership_key])
        if not own.membership.active:
            raise NotFound("chat not found")
        return own

    def members(
        self,
        tenant: str,
        user_id: str,
        chat_id: str,
        *,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[ListedMember]:
        """List a page of a chat's members and invited people, agents before people.

        Args:
            user_id: The person who reads.

        Raises:
            NotFound: The chat does not exist, or the person is not a member.
            Invalid: The cursor does not belong to this list.
        """
        after = RowCursor.key_in(cursor, "members")
        reader = MemberRef(kind="user", id=user_id)
        snapshot = read_snapshot(self.table, tenant, chat_id).for_member(reader)
        names = {member.ref: member for member in snapshot.chat.roster}
        chat = snapshot.chat.at(self.clock.now())
        members = [
            ListedMember(names[ref], "member", chat.role_of(ref), membership.seen_seq)
            for membership in snapshot.members
            if membership.active and (ref := membership.member.ref) in names
        ]
        members += [ListedMember(each.member, "invited", "member", 0) for each in chat.invited]
        members.sort(key=lambda each: str(each.member))
        left = [each for each in members if after is None or str(each.member) > after]
        page = tuple(left[:limit])
        last = str(page[-1].member) if len(left) > limit else None
        following = RowCursor(of="members", after=last).encode() if last else None
        return Listing(page, following)

    def messages(
        self,
        tenant: str,
        user_id: str,
        chat_id: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Message]:
        """List a page of a chat's messages, oldest first.

        With `after`, the page begins right after that message, and the cursor leads to newer
        messages. Otherwise the page ends with the newest message, or right before `before`, and the
        cursor leads to older messages.

        Args:
            user_id: The person who reads.
            after: Only messages with a higher `seq`.
            before: Only messages with a lower `seq`.
            cursor: The cursor of the previous page, which replaces `after` and `before`.

        Raises:
            NotFound: The chat does not exist, or the person is not a member.
            Invalid: The cursor does not belong to this list.
        """
        at = MessagesCursor.at(cursor, after, before)
        return self._page(self.chat(tenant, user_id, chat_id).chat, at, limit)

    def people_of_private(self, tenant: str, chat_id: str) -> tuple[str, ...] | None:
        """Return the ids of the people in a private chat; None if the chat is open.

        Raises:
            NotFound: The chat does not exist.
        """
        chat = read_chat(self.table, tenant, chat_id)
        return tuple(chat.person_ids) if chat.visibility == "private" else None

    def transcript(
        self,
        tenant: str,
        chat_id: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> tuple[Chat, Listing[Message]]:
        """Return a chat and a page of its messages for an operator; see `messages`.

        Raises:
            NotFound: The chat does not exist.
            Forbidden: The tenant forbids operators to read chats.
            Invalid: The cursor does not belong to this list.
        """
        at = MessagesCursor.at(cursor, after, before)
        settings_key, chat_key = TenantSettings.key_of(tenant), Chat.key_of(tenant, chat_id)
        found = self.table.get_many([settings_key, chat_key])
        check_reading(TenantSettings.from_optional(found.get(settings_key)))
        if chat_key not in found:
            raise NotFound("chat not found")
        chat = Chat.must_read(found, chat_key).at(self.clock.now())
        return chat, self._page(chat, at, limit)

    def _page(self, chat: Chat, at: MessagesCursor, limit: int) -> Listing[Message]:
        tenant, chat_id = chat.tenant, chat.id
        lowest = max(at.after, 0) + 1
        highest = chat.last_seq if at.before is None else min(at.before - 1, chat.last_seq)
        if lowest > highest:
            return Listing((), None)
        page = self.table.query(
            Query(
                chat_partition(tenant, chat_id),
                first=Message.key_of(tenant, chat_id, lowest).sk,
                last=Message.key_of(tenant, chat_id, highest).sk,
                limit=limit,
                newest_first=not at.upwards,
            )
        )
        read = fitting(chat.as_now(message) for message in Message.each_of(page.items))
        if not read:
            return Listing((), None)
        reached = read[-1].seq
        if at.upwards:
            more = reached < highest
            following = at.model_copy(update={"after": reached})
        else:
            more = reached > lowest
            following = at.model_copy(update={"before": reached})
        items = tuple(read if at.upwards else reversed(read))
        return Listing(items, following.encode() if more else None)

    def read(self, tenant: str, user_id: str, chat_id: str, seq: int) -> OwnChat:
        """Mark a chat's messages up to `seq` as read by a person.

        This raises the membership's `seen_seq`, at most to the last message, and never lowers it.

        Raises:
            NotFound: The chat does not exist, or the person is not a member.
        """

        def attempt() -> OwnChat:
            own = self.chat(tenant, user_id, chat_id)
            seen = min(seq, own.chat.last_seq)
            if seen <= own.membership.seen_seq:
                return own
            higher = any_of(Absent("seen_seq"), Below("seen_seq", seen))
            # An erasure may delete the membership; this write must not create it again.
            there = Is("chat_id", chat_id)
            condition = all_of(there, Absent("left_seq"), higher)
            self.table.write(Update(own.membership.key, {"seen_seq": seen}, condition=condition))
            return OwnChat(own.chat, own.membership.model_copy(update={"seen_seq": seen}))

        return optimistic(self.clock, attempt)


def _just_above(row: Item) -> str:
    """Return a sort key right above `row`, so that the window of the next page starts at `row`.

    Rows that are added above `row` in the meantime do not shift the window.
    """
    return f"{row['gsi1sk']}~"
