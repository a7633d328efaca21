"""Render a chat as a transcript for the question of consolidation, one line per message.

The words of each message stay inside quotation marks, so that no text can look like another
message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from skein.errors import Unprocessable
from skein.interface.names import Names, speakers
from skein.interface.timeline import attached
from skein.memory.chunking import Chunk, HistoryPosition
from skein.memory.profile_extraction import AskedProfile, asked_profile, person_of
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.storage import MAX_BATCH_GET_KEYS
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.items.agent_item import AgentItem
from skein.models.visibility.ownership import Actor, Owner, Reach, scopes_at
from skein.models.visibility.provenance import NO_AUTHORS, Authors, Insiders, MadeFrom
from skein.ports import Table
from skein.services.common.quoting import quoted
from skein.services.common.schedule import zone_of
from skein.services.directory.time_zones import zone_of_person
from skein.services.visibility.audience import audience_of, label_in, scope_of
from skein.services.visibility.insiders import insiders_at


class TimeZones:
    """The time zones of the senders of messages, taken from their user records.

    If a person's record has no time zone, the time zone of their phone number's country is used. If
    that is unknown, the agent's time zone is used, or else UTC.

    Args:
        table: The table.
        agent: The agent whose time zone is the default.
    """

    def __init__(self, table: Table, agent: Agent) -> None:
        self._table = table
        self._tenant = agent.tenant
        self._default = agent.time_zone
        self._known: dict[str, str] = {}
        self._people: dict[str, User] = {}

    def learn(self, messages: Sequence[Message]) -> None:
        """Read the user records of the messages' senders in batches, if they were not read yet."""
        people = {m.sender.id for m in messages if m.sender.kind == "user"} - self._known.keys()
        missing = sorted(people)
        for start in range(0, len(missing), MAX_BATCH_GET_KEYS):
            batch = missing[start : start + MAX_BATCH_GET_KEYS]
            keys = {user_id: User.key_of(self._tenant, user_id) for user_id in batch}
            found = self._table.get_many(list(keys.values()))
            for user_id, key in keys.items():
                user = User.read(found, key)
                self._known[user_id] = (user and zone_of_person(user)) or self._default
                if user is not None:
                    self._people[user_id] = user

    def person(self, user_id: str | None) -> User | None:
        """Return the user record of a sender; None if there is none or `learn` has not read it."""
        return self._people.get(user_id) if user_id is not None else None

    def of(self, message: Message) -> ZoneInfo:
        """Return the time zone of a message's sender; UTC if no valid zone is known."""
        name = self._known.get(message.sender.id) if message.sender.kind == "user" else None
        for candidate in (name, self._default):
            try:
                return zone_of(candidate or "UTC")
            except Unprocessable:
                continue
        return ZoneInfo("UTC")


def line(message: Message, names: Names, zone: ZoneInfo, *, start: int, end: int) -> str:
    """Format a message, or a part of it, as one line with its sender and time.

    If only a part is shown, the line says which characters of the message it shows.

    Args:
        names: The names of the members. The agent that reads the line is `You`.
        zone: The sender's time zone, which applies to days and times in the message.
        start: The first character to show, counted from 0.
        end: The end of the characters to show (exclusive).
    """
    who = names.speaker(message)
    if message.sender.ref != names.agent:
        who += " (agent)" if message.sender.kind == "agent" else " (human)"
    part = ""
    if start > 0 or end < len(message.text):
        part = f" (characters {start + 1} to {end} of {len(message.text)})"
    at = wall_clock(message.created_at, zone)
    words = f"{quoted(message.text[start:end])}{attached(message)}"
    return f"[msg:{message.seq}] [{at}] {who}{part}: {words}"


def wall_clock(moment: datetime, zone: ZoneInfo) -> str:
    """Format a moment as local date and time, such as `Wednesday 2026-02-18 15:50 in ...`."""
    return f"{moment.astimezone(zone):%A %Y-%m-%d %H:%M} in {zone.key}"


@dataclass(frozen=True, slots=True)
class ConsolidationTarget:
    """The agent and the chat of one consolidation.

    Attributes:
        chat: The chat.
        agent: The agent.
        membership: The agent's membership in the chat.
        zones: The time zones of the senders.
        shared: Whether the agent shares the question with other agents.
    """

    chat: Chat
    agent: Agent
    membership: Membership
    zones: TimeZones
    shared: bool = False

    def names(self, chunk: Chunk | None = None) -> Names:
        """Return the names of the members, and of a chunk's senders, as in prompts.

        In a shared question, no agent is called `You`.
        """
        me = None if self.shared else self.agent.as_member.ref
        return Names.of(me, self.chat, _messages_of(chunk) if chunk is not None else ())

    def line(self, names: Names, message: Message, start: int, end: int) -> str:
        """Format a message, or a part of it, as one line of the transcript."""
        return line(message, names, self.zones.of(message), start=start, end=end)

    def speakers(self, chunk: Chunk) -> str:
        """Format the senders of a chunk's messages, with their former names."""
        return speakers(self.names(chunk), self.chat, _messages_of(chunk))

    def transcript(self, chunk: Chunk) -> str:
        """Format the messages of a chunk, one per line."""
        names = self.names(chunk)
        return "\n".join(
            self.line(names, piece.message, piece.start, piece.end) for piece in chunk.pieces
        )

    def owner(self, chunk: Chunk) -> Owner:
        """Return the owner of the chunk's memories.

        The audience of these memories is the people who were present for the whole chunk. The
        authors of known memories in the question are added later.
        """
        audience = audience_of(self.chat, since_seq=chunk.from_seq)
        return Owner(
            tenant=self.chat.tenant,
            agent_id=self.agent.id,
            scope=scope_of(self.chat),
            audience=audience,
            authors=chunk.words.joined(self.chat.title_authors),
            made_from=MadeFrom.messages(
                self.chat.id,
                chunk.from_seq,
                chunk.to_seq,
                chunk.senders,
                label_in(self.chat, (piece.message.sender for piece in chunk.pieces), audience),
            ),
            source_chat_id=self.chat.id,
        )

    def profile(self, chunk: Chunk) -> AskedProfile | None:
        """Return the profile fields to ask for with the chunk; None if there are none."""
        if self.shared:
            return None
        owner, messages = self.owner(chunk), _messages_of(chunk)
        return asked_profile(self.agent, owner, self.zones.person(person_of(owner)), messages)


def _messages_of(chunk: Chunk) -> list[Message]:
    return [piece.message for piece in chunk.pieces]


class AgentChunk(NamedTuple):
    """A chunk of new messages for an agent.

    Attributes:
        target: The agent and the chat.
        since: The watermark before the chunk.
        chunk: The messages.
        owner: The owner of the chunk's memories, with their scope and audience.
        others: Other agents with the same watermark, which share the question.
    """

    target: ConsolidationTarget
    since: HistoryPosition
    chunk: Chunk
    owner: Owner
    others: tuple[ConsolidationTarget, ...] = ()

    @property
    def each(self) -> "tuple[AgentChunk, ...]":
        """One chunk for each agent that shares the question; the chunks have no `others`."""
        others = (
            AgentChunk(target, self.since, self.chunk, target.owner(self.chunk))
            for target in self.others
        )
        return self._replace(others=()), *others

    @property
    def insiders(self) -> Insiders:
        """The people of the chat; see `services/visibility/insiders.py`."""
        return insiders_at(self.target.chat)

    def may_hold(self, memory: AgentItem) -> bool:
        """Return whether the question may show a known memory or a plan.

        In an open chat, items with words of people outside the chat are not shown, because the
        consolidation would then have no right to replace memories; see `Readers.changes`.
        """
        return not self.owner.audience.open or self.insiders.wrote(memory.authors)

    def reach(self, authors: Authors = NO_AUTHORS) -> Reach:
        """Return the reach that finds the memories that the chunk's audience may see.

        Args:
            authors: The people whose words are in the question in addition to the chunk's authors,
                by digest.
        """
        owner, held = self.owner, self.owner.authors.joined(authors)
        outsiders = not self.insiders.wrote(held)
        return Reach(
            tenant=owner.tenant,
            agent_id=owner.agent_id,
            scopes=scopes_at(owner.scope),
            readers=owner.audience,
            actor=Actor(chat_id=owner.source_chat_id, authors=held, outsiders=outsiders),
        )


def joins_of(chat: Chat) -> list[int]:
    """Return the `seq` of the messages after which current people of a private chat joined.

    The list is empty for an open chat, because its messages may be shown to everyone in the tenant.
    """
    if chat.visibility == "open":
        return []
    people = {str(member.ref) for member in chat.roster if member.kind == "user"}
    return sorted({seq for member, seq in chat.joined_late.items() if member in people})
