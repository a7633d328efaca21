"""What each person may be shown over the live channel, and a check of each frame against it.

The check knows only what a client can know: a change takes effect at some time between its request
and its acknowledgement. So a frame counts as wrong only if it is wrong for every possible time of
the changes. Times are seconds of one monotonic clock.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

TRANSIT_SECONDS = 5.0  # that a frame may be on its way after a change was acknowledged
FOREVER = float("inf")
FROM_OUTSIDE = "the message is from before the person joined, or from after they left"


@dataclass
class Stay:
    """One membership of a person in a chat.

    Attributes:
        asked_at: When the request to join was sent.
        joined_at: When joining was acknowledged.
        leaving_at: When the request to leave was sent.
        left_at: When leaving was acknowledged.
    """

    asked_at: float
    joined_at: float = FOREVER
    leaving_at: float = FOREVER
    left_at: float = FOREVER

    def may_be_at(self, moment: float) -> bool:
        """Return whether a frame of the chat may reach the person at this moment."""
        return self.asked_at <= moment <= self.left_at + TRANSIT_SECONDS

    def may_cover(self, post: "Post") -> bool:
        """Return whether the person may have been a member when the message was posted."""
        return post.acked_at >= self.asked_at and post.tries[0] <= self.left_at

    def surely_covers(self, post: "Post") -> bool:
        """Return whether the person surely was a member, from the post until its frames arrived."""
        return self.joined_at < post.tries[0] and self.leaving_at > post.acked_at + TRANSIT_SECONDS


@dataclass
class Post:
    """A message that a person posts.

    Attributes:
        tries: When each request with the message was sent. A request without an answer is repeated.
        acked_at: When the post was acknowledged.
        place: The `seq` and the id of the stored message, once known.
        deleting_at: When the request to delete the message was sent.
        deleted_at: When the deletion was acknowledged.
        reached: When each person was first sent the message.
    """

    chat_id: str
    sender: str
    text: str
    tries: list[float]
    acked_at: float = FOREVER
    place: tuple[int, str] | None = None
    deleting_at: float = FOREVER
    deleted_at: float = FOREVER
    reached: dict[str, float] = field(default_factory=dict)

    def seconds_to(self, reader: str) -> float:
        """Return the seconds from the last request with the message to the reader's frame."""
        at = self.reached[reader]
        return at - max((tried for tried in self.tries if tried <= at), default=self.tries[0])


@dataclass
class Window:
    """The time during which a person was connected."""

    opened_at: float
    lost_at: float = FOREVER


class Truth:
    """All that is known about memberships and messages, and the frames that were checked.

    Attributes:
        wrong: The frames that their reader should not have got, in words.
        frames: The number of frames by type.
        repeated: The number of frames with a message that the reader had got before.
    """

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.frames: Counter[str] = Counter()
        self.repeated = 0
        self.stays: dict[tuple[str, str], list[Stay]] = defaultdict(list)
        self.posts: dict[str, Post] = {}
        self.windows: dict[str, list[Window]] = defaultdict(list)
        self._placed: dict[tuple[str, int], Post] = {}
        self._posted: Counter[str] = Counter()
        self._resyncs: dict[tuple[str, str], list[float]] = defaultdict(list)

    def join(self, person: str, chat_id: str, *, at: float) -> Stay:
        """Note that a person is about to join a chat."""
        stay = Stay(at)
        self.stays[person, chat_id].append(stay)
        return stay

    def post(self, chat_id: str, sender: str, text: str, *, at: float) -> Post:
        """Note that a person is about to post a message. No text may be posted twice."""
        post = self.posts[text] = Post(chat_id, sender, text, [at])
        self._posted[chat_id] += 1
        return post

    def take(self, person: str, frame: dict[str, Any], at: float) -> None:
        """Check and count a frame that a person got."""
        self.frames[str(frame.get("type"))] += 1
        reason = self._wrong(person, frame, at)
        if reason is not None:
            self.wrong.append(f"{person} at {at:.3f}: {reason}: {frame}")

    # ------------------------------------------------------------------ the check

    def _wrong(self, person: str, frame: dict[str, Any], at: float) -> str | None:
        """Return why a person should not have got a frame; None if the frame is right."""
        kind, chat_id = frame.get("type"), str(frame.get("chat_id"))
        if kind in {"pong", "closing"}:
            return None
        if not any(stay.may_be_at(at) for stay in self.stays.get((person, chat_id), ())):
            return "the person is not in this chat"
        checks = {
            "message": self._wrong_message,
            "changed": self._wrong_change,
            "chat": self._wrong_chat,
            "read": self._wrong_member,
            "typing": self._wrong_member,
            "resync": self._resync,
        }
        if kind not in checks:  # no agent is in these chats, so no run is either
            return "a frame of an unexpected type"
        return checks[kind](person, frame, at)

    def _wrong_message(self, person: str, frame: dict[str, Any], at: float) -> str | None:
        message, chat_id = frame["message"], frame["chat_id"]
        post = self.posts.get(message["text"])
        reason = None
        if post is None or post.chat_id != chat_id or message["sender"]["id"] != post.sender:
            reason = "nobody posted these words here"
        elif message["chat_id"] != chat_id or message["run_id"] is not None:
            reason = "the message names another chat or a run"
        elif not self._fits(post, (message["seq"], message["id"])):
            reason = "the message has another number or id than before"
        elif not self._may_have_seen(person, post):
            reason = FROM_OUTSIDE
        elif at > post.deleted_at + TRANSIT_SECONDS:
            reason = "the message was deleted"
        else:
            self.repeated += person in post.reached
            post.reached.setdefault(person, at)
        return reason

    def _wrong_change(self, person: str, frame: dict[str, Any], at: float) -> str | None:
        message = frame["message"]
        post = self._placed.get((frame["chat_id"], message["seq"]))
        if message["text"] or message["kind"] != "deleted":
            return "a deleted message has words"
        if post is not None and post.deleting_at > at:
            return "nobody has deleted the message"
        if post is not None and not self._may_have_seen(person, post):
            return FROM_OUTSIDE
        return None

    def _resync(self, person: str, frame: dict[str, Any], at: float) -> None:
        """Note a `resync`. It is right in every chat of the person."""
        self._resyncs[person, frame["chat_id"]].append(at)

    def _may_have_seen(self, person: str, post: Post) -> bool:
        """Return whether a person may have been a member when a message was posted."""
        return any(stay.may_cover(post) for stay in self.stays[person, post.chat_id])

    def _fits(self, post: Post, place: tuple[int, str]) -> bool:
        """Note the place of a post: its `seq` and id.

        Returns whether the post has never had another place, and the place no other post.
        """
        known = self._placed.setdefault((post.chat_id, place[0]), post)
        post.place = post.place or place
        return known is post and post.place == place

    def acknowledged(self, post: Post, seq: int, message_id: str, *, at: float) -> None:
        """Note that a post was acknowledged with a number and an id."""
        post.acked_at = at
        if not self._fits(post, (seq, message_id)):
            self.wrong.append(f"{post.sender} was told another place of {post.text!r}: {seq}")

    def _wrong_chat(self, _: str, frame: dict[str, Any], at: float) -> str | None:
        chat, chat_id = frame["chat"], frame["chat_id"]
        if chat["id"] != chat_id:
            return "the frame shows another chat"
        members = [member["id"] for member in chat["members"]]
        if all(self._may_be_member(member, chat_id, at) for member in members):
            return None
        return "the chat has a member who was never in it"

    def _wrong_member(self, _: str, frame: dict[str, Any], at: float) -> str | None:
        chat_id = frame["chat_id"]
        if not self._may_be_member(frame["member"]["id"], chat_id, at):
            return "the member was never in this chat"
        if frame.get("seq", 0) > self._posted[chat_id]:
            return "the chat has no such message"
        return None

    def _may_be_member(self, member: str, chat_id: str, at: float) -> bool:
        return any(stay.asked_at <= at for stay in self.stays.get((member, chat_id), ()))

    # ------------------------------------------------------------------ what is counted

    def latencies(self) -> list[float]:
        """Return the seconds from post to frame, of each message and reader."""
        return [post.seconds_to(reader) for post in self.posts.values() for reader in post.reached]

    def lost(self) -> tuple[int, int]:
        """Return how many messages did not reach their readers, and how many certainly had to.

        A message counts once for each reader who was a member and connected all the time. A reader
        who got a `resync` of the chat afterwards has lost nothing.
        """
        expected = [(post, reader) for post in self.posts.values() for reader in self._sure(post)]
        missed = [
            (post, reader)
            for post, reader in expected
            if reader not in post.reached
            and not any(at >= post.tries[0] for at in self._resyncs.get((reader, post.chat_id), ()))
        ]
        return len(missed), len(expected)

    def _sure(self, post: Post) -> Iterator[str]:
        if post.acked_at == FOREVER or post.deleting_at != FOREVER:
            return
        until = post.acked_at + TRANSIT_SECONDS
        for (person, chat_id), stays in self.stays.items():
            if chat_id == post.chat_id and any(stay.surely_covers(post) for stay in stays):
                windows = self.windows[person]
                if any(w.opened_at < post.tries[0] and w.lost_at > until for w in windows):
                    yield person
