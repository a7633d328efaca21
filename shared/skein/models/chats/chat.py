"""Chats and their messages."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypedDict

from pydantic import BaseModel, ConfigDict, Field

from skein.channels.registry import kind_named
from skein.errors import Unprocessable
from skein.models.chats.choice import IN_TALK, Choice, Invited
from skein.models.chats.contact_order import ContactOrder
from skein.models.chats.desk import Briefing, DeskState, Holder
from skein.models.chats.names import FormerName, former_before, former_with, plain_name
from skein.models.chats.origin import Origin
from skein.models.chats.session import Session
from skein.models.chats.summary import MadeTitle, PinnedSummary, Summary, SummaryState
from skein.models.common.address import Address
from skein.models.common.base import (
    Identifier,
    Instant,
    MemberRef,
    Name,
    NamedMember,
    Stored,
    Tenant,
    Value,
    key_part,
    rfc3339,
    stable_hash,
)
from skein.models.common.json_types import JsonBool
from skein.models.common.reason import Reason, StoredReason
from skein.models.common.storage import META, Exists, Is, Item, Key, SortKeyPrefix, Update
from skein.models.config.overrides import Overrides, Retention
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.visibility.audience import OPEN, Audience, may_show
from skein.models.visibility.ownership import StoredAuthors, private_scope
from skein.models.visibility.provenance import NO_AUTHORS, Authors, Citation, Insiders
from skein.models.visibility.talk import SharingState

ChatKind = Literal["group", "direct"]
Visibility = Literal["open", "private"]
RespondMode = Literal["every", "mention", "manual"]
MemberRole = Literal["owner", "member"]
MemberState = Literal["member", "invited"]
MessageLoss = Literal["all", "part"]
MessageKind = Literal["text", "team", "keyword", "notice", "choice", "deleted", "erased"]

MAX_AGENTS = 20
MAX_MEMBERS = 100
MAX_TEXT = 20_000
PREVIEW_CHARACTERS = 200
MAX_DESCRIPTION = 1_000
CHAT_SHARDS = 8  # spread the writes to a list of chats, which peak at the start of each hour
UNTITLED = "a conversation"
NAMED_PEOPLE = 3  # people named in the description of a chat without a title


def chat_partition(tenant: str, chat_id: str) -> str:
    """Return the partition key of a chat, its memberships, its messages and its runs."""
    return f"{key_part(tenant)}#CHAT#{key_part(chat_id)}"


class Media(Value):
    """A picture or file as its message lists it; `MediaFile` has its state.

    Attributes:
        id: The id of the file; None for a file from release 0.2.0, which did not store files.
        content_type: The media type that the sender claims.
        url: The provider's URL of a file from release 0.2.0. The URL is never shown.
        description: What a picture shows, or how a document begins, once known. It is stored with
            the message, so that it is read and deleted together with the message.
    """

    id: Annotated[Identifier | None, Field(exclude_if=lambda media_id: media_id is None)] = None
    content_type: Annotated[str, Field(max_length=200)]
    url: Annotated[str, Field(max_length=2048, repr=False, exclude_if=lambda url: not url)] = ""
    description: Annotated[
        str | None, Field(max_length=MAX_DESCRIPTION, exclude_if=lambda text: text is None)
    ] = None

    @property
    def is_image(self) -> bool:
        return self.content_type.startswith("image/")


class Via(Value):
    """The agent that wrote a text, and the choice in which a person agreed to post it.

    Attributes:
        chat_id: The chat of the choice. The readers of the post do not necessarily know this chat.
        choice_seq: The number of the choice's message in that chat.
    """

    agent_id: Identifier
    agent_name: Name
    chat_id: Identifier
    choice_seq: int


class LastMessage(Value):
    """The newest message of a chat, as lists of chats show it."""

    seq: int
    text: str
    sender: NamedMember
    created_at: Instant


class ListedMember(NamedTuple):
    """A member of a chat, or an invited person, as lists of members show them.

    Attributes:
        seen_seq: The newest message that was shown to the member, or 0.
    """

    member: NamedMember
    state: MemberState
    role: MemberRole
    seen_seq: int


class ChatFields(BaseModel):
    """The fields of a chat that its people can change."""

    title: Annotated[
        Name | None, Field(description="1 to 200 characters; null: the chat has no title.")
    ] = None
    respond: Annotated[
        RespondMode,
        Field(
            description="Which messages agents answer: `every` one, those that `mention` them, or "
            "none."
        ),
    ] = "every"
    consolidate: Annotated[
        JsonBool | None,
        Field(
            description="Whether agents consolidate the chat into memories; null inherits the "
            "value of the agent, the line or the tenant."
        ),
    ] = None


class TitleChanges(TypedDict, total=False):
    """The fields of a chat that change together with a generated title."""

    title: Name | None
    made_title: MadeTitle | None
    title_state: SummaryState | None


class Chat(ChatFields, Stored):
    """A chat, stored as one item.

    Every write raises `version`. Posting a message is conditional on the version (optimistic lock).

    Attributes:
        line: The line on which the chat began, whose settings apply; None for a chat in the app.
            Answers are sent from the line in `Membership.route`, which follows the person's last
            message.
        roster: The current members, in order of joining.
        owners: The ids of the people who were made owners. `role_of` also counts the person of a
            direct chat with an agent.
        invited: The people who were invited, including those whose invitations have expired.
        former_names: Earlier names of members, with the numbers that tell identical names apart.
        joined_late: The `last_seq` at which each member (`kind#id`) joined. Members who joined at
            the beginning have no entry.
        formerly: For people who have posted in the chat under other ids, their current ids, by old
            id.
        summary: The chat summary, in the third person.
        summary_state: When the chat summary was last renewed, and whether that succeeded.
        made_title: The messages from which the light model made the title; None if it did not make
            it.
        title_state: When the light model was last asked for a title, and how often that failed.
        named: Whether a person has set or removed the title, so that no title is generated.
        title_authors: The people whose words the title contains, as digests.
        pinned: The chat summary as prompts show it until the history window moves.
        activity_hour: The hour of the newest message. Lists of chats are ordered roughly by it.
        listed_hour: The hour by which the chat is sorted in its members' lists. Upkeep sets it to
            `activity_hour`.
        upkeep_at: When upkeep must renew data derived from the chat; the time of the due pointer.
        consolidation_at: When the messages may be consolidated; the due time of `Consolidation`.
        epoch: A counter that an erasure raises; part of every cache key.
        documents: The ids of the documents that the chat owns.
        person_seq: For a direct chat, the `seq` of its person's newest text; 0 for none. Resets do
            not count.
        session: For a direct chat, the session since the last gap or reset.
        overrides: For a direct chat, the setting overrides of agent, line and tenant when the
            person last posted.
        retention: How long messages and runs of this chat are kept; None means without limit.
        desk: The state on the desk, where a person of the team can take the chat over; None if the
            chat is not on the desk.
        contact_order: The newest instruction of an operator that made the agent write to the person
            of this direct chat.
        briefing: The team's note to the agents when it last handed the chat back. A prompt shows
            the note if its history begins before the note was written.
        sharing: For a direct chat, the state of sharing its person's messages with others; None if
            no sharing rule has covered the person.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    tenant: Tenant
    id: Identifier
    line: Address | None = None
    kind: ChatKind
    visibility: Visibility
    summary: Summary | None = None
    summary_state: SummaryState | None = None
    pinned: PinnedSummary | None = None
    made_title: Annotated[MadeTitle | None, Field(exclude_if=lambda made: made is None)] = None
    title_state: Annotated[SummaryState | None, Field(exclude_if=lambda state: state is None)] = (
        None
    )
    named: Annotated[bool, Field(exclude_if=lambda named: not named)] = False
    title_authors: StoredAuthors = NO_AUTHORS
    last_seq: int = 0
    last_message: LastMessage | None = None
    roster: tuple[NamedMember, ...] = ()
    owners: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    invited: Annotated[tuple[Invited, ...], Field(exclude_if=lambda people: not people)] = ()
    former_names: Annotated[tuple[FormerName, ...], Field(exclude_if=lambda names: not names)] = ()
    joined_late: dict[str, int] = Field(default_factory=dict)
    formerly: dict[str, Identifier] = Field(default_factory=dict, exclude_if=lambda ids: not ids)
    version: int = 1
    epoch: int = 0
    documents: tuple[Identifier, ...] = ()
    person_seq: int = 0
    session: Session | None = None
    overrides: Overrides | None = None
    retention: Retention | None = None
    desk: Annotated[DeskState | None, Field(exclude_if=lambda desk: desk is None)] = None
    contact_order: Annotated[
        ContactOrder | None, Field(alias="outreach", exclude_if=lambda order: order is None)
    ] = None
    briefing: Annotated[Briefing | None, Field(exclude_if=lambda briefing: briefing is None)] = None
    sharing: Annotated[SharingState | None, Field(exclude_if=lambda sharing: sharing is None)] = (
        None
    )
    activity_hour: Instant
    listed_hour: Instant | None = None
    upkeep_at: Instant | None = None
    consolidation_at: Instant | None = None
    created_at: Instant
    discarded_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str) -> "Key[Chat]":
        return Key(chat_partition(tenant, chat_id), META)

    @property
    def key(self) -> "Key[Chat]":
        return self.key_of(self.tenant, self.id)

    @property
    def last_message_at(self) -> datetime | None:
        """The time of the newest message; None in an empty chat."""
        return self.last_message.created_at if self.last_message else None

    @property
    def display_title(self) -> str:
        """The chat's title, or a description of its kind and members."""
        if self.title:
            return self.title
        people = [plain_name(member) for member in self.roster if member.kind == "user"]
        if not people:
            return UNTITLED
        if self.kind == "group":
            return f"group with {_enumerated(people)}"
        chat = kind_named(self.line.kind).chat if self.line else "chat"
        return f"{chat} with {_enumerated(people)}"

    def with_roster(
        self, roster: "tuple[NamedMember, ...]", left: Iterable[NamedMember] = ()
    ) -> dict[str, Any]:
        """Return the changes that replace the roster; identical names keep their numbers.

        Args:
            left: The members who have left. They are needed if members are renamed, so that no one
                gets the former name and number of another member.
        """
        names = {member.ref: member.name for member in self.roster}
        former, gone = self.former_names, tuple(left)
        for member in roster:
            if names.get(member.ref) != member.name:
                former = former_before(member, former, gone)
        former = former_with(self.roster, former, roster)
        return {"roster": roster, "former_names": former}

    def with_member(self, member: NamedMember, left: Iterable[NamedMember]) -> dict[str, Any]:
        """Return the changes that add a member. Members who have left keep their numbers."""
        former = former_before(member, self.former_names, left)
        return {"roster": (*self.roster, member), "former_names": former}

    def without_made_title(self) -> TitleChanges:
        """Return the changes that remove a generated title; a new one is generated later.

        A title that people set stays.
        """
        if self.made_title is None:
            return {}
        return {"title": None, "made_title": None, "title_state": None}

    def titled_by(self, insiders: Insiders, readers: Audience) -> "Chat":
        """Return the chat, without its title if a run's prompt must not contain the title.

        Args:
            insiders: The people that the run works for, and whether others' words are excluded.
            readers: The readers of the active chat, who know the titles of their own chats.
        """
        known = insiders.of_readers and bool(readers.people)
        if known and set(readers.people) <= set(self.person_ids):
            return self
        if insiders.admit(self.title_authors):
            return self
        return self.model_copy(update={"title": None, "title_authors": NO_AUTHORS})

    def titled_for(self, readers: Audience, *, known: str | None = None) -> "Chat":
        """Return the chat with a title that an audience may see.

        Only the chat's current readers may see its title. A person who has left may still see
        earlier messages, but not a new title.

        Args:
            readers: The audience that will see the title.
            known: A title that the whole audience knows.
        """
        if may_show(self.readers, readers):
            return self
        return self.model_copy(update={"title": known or UNTITLED})

    @property
    def readers(self) -> Audience:
        """The people who can read the chat now; everyone, if the chat is open."""
        if self.visibility == "open":
            return OPEN
        return Audience(open=False, people=tuple(sorted(self.person_ids)))

    def hides(self, seq: int, at: datetime, *, here: "Chat | None") -> bool:
        """Return whether a reset hides a message of this chat from agents.

        A reset hides all earlier messages of its chat. A reset in a direct chat also hides earlier
        messages in the person's other direct chats.

        Args:
            at: The time of the message.
            here: The chat in which the message would be shown; None for no chat.
        """
        if self.session is not None and seq < self.session.reset_seq:
            return True
        if here is None or here.session is None or here.session.reset_at is None:
            return False
        direct = self.kind == here.kind == "direct"
        theirs = direct and not set(self.person_ids).isdisjoint(here.person_ids)
        return theirs and at < here.session.reset_at

    @property
    def scope(self) -> str | None:
        """The scope of the items that an agent derives from this chat; see `owned_partition`.

        None for an open chat; `user:{id}` for a private direct chat with one person; otherwise
        `chat:{id}`.
        """
        if self.visibility == "open":
            return None
        if self.kind == "direct" and len(self.person_ids) == 1:
            return private_scope(user_id=self.person_ids[0])
        return private_scope(chat_id=self.id)

    @property
    def person_ids(self) -> tuple[str, ...]:
        """The ids of the people in the chat, in the order of the roster."""
        return tuple(member.id for member in self.roster if member.kind == "user")

    def at(self, now: datetime) -> "Chat":
        """Return the chat without invitations that have expired."""
        return self.model_copy(update={"invited": tuple(i for i in self.invited if i.open(now))})

    def invitation(self, user_id: str) -> Invited | None:
        """Return a person's invitation, open or expired; None if the person was not invited."""
        return next((each for each in self.invited if each.member.id == user_id), None)

    def without_invitation(self, user_id: str) -> tuple[Invited, ...]:
        """Return the invitations of all other people."""
        return tuple(each for each in self.invited if each.member.id != user_id)

    def awaits(self, readers: Audience, now: datetime) -> bool:
        """Return whether one of the readers has been invited to the chat and can still accept.

        While the invitation is open, prompts and tools for these readers leave the chat's content
        out.
        """
        return readers.counts(each.member.id for each in self.invited if each.open(now))

    def has(self, ref: MemberRef) -> bool:
        return any(member.ref == ref for member in self.roster)

    def role_of(self, ref: MemberRef) -> MemberRole:
        """Return `owner` for an owner of the chat, and `member` for anyone else.

        The person of a direct chat with an agent is always its owner.
        """
        owns = ref.kind == "user" and self.has(ref) and ref.id in (*self.owners, *self._alone)
        return "owner" if owns else "member"

    @property
    def held(self) -> bool:
        """Whether a person of the team holds the chat, so that its agents are silent."""
        return self.desk is not None and self.desk.held

    @property
    def holder(self) -> Holder | None:
        """The person of the team who holds the chat; None if the chat is not held."""
        return self.desk.holder if self.desk is not None and self.desk.held else None

    @property
    def owned(self) -> bool:
        """Whether the chat has an owner; in a chat without owners, operators act in their place."""
        return any(self.role_of(member.ref) == "owner" for member in self.roster)

    def owners_in(self, roster: Iterable[NamedMember]) -> "tuple[str, ...]":
        """Return the ids of the owners who are still members in a new roster."""
        people = {member.id for member in roster if member.kind == "user"}
        return tuple(owner for owner in self.owners if owner in people)

    @property
    def _alone(self) -> tuple[str, ...]:
        """The id of the person, if this is a direct chat with an agent; otherwise empty."""
        agents = any(member.kind == "agent" for member in self.roster)
        return self.person_ids if self.kind == "direct" and agents else ()

    def as_now(self, message: "Message") -> "Message":
        """Return a message with its sender's current id and name, and its addressee's current id.

        The stored item keeps the old values.
        """
        choice = message.choice
        if choice is not None and choice.addressee in self.formerly:
            addressee = self.formerly[choice.addressee]
            choice = choice.model_copy(update={"addressee": addressee})
            message = message.model_copy(update={"choice": choice})
        sender = message.sender
        now = self.formerly.get(sender.id) if sender.kind == "user" else None
        if now is None:
            return message
        unknown = sender.model_copy(update={"id": now})
        known = (member for member in self.roster if member.ref == unknown.ref)
        return message.model_copy(update={"sender": next(known, unknown)})

    def to_item(self) -> Item:
        """Return the chat's table attributes, with the index keys of the tenant's list of chats."""
        return self.attributes() | self.relation()

    def relation(self) -> dict[str, str]:
        """Return the `gsi1` keys, by which the index finds the chat by its activity hour."""
        shard = stable_hash(self.id) % CHAT_SHARDS
        return {
            "gsi1pk": chats_relation(self.tenant, shard),
            "gsi1sk": in_hour(self.activity_hour, self.id),
        }

    def upkeep(self, at: datetime | None) -> dict[str, Any]:
        """Return the attributes that make upkeep due at `at`, or not due if `at` is None."""
        if at is None:
            return {"upkeep_at": None} | NOT_DUE
        return {"upkeep_at": rfc3339(at), "due_tries": None} | due_pointer("chat", self.key, at)


def _enumerated(names: list[str]) -> str:
    """Join names: `Lena`, `Lena and Tom`, `Lena, Tom and 3 others`."""
    if len(names) > NAMED_PEOPLE + 1:
        names = [*names[:NAMED_PEOPLE], f"{len(names) - NAMED_PEOPLE} others"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def in_hour(activity_hour: datetime, chat_id: str) -> str:
    """Return the sort key of a chat in a list that is ordered by activity, newest last."""
    return f"{activity_hour:%Y-%m-%dT%H}#{chat_id}"


def chats_relation(tenant: str, shard: int) -> str:
    """Return the `gsi1` partition key of a shard of a tenant's chats."""
    return f"{key_part(tenant)}#CHATS#{shard}"


class Message(Stored):
    """A message, numbered in its chat by `seq` and never renumbered.

    Attributes:
        kind: The kind of message. A `deleted` message was deleted by its sender, and the text of an
            `erased` message was removed by an erasure; both have no text.
        client_id: The sender's idempotency key: the same sender and key mean the same message.
        depth: The chain depth: 0 for a person's message; for an agent's message, the chain depth of
            its run plus 1.
        run_id: For an agent's message, the run that posted it.
        authors: For an agent's message, the people whose messages that run was shown, as digests.
        traced_to: For an agent's message, the person whose message led to the run.
        expects_reply: Whether the sender waits for an answer.
        choice: The question and its answer, for a message of the kind `choice`.
        answers: For a person's answer to an agent's choice, the id of the agent. The answer
            triggers only this agent.
        via: For an agent's text that a person posts, the agent and the choice in which the person
            agreed to post the text.
        template: The message template that the sender chose. It is used when free text may not be
            sent.
        report_of: The work, such as an errand, whose result the message reports. The text of such a
            message is never changed.
        introduction: The introduction that precedes the first text to a person.
        sources: The passages of the tenant's sources that an agent's message cites.
        team: For a message of the team, the team's name. An SMS shows it after the sender's name.
        resets: Whether this is a person's reset, which is answered without the model.
        keeps: Whether this is a person's request to keep the conversation private, which is also
            answered without the model.
        noticed_rules: The sharing rules that the message announces to the person of a direct chat.
        origin: Why the agent posted the message, if the agent was asked in another chat.
        runs: The runs that the message started, extended or resumed, by agent id.
        reason: Why the message started no run of the chat's agents. It does not apply to agents in
            `runs` or `reasons`.
        reasons: The reasons for individual agents, by agent id, if they differ from `reason`.
        deliveries: The deliveries of the message to phones.
        undelivered: For an agent's message in a direct chat, why the person gets no SMS with it.
        lost: How much of the message did not reach the phone, once its delivery has failed or was
            canceled.
        correlation_id: The id of the request that led to the message, for the logs.
        expires_at: When the message expires, in seconds since 1970, if its tenant limits retention.
    """

    PREFIX: ClassVar = SortKeyPrefix("MSG#")

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

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
    authors: StoredAuthors = NO_AUTHORS
    traced_to: Identifier | None = None
    expects_reply: bool = False
    choice: Annotated[Choice | None, Field(exclude_if=lambda choice: choice is None)] = None
    answers: Annotated[Identifier | None, Field(exclude_if=lambda agent: agent is None)] = None
    via: Annotated[Via | None, Field(exclude_if=lambda via: via is None)] = None
    template: Annotated[str | None, Field(exclude_if=lambda sid: sid is None)] = None
    report_of: Annotated[
        Identifier | None, Field(alias="errand_id", exclude_if=lambda work_id: work_id is None)
    ] = None
    introduction: Annotated[str | None, Field(exclude_if=lambda words: words is None)] = None
    sources: Annotated[tuple[Citation, ...], Field(exclude_if=lambda sources: not sources)] = ()
    team: Annotated[Name | None, Field(exclude_if=lambda team: team is None)] = None
    resets: Annotated[bool, Field(exclude_if=lambda resets: not resets)] = False
    keeps: Annotated[bool, Field(exclude_if=lambda keeps: not keeps)] = False
    noticed_rules: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    origin: Origin | None = None
    runs: Annotated[dict[str, Identifier], Field(exclude_if=lambda runs: not runs)] = Field(
        default_factory=dict
    )
    reason: StoredReason | None = None
    reasons: Annotated[dict[str, StoredReason], Field(exclude_if=lambda reasons: not reasons)] = (
        Field(default_factory=dict)
    )
    deliveries: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    undelivered: Annotated[tuple[StoredReason, ...], Field(exclude_if=lambda all_: not all_)] = ()
    lost: Annotated[MessageLoss | None, Field(exclude_if=lambda lost: lost is None)] = None
    correlation_id: str | None = None
    expires_at: int | None = None
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, chat_id: str, seq: int) -> "Key[Message]":
        return Key(chat_partition(tenant, chat_id), f"{Message.PREFIX}{seq:012d}")

    @property
    def key(self) -> "Key[Message]":
        return self.key_of(self.tenant, self.chat_id, self.seq)

    @property
    def payer(self) -> str | None:
        """The person who pays for work on the message: its sender, or the person in `traced_to`."""
        return self.sender.person_id or self.traced_to

    @property
    def conversational(self) -> bool:
        """Whether this is a text of a member or the team, or a question that agents continue."""
        if self.kind == "choice":
            return self.choice is not None and self.choice.purpose in IN_TALK
        return self.kind in {"text", "team"}

    @property
    def as_delivered(self) -> str:
        """The text as a phone shows it; a message of the team begins with the sender's name."""
        if self.kind != "team":
            return self.introduced(self.text)
        whose = f"{self.sender.name} from {self.team}" if self.team else self.sender.name
        return self.introduced(f"{whose}: {self.text}")

    def introduced(self, words: str) -> str:
        """Return `words`, preceded by the message's introduction if it has one."""
        return f"{self.introduction}\n{words}" if self.introduction else words

    @property
    def words(self) -> Authors:
        """The people whose words the message may contain, as digests."""
        return Authors.in_digests([self.sender.person_id]).joined(self.authors)

    @property
    def media_ids(self) -> tuple[str, ...]:
        return tuple(media.id for media in self.media if media.id is not None)

    @property
    def full_text(self) -> str:
        """The text and, on lines of their own, the descriptions of the pictures and files."""
        described = [
            f"[{'picture' if media.is_image else 'file'}: {media.description}]"
            for media in self.media
            if media.description is not None
        ]
        return "\n".join([*([self.text] if self.text.strip() else []), *described])

    @property
    def not_delivered(self) -> MessageLoss | None:
        """How much of the message did not reach its person; None if no loss is known."""
        return "all" if Reason.OPTED_OUT in self.undelivered else self.lost

    def with_choice(self, choice: Choice) -> Update:
        """Return the write that replaces the choice; it fails if the choice has changed."""
        changed = choice.model_dump(mode="json", exclude_none=True, exclude={"repeats"})
        unchanged = Is("choice", self.attributes().get("choice"))
        return Update(self.key, set={"choice": changed}, condition=unchanged)

    def with_description(self, media_id: str, description: str) -> Update:
        """Return the write that stores a file's description; it fails if the files have changed."""
        files = [
            media.model_copy(update={"description": description}) if media.id == media_id else media
            for media in self.media
        ]
        described = self.model_copy(update={"media": tuple(files)}).attributes()["files"]
        unchanged = Is("files", self.attributes()["files"])
        return Update(self.key, set={"files": described}, condition=unchanged)

    @classmethod
    def from_item(cls, item: Item) -> "Message":
        if "files" in item:
            item = {**item, "media": item["files"]}
        if item.get("choice") is not None and "repeats" in item:
            item = {**item, "choice": {**item["choice"], "repeats": item["repeats"]}}
        return cls.model_validate(item)

    def attributes(self) -> Item:
        """Return the message as table attributes.

        The files are stored in an attribute of their own, because release 0.2.0 expects a URL in
        each entry of `media`. `Choice.repeats` is also stored in an attribute of its own, because
        release 0.3.0 refuses a choice with a field that it doesn't know.
        """
        made = super().attributes()
        if self.media:
            made = {**made, "media": [], "files": made["media"]}
        if self.choice is not None and self.choice.repeats is not None:
            choice = {name: each for name, each in made["choice"].items() if name != "repeats"}
            made = {**made, "choice": choice, "repeats": self.choice.repeats}
        return made

    def to_item(self) -> Item:
        return self.attributes()

    def preview(self) -> LastMessage:
        """Return the message as lists of chats show it, cut at 200 characters."""
        return LastMessage(
            seq=self.seq,
            text=self.text[:PREVIEW_CHARACTERS],
            sender=self.sender,
            created_at=self.created_at,
        )


def epoch_raised(tenant: str, chat_id: str) -> Update:
    """Return the write that raises a chat's epoch.

    The new epoch invalidates cached messages. It also invalidates content that a model is deriving
    from the messages right now.
    """
    key = Chat.key_of(tenant, chat_id)
    return Update(key, add={"epoch": 1, "version": 1}, condition=Exists())


def check_text(text: str, client_id: str, *, has_media: bool) -> None:
    """Check that a message can be stored and shown.

    Raises:
        Unprocessable: The text is empty, too long or not Unicode.
    """
    if not text.strip() and not has_media:
        raise Unprocessable("a message must have text or media")
    if len(text) > MAX_TEXT:
        raise Unprocessable(f"a message may have at most {MAX_TEXT:,} characters")
    try:
        f"{text}{client_id}".encode()
    except UnicodeEncodeError:
        raise Unprocessable("the text is not valid Unicode") from None
