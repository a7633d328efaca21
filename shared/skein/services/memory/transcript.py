"""A conversation as an agent is asked what to remember of it: one line a message, with its time.

Whatever a person typed stays inside its own quotes (DESIGN section 5, invariant 11).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from skein.errors import Unprocessable
from skein.models.agent import Agent
from skein.models.base import MemberRef
from skein.models.chat import Chat, Membership, Message
from skein.models.ownership import Owner, Reach, scopes_at
from skein.models.storage import MAX_BATCH_GET_KEYS
from skein.models.user import User
from skein.ports import Table
from skein.services.chat_state.audience import audience_of, scope_of
from skein.services.common.quoting import label, quoted, time_of
from skein.services.common.schedule import zone_of
from skein.services.memory.chunking import Chunk


class Zones:
    """In which time zone people speak: their own where it is known, else the agent's.

    Args:
        table: Where people's records are.
        agent: Who listens.
    """

    def __init__(self, table: Table, agent: Agent) -> None:
        self._table = table
        self._tenant = agent.tenant
        self._default = agent.time_zone
        self._known: dict[str, str] = {}

    def learn(self, messages: Sequence[Message]) -> None:
        """Look up whoever speaks in `messages` and was not heard before: one batch of reads."""
        people = {m.sender.id for m in messages if m.sender.kind == "user"} - self._known.keys()
        missing = sorted(people)
        for start in range(0, len(missing), MAX_BATCH_GET_KEYS):
            batch = missing[start : start + MAX_BATCH_GET_KEYS]
            keys = {user_id: User.key_of(self._tenant, user_id) for user_id in batch}
            found = self._table.get_many(list(keys.values()))
            for user_id, key in keys.items():
                user = User.from_item(found[key]) if key in found else None
                self._known[user_id] = (user and user.time_zone) or self._default

    def of(self, message: Message) -> ZoneInfo:
        """The zone in which a message is to be understood."""
        name = self._known.get(message.sender.id) if message.sender.kind == "user" else None
        for candidate in (name, self._default):
            try:
                return zone_of(candidate or "UTC")
            except Unprocessable:
                continue
        return ZoneInfo("UTC")


def line(
    message: Message, zone: ZoneInfo, *, start: int, end: int, me: MemberRef | None = None
) -> str:
    """What was said, by whom and when, on one line.

    Args:
        message: What was said.
        zone: In which the speaker's words about days and times are meant.
        start: The first character that is shown.
        end: The last one is before this; a message that is not shown whole says so.
        me: Who reads; its own words are marked as its own.
    """
    sender = message.sender
    kind = "human" if sender.kind == "user" else "agent"
    who = "You" if sender.ref == me else f"{label(sender.name)} ({kind})"
    part = ""
    if start > 0 or end < len(message.text):
        part = f" (characters {start + 1} to {end} of {len(message.text)})"
    media = "".join(f" [attached: {quoted(media.content_type)}]" for media in message.media)
    at = f"{time_of(message.created_at)}, {wall_clock(message.created_at, zone)}"
    return f"[msg:{message.seq}] [{at}] {who}{part}: {quoted(message.text[start:end])}{media}"


def wall_clock(moment: datetime, zone: ZoneInfo) -> str:
    """The moment as a clock and a calendar show it there: `Wednesday 2026-02-18 15:50 in ...`."""
    return f"{moment.astimezone(zone):%A %Y-%m-%d %H:%M} in {zone.key}"


@dataclass(frozen=True, slots=True)
class Work:
    """Who remembers what of which chat."""

    chat: Chat
    agent: Agent
    place: Membership
    zones: Zones

    def line(self, message: Message, start: int, end: int) -> str:
        """A message, or a part of it, in the transcript."""
        me = self.agent.as_member.ref
        return line(message, self.zones.of(message), start=start, end=end, me=me)

    def transcript(self, chunk: Chunk) -> str:
        """What is asked about."""
        return "\n".join(self.line(piece.message, piece.start, piece.end) for piece in chunk.pieces)

    def owner(self, chunk: Chunk) -> Owner:
        """On whose behalf the agent remembers: of those who were there for all of the chunk."""
        return Owner(
            tenant=self.chat.tenant,
            agent_id=self.agent.id,
            scope=scope_of(self.chat),
            audience=audience_of(self.chat, since_seq=chunk.from_seq),
            source_chat_id=self.chat.id,
        )


def joins_of(chat: Chat) -> list[int]:
    """After which messages people came into a private chat who are there now, ascending."""
    if chat.visibility == "open":
        return []
    people = {str(member.ref) for member in chat.roster if member.kind == "user"}
    return sorted({seq for member, seq in chat.joined_late.items() if member in people})


def reach_of(owner: Owner) -> Reach:
    """What the agent remembers that may be shown to those who were there."""
    scopes = scopes_at(owner.scope)
    return Reach(tenant=owner.tenant, agent_id=owner.agent_id, scopes=scopes, place=owner.audience)
