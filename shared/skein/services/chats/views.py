"""What a person sees: their chats, newest first, a chat's messages, and how many are unread.

The number of reads does not depend on how long a chat is: a list is one query and one batch, a
chat one batch, a page of messages one batch and one query.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from skein.errors import NotFound
from skein.models.base import Instant, MemberRef
from skein.models.chat import (
    Chat,
    Membership,
    Message,
    chat_partition,
    member_relation,
    related_chat,
)
from skein.models.storage import Absent, Below, Is, Item, Key, Update, all_of, any_of
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    Cursor,
    KeyText,
    Listing,
    fitting,
    rows_after,
)

WINDOW = 50  # index rows per page, two reads each: one batch


class OwnChat(NamedTuple):
    """A chat and the place in it of the person who looks."""

    chat: Chat
    place: Membership

    @property
    def unread(self) -> int:
        """How many messages came after the last one they have seen."""
        return self.chat.last_seq - self.place.seen_seq

    @property
    def rank(self) -> tuple[datetime, str]:
        """Higher is newer: by the last message, or by birth while there is none."""
        return (self.chat.last_message_at or self.chat.created_at, self.chat.id)


class ChatsCursor(Cursor):
    """Goes on within a window of index rows, or with the window behind it.

    Attributes:
        after: The rows of the window come behind this sort key.
        end: The last row of the window, when it is not shown completely yet.
        at: With `chat_id`, the last chat of the window that was shown.
    """

    of: Literal["chats"] = "chats"
    after: KeyText
    end: KeyText | None = None
    at: Instant | None = None
    chat_id: KeyText | None = None

    def shows(self, own: OwnChat) -> bool:
        """Whether a chat of the window comes after what was shown."""
        return self.at is None or own.rank < (self.at, self.chat_id or "")


class MessagesCursor(Cursor):
    """Goes on upwards from `after`, or downwards from `before`."""

    of: Literal["messages"] = "messages"
    after: int = 0
    before: int | None = None
    upwards: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatViews:
    """Reads chats for the people in them."""

    table: Table
    clock: Clock

    def chats(
        self, tenant: str, user_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[OwnChat]:
        """A person's chats, those with the newest messages first; discarded ones are left out.

        The order is exact within 50 rows of the index, whose activity hours lag behind.

        Args:
            tenant: Whose chats.
            user_id: The person.
            limit: How many to show at most.
            cursor: Where an earlier page ended.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        at = ChatsCursor.decode(cursor) if cursor is not None else None
        after, end = (at.after, at.end) if at else (None, None)
        relation = member_relation(tenant, MemberRef(kind="user", id=user_id))
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

    def _active(self, tenant: str, rows: list[Item]) -> list[OwnChat]:
        """The chats that the rows point at, as far as the person is in them and they are open."""
        places = {Chat.key_of(tenant, related_chat(row)): Key(row["pk"], row["sk"]) for row in rows}
        found = self.table.get_many([*places, *places.values()]) if places else {}
        own = [
            OwnChat(Chat.from_item(found[chat_key]), Membership.from_item(found[place_key]))
            for chat_key, place_key in places.items()
            if chat_key in found and place_key in found
        ]
        return [seen for seen in own if seen.place.active and seen.chat.discarded_at is None]

    def chat(self, tenant: str, user_id: str, chat_id: str) -> OwnChat:
        """One chat, a discarded one, too.

        Raises:
            NotFound: No such chat, or the person is not in it.
        """
        person = MemberRef(kind="user", id=user_id)
        chat_key = Chat.key_of(tenant, chat_id)
        place_key = Membership.key_of(tenant, chat_id, person)
        found = self.table.get_many([chat_key, place_key])
        if chat_key not in found or place_key not in found:
            raise NotFound("there is no such chat")
        own = OwnChat(Chat.from_item(found[chat_key]), Membership.from_item(found[place_key]))
        if not own.place.active:
            raise NotFound("there is no such chat")
        return own

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
        """A page of messages, the oldest first.

        With `after`, the page begins right behind that message, and the cursor leads on to newer
        ones. Otherwise the page ends with the newest message, or right before `before`, and the
        cursor leads back to older ones.

        Args:
            tenant: Whose chat.
            user_id: The person who reads.
            chat_id: The chat.
            after: Only messages with a higher `seq`.
            before: Only messages with a lower `seq`.
            limit: How many to show at most.
            cursor: Where an earlier page ended; `after` and `before` then count no more.

        Raises:
            NotFound: No such chat, or the person is not in it.
            Invalid: The cursor is not one of this list.
        """
        if cursor is not None:
            at = MessagesCursor.decode(cursor)
        else:
            at = MessagesCursor(after=after or 0, before=before, upwards=after is not None)
        chat = self.chat(tenant, user_id, chat_id).chat
        lowest = max(at.after, 0) + 1
        highest = chat.last_seq if at.before is None else min(at.before - 1, chat.last_seq)
        if lowest > highest:
            return Listing((), None)
        page = self.table.query(
            chat_partition(tenant, chat_id),
            first=Message.key_of(tenant, chat_id, lowest).sk,
            last=Message.key_of(tenant, chat_id, highest).sk,
            limit=limit,
            newest_first=not at.upwards,
        )
        read = fitting(chat.as_now(Message.from_item(item)) for item in page.items)
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
        """Take note that the person has read up to `seq`; never back, never past the last one.

        Raises:
            NotFound: No such chat, or the person is not in it.
        """

        def attempt() -> OwnChat:
            own = self.chat(tenant, user_id, chat_id)
            seen = min(seq, own.chat.last_seq)
            if seen <= own.place.seen_seq:
                return own
            higher = any_of(Absent("seen_seq"), Below("seen_seq", seen))
            # An erasure takes the place away; nothing may come to stand there again.
            there = Is("chat_id", chat_id)
            condition = all_of(there, Absent("left_seq"), higher)
            self.table.write(Update(own.place.key, {"seen_seq": seen}, condition=condition))
            return OwnChat(own.chat, own.place.model_copy(update={"seen_seq": seen}))

        return optimistic(self.clock, attempt)


def _just_above(row: Item) -> str:
    """A sort key behind which a window begins with `row`, whatever rows come above it later."""
    return f"{row['gsi1sk']}~"
