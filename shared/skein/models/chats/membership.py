"""Memberships of people and agents in chats."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, TypedDict

from pydantic import Field

from skein.channels.port import Channel
from skein.models.chats.chat import Chat, chat_partition, in_hour
from skein.models.chats.summary import Summary, SummaryState
from skein.models.common.address import ChannelName, Route
from skein.models.common.base import (
    Identifier,
    Instant,
    MemberRef,
    NamedMember,
    Stored,
    Tenant,
    key_part,
)
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.runs.trigger import AwaitedMedia, Burst, QueuedRun, Wait


class MembershipChanges(TypedDict, total=False):
    """The fields of an agent's membership that its runs change."""

    seen_seq: int
    running_run: Identifier | None
    queued_run: QueuedRun | None
    burst: Burst | None
    awaited_media: AwaitedMedia | None
    summary: Summary | None
    summary_state: SummaryState | None


class Membership(Stored):
    """One member in one chat, with the member's own state there.

    A membership is current until the member leaves; it is then closed, and `left_seq` is set. Each
    post reads the current memberships. A closed membership is stored under another prefix, and
    never deleted.

    Attributes:
        joined_seq: The chat's `last_seq` when the member joined.
        seen_seq: The highest message that was shown to the member.
        formerly: Earlier user ids of this person in this chat.
        route: The route of the person's last message, which answers use; None for the app.
        opt_outs: When the person opted out of each channel, by STOP or by a report of the carrier;
            START clears it.
        superseded: Whether the line has a newer chat with the person's address. STOP and START are
            stored there.
        heard: When the person last wrote on each channel that allows free text only for some time
            after a person's message.
        introduction: The introduction of the first text to a person who has not written: who asks,
            and how to stop. None once it was sent, or once the person has written.
        last_delivery: The newest delivery to this person; the next delivery waits for it.
        running_run: The id of the run that this agent is working on in this chat; at most one.
        queued_run: The queued run. New messages extend it until a worker claims the run.
        resuming: The runs of this agent and chat whose wait for a reply, here or in another chat,
            has ended. They resume before `queued_run` starts. The attribute is missing if there are
            none.
        burst: SMS that arrived in quick succession and get one answer, and when that answer may
            begin.
        awaited_media: Files of new messages; the answer waits for them for a short time.
        wait: The run that waits in this chat for a reply; the run may belong to another chat.
        agent_wakes: When agents' messages started this agent's newest runs in the chat. These times
            limit how often agents can trigger each other.
        paused: Whether agents' messages no longer trigger this agent; a person's message clears
            this.
        late_since: When the chat's people were told that the agent's answer is late because the
            model is down; None once the agent has answered.
        failed_since: When this agent last posted a notice about a failed run in a group; None once
            the agent has answered.
        failed_answers: The number of consecutive failed answers of this agent to people in this
            chat.
        summary: The agent summary: one or two lines on the current state of the chat.
        summary_state: When the agent summary was last renewed, and whether that succeeded.
        pinned_thread_id: The thread that is active at the start of runs that this chat triggers.
        consolidated_seq: Watermark: the highest message that the agent has consolidated.
        consolidated_characters: If the message after `consolidated_seq` is very long and is
            consolidated in pieces, how many of its characters are done.
        own_words_seq: Watermark: the highest message that was read to make memories for sharing
            rules. These memories contain only the person's own words.
        consolidation_failures: The number of consecutive failed attempts to consolidate the next
            messages.
        consolidation_retry_at: When to make the next attempt, if the last one failed.
    """

    PREFIX: ClassVar = SortKeyPrefix("MEMBER#")
    LEFT_PREFIX: ClassVar = SortKeyPrefix("LEFT#")  # sorts before the current memberships

    tenant: Tenant
    chat_id: Identifier
    member: NamedMember
    joined_seq: int = 0
    left_seq: int | None = None
    seen_seq: int = 0
    formerly: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    route: Route | None = None
    opt_outs: Annotated[dict[ChannelName, Instant], Field(exclude_if=lambda all_: not all_)] = (
        Field(default_factory=dict)
    )
    superseded: Annotated[bool, Field(exclude_if=lambda newer: not newer)] = False
    heard: Annotated[dict[ChannelName, Instant], Field(exclude_if=lambda all_: not all_)] = Field(
        default_factory=dict
    )
    introduction: Annotated[str | None, Field(exclude_if=lambda words: words is None)] = None
    last_delivery: Identifier | None = None
    running_run: Identifier | None = None
    queued_run: QueuedRun | None = None
    resuming: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    burst: Burst | None = None
    awaited_media: Annotated[AwaitedMedia | None, Field(exclude_if=lambda awaited: not awaited)] = (
        None
    )
    wait: Wait | None = None
    agent_wakes: tuple[Instant, ...] = ()
    paused: bool = False
    late_since: Instant | None = None
    failed_since: Instant | None = None
    failed_answers: Annotated[int, Field(exclude_if=lambda failed: not failed)] = 0
    summary: Summary | None = None
    summary_state: SummaryState | None = None
    pinned_thread_id: Identifier | None = None
    consolidated_seq: int = 0
    consolidated_characters: int = 0
    own_words_seq: Annotated[int, Field(exclude_if=lambda seq: not seq)] = 0
    consolidation_failures: int = 0
    consolidation_retry_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str, member: MemberRef) -> "Key[Membership]":
        """Return the key of a member's current membership in a chat."""
        return Key(chat_partition(tenant, chat_id), f"{Membership.PREFIX}{member}")

    @staticmethod
    def left_key_of(tenant: str, chat_id: str, member: MemberRef) -> Key:
        """Return the key of a member's closed membership in a chat."""
        return Key(chat_partition(tenant, chat_id), f"{Membership.LEFT_PREFIX}{member}")

    @property
    def key(self) -> "Key[Membership]":
        """The key of this membership. The key changes when the member leaves or rejoins."""
        make = self.key_of if self.active else self.left_key_of
        return make(self.tenant, self.chat_id, self.member)

    @property
    def active(self) -> bool:
        return self.left_seq is None

    @property
    def opted_out(self) -> bool:
        """Whether the person has opted out of the channel that answers would use."""
        return self.route is not None and self.route.channel in self.opt_outs

    def window_open(self, channel: Channel, now: datetime) -> bool:
        """Return whether free text may be sent to the person on a channel now."""
        if channel.window is None:
            return True
        heard = self.heard.get(channel.name)
        return heard is not None and now < heard + channel.window

    @property
    def remembered_seq(self) -> int:
        """The highest message that is consolidated or was posted before the agent joined."""
        return max(self.consolidated_seq, self.joined_seq)

    @property
    def own_words_read(self) -> int:
        """Like `remembered_seq`, for the watermark `own_words_seq`."""
        return max(self.own_words_seq, self.joined_seq)

    @property
    def free(self) -> bool:
        """Whether the queued run may start: no run is running or about to resume."""
        return self.running_run is None and not self.resuming

    @property
    def busy(self) -> bool:
        """Whether a run is queued, running or about to resume in this chat; waits don't count."""
        return self.queued_run is not None or not self.free

    def to_item(self, chat: Chat) -> Item:
        """Return the membership as table attributes, with its index attributes (`relation`)."""
        return self.attributes() | self.relation(chat, chat.activity_hour)

    def relation(self, chat: Chat, activity_hour: datetime) -> dict[str, Any]:
        """Return the `gsi1` keys that list the member's chats; none for agents in private chats."""
        if self.member.kind == "agent" and chat.visibility == "private":
            return {}
        return {
            "gsi1pk": member_relation(self.tenant, self.member),
            "gsi1sk": in_hour(activity_hour, self.chat_id),
        }


def member_relation(tenant: str, member: MemberRef) -> str:
    """Return the `gsi1` partition key of a member's current memberships."""
    return f"{key_part(tenant)}#MEMBER#{member.kind}#{key_part(member.id)}"


def past_relation(tenant: str, user_id: str) -> str:
    """Return the `gsi1` partition key of a person's closed memberships."""
    return f"{key_part(tenant)}#LEFT#user#{key_part(user_id)}"


def listed_as_left(membership: Membership) -> dict[str, Any]:
    """Return the `gsi1` keys of a person's closed membership; None for each key of an agent's."""
    if membership.member.kind == "agent":
        return {"gsi1pk": None, "gsi1sk": None}
    relation = past_relation(membership.tenant, membership.member.id)
    return {"gsi1pk": relation, "gsi1sk": f"-#{membership.chat_id}"}


def related_chat(row: Item) -> str:
    """Return the id of the chat that a row of a `member_relation` lists."""
    return str(row["gsi1sk"]).split("#", 1)[1]
