"""A chat, who is in it, and what was said in it."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from skein.errors import Unprocessable
from skein.models.audience import OPEN, Audience, Origin, may_show
from skein.models.base import (
    E164,
    Identifier,
    Instant,
    MemberRef,
    NamedMember,
    Stored,
    Tenant,
    Value,
    key_part,
    rfc3339,
)
from skein.models.due import NOT_DUE, due_mark
from skein.models.overrides import ChatOverrides, Retention
from skein.models.session import Session
from skein.models.storage import META, Item, Key, SortKeyPrefix
from skein.models.summary import PinnedSummary, Summary, SummaryState
from skein.models.trigger import Burst, QueuedRun, Wait

ChatKind = Literal["group", "direct"]
Visibility = Literal["open", "private"]
Respond = Literal["every", "mention", "manual"]
MessageKind = Literal["text", "keyword", "notice", "erased"]

MAX_AGENTS = 20
MAX_MEMBERS = 100
MAX_TEXT = 20_000
PREVIEW_CHARACTERS = 200
UNTOLD = "a conversation"


def chat_partition(tenant: str, chat_id: str) -> str:
    """The partition of a chat and of all that happens in it."""
    return f"{key_part(tenant)}#CHAT#{key_part(chat_id)}"


class SmsAddress(Value):
    """The two numbers of a conversation by text message."""

    line: E164
    phone: E164


class Media(Value):
    """A picture, sound or film that came with a message; only its reference is kept."""

    url: Annotated[str, Field(max_length=2048)]
    content_type: Annotated[str, Field(max_length=200)]


class LastMessage(Value):
    """What a list of chats shows of the newest message."""

    seq: int
    text: str
    sender: NamedMember
    created_at: Instant


class Chat(Stored):
    """The chat itself: one item, raised in `version` by every write, on which ingest conditions.

    Attributes:
        line: The number on which it began, for a chat by text message.
        roster: Who is in the chat now.
        joined_late: The `last_seq` at which a member (`kind#id`) joined, unless at the beginning.
        formerly: Ids under which people have written here before, and theirs now.
        record: The shared summary, in the third person.
        record_state: When it was last renewed, and whether that went well.
        pinned: The record as prompts show it, until their window moves on.
        activity_hour: The hour of the newest message, by which lists of chats are ordered roughly.
        listed_hour: The hour by which its members' lists know it; upkeep brings it up.
        upkeep_at: When something derived from the chat is to be renewed; the due mark's time.
        consolidation_at: When what was said may be remembered; then `Consolidation` is due, too.
        epoch: Raised by an erasure; part of every cache key.
        documents: The ids of the documents that the chat owns.
        session: Of a direct chat: the stretch since the last gap or reset.
        overrides: Of a direct chat: what agent, line and tenant said when a person last wrote here.
        retention: How long what is said here is kept; None for good.
    """

    tenant: Tenant
    id: Identifier
    title: str | None = None
    line: E164 | None = None
    kind: ChatKind
    visibility: Visibility
    respond: Respond = "every"
    consolidate: bool = False
    record: Summary | None = None
    record_state: SummaryState | None = None
    pinned: PinnedSummary | None = None
    last_seq: int = 0
    last_message: LastMessage | None = None
    roster: tuple[NamedMember, ...] = ()
    joined_late: dict[str, int] = Field(default_factory=dict)
    formerly: dict[str, Identifier] = Field(default_factory=dict, exclude_if=lambda ids: not ids)
    version: int = 1
    epoch: int = 0
    documents: tuple[Identifier, ...] = ()
    session: Session | None = None
    overrides: ChatOverrides | None = None
    retention: Retention | None = None
    activity_hour: Instant
    listed_hour: Instant | None = None
    upkeep_at: Instant | None = None
    consolidation_at: Instant | None = None
    created_at: Instant
    discarded_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str) -> Key:
        """The key of a chat."""
        return Key(chat_partition(tenant, chat_id), META)

    @property
    def key(self) -> Key:
        """This chat's key."""
        return self.key_of(self.tenant, self.id)

    @property
    def last_message_at(self) -> datetime | None:
        """When the newest message was written; None in an empty chat."""
        return self.last_message.created_at if self.last_message else None

    @property
    def display_title(self) -> str:
        """The chat's title, or what stands for one."""
        return self.title or "New Conversation"

    def titled_for(self, place: Audience, *, known: str | None = None) -> "Chat":
        """Return the chat with a title that may be shown at a place.

        A chat's title may be shown to those who read the chat now. Someone who has left it may have
        missed a new title, even where they may be shown what was said before.

        Args:
            place: Who will be shown the title.
            known: A title that all of them know.
        """
        if may_show(self.readers, place):
            return self
        return self.model_copy(update={"title": known or UNTOLD})

    @property
    def readers(self) -> Audience:
        """Who will read what is said in it."""
        if self.visibility == "open":
            return OPEN
        people = sorted(member.id for member in self.roster if member.kind == "user")
        return Audience(open=False, people=tuple(people))

    def as_now(self, message: "Message") -> "Message":
        """A message as its sender is known now; what is stored keeps the id of then."""
        sender = message.sender
        now = self.formerly.get(sender.id) if sender.kind == "user" else None
        if now is None:
            return message
        unknown = sender.model_copy(update={"id": now})
        known = (member for member in self.roster if member.ref == unknown.ref)
        return message.model_copy(update={"sender": next(known, unknown)})

    def to_item(self) -> Item:
        """The chat as table attributes."""
        return self.attributes()

    def upkeep(self, at: datetime | None) -> dict[str, Any]:
        """The attributes that bring the upkeep worker at `at`, or not at all."""
        if at is None:
            return {"upkeep_at": None} | NOT_DUE
        return {"upkeep_at": rfc3339(at), "due_tries": None} | due_mark("chat", self.key, at)


class Membership(Stored):
    """One member in one chat, with what is theirs alone. Closed by `left_seq`, never deleted.

    An open membership lies where each post reads it; a closed one does not. Closed ones of older
    versions lie among the open ones until `services/chat_state/closed_memberships.py` moves them.

    Attributes:
        joined_seq: The chat's `last_seq` when the member joined.
        seen_seq: The highest message that was shown to the member.
        formerly: Ids of this very person under which they were in the chat before.
        sms: Set while the person's last message came by text; answers then go there.
        sms_opted_out_at: Set by STOP or by the carrier, cleared by START.
        last_delivery: The newest delivery to this person, which the next one waits for.
        running_run: The one run of this agent at work in this chat.
        queued_run: The one that is to start; messages widen it until it is claimed.
        resuming: Runs of this chat that have waited, here or elsewhere, and go on before
            `queued_run` starts; usually none, never in an item when empty.
        burst: Texts that have come just now, until when no answer to them begins.
        wait: The run that waits in this chat for a reply, whichever chat it belongs to.
        agent_wakes: When agents' messages started the newest runs here, to end endless chatter.
        paused: Agents' messages wake this agent no more, until a person writes.
        late_since: Since when the person here, who was told so, waits for an answer of the agent
            because the model is down; None once it has answered.
        summary: The agent's own two lines on where the chat stands.
        summary_state: When they were last renewed, and whether that went well.
        pinned_thread_id: The thread that runs triggered here begin with.
        consolidated_seq: Up to here the agent has made memories of what was said.
        consolidated_characters: And up to here of the next message, if that is a very long one.
        consolidation_failures: How many attempts at what follows have failed in a row.
        consolidation_retry_at: If any have, when the next one is to be made.
        unmoved: Closed, but stored among the open ones; never an attribute of the item.
    """

    PREFIX: ClassVar = SortKeyPrefix("MEMBER#")
    LEFT_PREFIX: ClassVar = SortKeyPrefix("LEFT#")  # before the open ones

    tenant: Tenant
    chat_id: Identifier
    member: NamedMember
    joined_seq: int = 0
    left_seq: int | None = None
    seen_seq: int = 0
    formerly: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    sms: SmsAddress | None = None
    sms_opted_out_at: Instant | None = None
    last_delivery: Identifier | None = None
    running_run: Identifier | None = None
    queued_run: QueuedRun | None = None
    resuming: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    burst: Burst | None = None
    wait: Wait | None = None
    agent_wakes: tuple[Instant, ...] = ()
    paused: bool = False
    late_since: Instant | None = None
    summary: Summary | None = None
    summary_state: SummaryState | None = None
    pinned_thread_id: Identifier | None = None
    consolidated_seq: int = 0
    consolidated_characters: int = 0
    consolidation_failures: int = 0
    consolidation_retry_at: Instant | None = None
    unmoved: Annotated[bool, Field(exclude=True)] = False

    @staticmethod
    def key_of(tenant: str, chat_id: str, member: MemberRef) -> Key:
        """The key of a member's open place in a chat."""
        return Key(chat_partition(tenant, chat_id), f"{Membership.PREFIX}{member}")

    @staticmethod
    def left_key_of(tenant: str, chat_id: str, member: MemberRef) -> Key:
        """The key of a member's closed place in a chat."""
        return Key(chat_partition(tenant, chat_id), f"{Membership.LEFT_PREFIX}{member}")

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Rebuild a membership from a table item, and note where a closed one lies."""
        place = super().from_item(item)
        unmoved = not place.active and str(item.get("sk", "")).startswith(cls.PREFIX)
        return place.model_copy(update={"unmoved": unmoved})

    @property
    def key(self) -> Key:
        """This membership's key; it moves when the member leaves or joins again."""
        among_open = self.active or self.unmoved
        make = self.key_of if among_open else self.left_key_of
        return make(self.tenant, self.chat_id, self.member)

    @property
    def active(self) -> bool:
        """Whether the member is in the chat now."""
        return self.left_seq is None

    @property
    def remembered_seq(self) -> int:
        """Up to here there is nothing left for the agent to make memories of."""
        return max(self.consolidated_seq, self.joined_seq)

    @property
    def free(self) -> bool:
        """Whether a run that has never started may start: none is at work, none is to go on."""
        return self.running_run is None and not self.resuming

    def to_item(self, chat: Chat) -> Item:
        """The membership as table attributes, findable through a person or an open chat's agent."""
        return self.attributes() | self.relation(chat, chat.activity_hour)

    def relation(self, chat: Chat, activity_hour: datetime) -> dict[str, Any]:
        """The index attributes of `gsi1`; none for a private chat's agent (DESIGN section 4)."""
        if self.member.kind == "agent" and chat.visibility == "private":
            return {}
        return {
            "gsi1pk": member_relation(self.tenant, self.member),
            "gsi1sk": f"{activity_hour:%Y-%m-%dT%H}#{self.chat_id}",
        }


def member_relation(tenant: str, member: MemberRef) -> str:
    """The `gsi1` partition of a member's chats."""
    return f"{key_part(tenant)}#MEMBER#{member.kind}#{key_part(member.id)}"


def past_relation(tenant: str, user_id: str) -> str:
    """The `gsi1` partition of the chats that a person has left."""
    return f"{key_part(tenant)}#LEFT#user#{key_part(user_id)}"


def listed_as_left(place: Membership) -> dict[str, Any]:
    """The index attributes of a place that has been left; an agent's is listed no more."""
    if place.member.kind == "agent":
        return {"gsi1pk": None, "gsi1sk": None}
    relation = past_relation(place.tenant, place.member.id)
    return {"gsi1pk": relation, "gsi1sk": f"-#{place.chat_id}"}


def related_chat(row: Item) -> str:
    """The id of the chat that a row of a `member_relation` points at."""
    return str(row["gsi1sk"]).split("#", 1)[1]


class Message(Stored):
    """What was said: numbered in its chat by `seq`, never renumbered.

    Attributes:
        client_id: The sender's own id of it; the same sender and id is one message.
        depth: 0 from a person, one more for each agent that passed the word on.
        run_id: The run that said it, for an agent's message.
        traced_to: The person that the run traces back to, for an agent's message.
        expects_reply: The sender waits for an answer.
        resets: A person asks to start anew; answered without the model.
        origin: Why it was said, where the sender was asked in another chat.
        correlation_id: Of the request that led to it, for the logs.
        expires_at: When it goes, in seconds since 1970, where its tenant keeps messages for a time.
    """

    PREFIX: ClassVar = SortKeyPrefix("MSG#")

    tenant: Tenant
    chat_id: Identifier
    id: Identifier
    seq: int
    kind: MessageKind = "text"
    text: str
    sender: NamedMember
    client_id: str
    reply_to: int | None = None
    media: tuple[Media, ...] = ()
    depth: int = 0
    run_id: Identifier | None = None
    traced_to: Identifier | None = None
    expects_reply: bool = False
    resets: Annotated[bool, Field(exclude_if=lambda resets: not resets)] = False
    origin: Origin | None = None
    correlation_id: str | None = None
    expires_at: int | None = None
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, seq: int) -> Key:
        """The key of message number `seq`."""
        return Key(chat_partition(tenant, chat_id), f"{Message.PREFIX}{seq:012d}")

    @property
    def key(self) -> Key:
        """This message's key."""
        return self.key_of(self.tenant, self.chat_id, self.seq)

    def to_item(self) -> Item:
        """The message as table attributes."""
        return self.attributes()

    def preview(self) -> LastMessage:
        """What a list of chats shows of it."""
        return LastMessage(
            seq=self.seq,
            text=self.text[:PREVIEW_CHARACTERS],
            sender=self.sender,
            created_at=self.created_at,
        )


def check_text(text: str, client_id: str, *, has_media: bool) -> None:
    """Let pass only what can be stored and shown.

    Raises:
        Unprocessable: The text is empty, too long or not Unicode.
    """
    if not text.strip() and not has_media:
        raise Unprocessable("a message needs text or media")
    if len(text) > MAX_TEXT:
        raise Unprocessable(f"a message holds at most {MAX_TEXT:,} characters")
    try:
        f"{text}{client_id}".encode()
    except UnicodeEncodeError:
        raise Unprocessable("the text is not valid Unicode") from None
