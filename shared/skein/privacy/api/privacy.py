"""Resources of the HTTP API: erasures and exports."""

from typing import Annotated, Any, Self

from pydantic import Field

from skein.live.api import DeviceResource
from skein.models.api.base import CreatedAt, EndedAt, Id, IdOfAgent, IdOfChat, Page, Resource
from skein.models.api.chats import MemberResource, MessageResource
from skein.models.api.choices import ConsentResource
from skein.models.api.directory import UserDetail
from skein.models.api.text_consents import TextConsentResource
from skein.models.api.usage import PersonUsageResource
from skein.models.chats.chat import Chat, ChatKind, Visibility
from skein.models.chats.choice import Invited
from skein.models.chats.membership import Membership
from skein.models.common.address import ChannelName
from skein.models.common.base import Instant
from skein.models.delivery.delivery import Delivery, DeliveryStatus
from skein.privacy.erasure_preview import ErasurePreview, NamedText
from skein.privacy.models.erasure import BACKUP_DAYS, ErasureStage, NamedTexts
from skein.sharing.api import DisclosedWords, OwnSharingRule

BACKUPS = (
    f"Backups for point-in-time recovery keep copies for at most {BACKUP_DAYS} days after the end "
    "of the erasure. If the table is restored from an earlier time, erase the user again."
)


class SweepResource(Resource):
    """The result of one sweep of an erasure."""

    counts: Annotated[dict[str, int], Field(description="Number of erased items, by kind.")]
    ended_at: EndedAt


class ErasureResource(Resource):
    """An erasure. After it is done, the resource is its report."""

    id: Id
    user_id: Annotated[str, Field(description="The id of a user.")]
    requested_by: Annotated[str, Field(description="The operator who requested the erasure.")]
    requested_at: Annotated[Instant, Field(description="When the erasure was requested.")]
    named_texts: Annotated[
        NamedTexts,
        Field(description="What happens to texts of others that have the user's full name."),
    ]
    stage: Annotated[
        ErasureStage, Field(description="The current stage; `resting` between two sweeps.")
    ]
    sweeps: Annotated[
        tuple[SweepResource, ...], Field(description="The finished sweeps, with what each erased.")
    ]
    sweep_again_at: Annotated[
        Instant | None, Field(description="When the next sweep begins; null if there is none.")
    ]
    finished_at: Annotated[
        Instant | None, Field(description="When the erasure was done; null before.")
    ]
    backups: Annotated[str, Field(description="How long backups keep copies of the data.")] = (
        BACKUPS
    )


class ErasurePage(Page[ErasureResource]):
    """A page of erasures of people, newest first."""


class NamedTextResource(Resource):
    """A text by someone else that contains the user's full name."""

    kind: Annotated[str, Field(description="The kind of item, as in `named`.")]
    chat_id: Annotated[
        str | None, Field(description="The chat of a message or title, or where it was made.")
    ]
    seq: Annotated[int | None, Field(description="The `seq` of a message; null for other texts.")]
    agent_id: Annotated[str | None, Field(description="The agent that keeps an item.")]
    id: Annotated[str | None, Field(description="The id; null for the title of a chat.")]
    excerpt: Annotated[
        str | None,
        Field(description="The words around the name; null for a private text."),
    ]

    @classmethod
    def from_text(cls, text: NamedText) -> Self:
        return cls(**text._asdict())


class ErasurePreviewResource(Resource):
    """What an erasure would do, in counts by kind of item."""

    erased: Annotated[
        dict[str, int],
        Field(description="What is the user's, or was made from the user's words alone."),
    ]
    replaced: Annotated[
        dict[str, int],
        Field(description="What stays and loses ids, phone numbers and quotes of the user."),
    ]
    made_again: Annotated[
        dict[str, int], Field(description="What goes and is made again from the words of others.")
    ]
    named: Annotated[
        dict[str, int],
        Field(description="Texts of others with the user's full name; see `named_texts`."),
    ]
    named_texts: Annotated[
        tuple[NamedTextResource, ...], Field(description="At most 50 of the texts in `named`.")
    ]
    complete: Annotated[
        bool, Field(description="Whether all items were counted; false beyond 5,000 items.")
    ]

    @classmethod
    def from_preview(cls, preview: ErasurePreview) -> Self:
        """Build the resource of a preview; leave out kinds with a count of zero."""
        return cls(
            erased=dict(+preview.erased),
            replaced=dict(+preview.replaced),
            made_again=dict(+preview.made_again),
            named=dict(+preview.named),
            named_texts=tuple(map(NamedTextResource.from_text, preview.texts)),
            complete=preview.complete,
        )


class PlaceResource(Resource):
    """A current or former chat of the person."""

    chat_id: IdOfChat
    title: Annotated[str | None, Field(description="The title; null without one.")]
    kind: Annotated[ChatKind, Field(description="The kind of item.")]
    visibility: Annotated[
        Visibility,
        Field(
            description="Whether content may be shown to everyone in the tenant (`open`) or not."
        ),
    ]
    name: Annotated[str, Field(description="The person's name in this chat.")]
    joined_seq: Annotated[int, Field(description="The last message before the person joined.")]
    left_seq: Annotated[int | None, Field(description="The last message before the person left.")]
    seen_seq: Annotated[
        int, Field(description="The `seq` of the newest message that was read; 0 if there is none.")
    ]
    phone: Annotated[
        str | None, Field(description="The phone number that gets the answers; null without SMS.")
    ]
    line: Annotated[
        str | None, Field(description="The phone number of the line; null without SMS.")
    ]

    @classmethod
    def from_parts(cls, chat: Chat, membership: Membership) -> Self:
        """Build the resource of a chat and a membership.

        The title of a private chat that the person has left is omitted, because the title may have
        changed since.
        """
        route = membership.route
        knows_title = membership.active or chat.visibility == "open"
        return cls(
            chat_id=chat.id,
            title=chat.title if knows_title else None,
            kind=chat.kind,
            visibility=chat.visibility,
            name=membership.member.name,
            joined_seq=membership.joined_seq,
            left_seq=membership.left_seq,
            seen_seq=membership.seen_seq,
            phone=route.person.address if route else None,
            line=route.line.address if route else None,
        )


class DeliveryResource(Resource):
    """A message to the person's phone."""

    id: Id
    chat_id: IdOfChat
    seq: Annotated[int, Field(description="The `seq` of the message that was delivered.")]
    channel: Annotated[ChannelName, Field(description="The channel by which it is sent.")]
    phone: Annotated[str, Field(description="A phone number in E.164 form, such as +15005550100.")]
    line: Annotated[str, Field(description="The phone number of the line.")]
    status: Annotated[DeliveryStatus, Field(description="The current state.")]
    parts: Annotated[tuple[str, ...], Field(description="The texts of the SMS, in order.")]
    created_at: CreatedAt
    ended_at: EndedAt

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        return cls(
            id=delivery.id,
            chat_id=delivery.chat_id,
            seq=delivery.seq,
            channel=delivery.to.channel,
            phone=delivery.to.person.address,
            line=delivery.to.line.address,
            status=delivery.status,
            parts=delivery.texts,
            created_at=delivery.created_at,
            ended_at=delivery.ended_at,
        )


class ExportedFileResource(Resource):
    """A picture or file of a message, or an uploaded one that is in no message yet."""

    id: Id
    chat_id: IdOfChat
    seq: Annotated[int | None, Field(description="The message that has the file; null for none.")]
    type: Annotated[str, Field(description="The media type.")]
    bytes: Annotated[int, Field(description="The length; 0 while it is unknown.")]
    url: Annotated[
        str | None, Field(description="A signed URL, for five minutes; null if not `ready`.")
    ]
    created_at: CreatedAt

    @classmethod
    def of(cls, exported: Any) -> Self:
        file, link = exported
        return cls(
            id=file.id,
            chat_id=file.chat_id,
            seq=file.seq,
            type=file.content_type,
            bytes=file.size,
            url=link.url if link is not None else None,
            created_at=file.created_at,
        )


class KeptResource(Resource):
    """An item that an agent stores only for this person, or made only from the person's words."""

    agent_id: IdOfAgent
    kind: Annotated[str, Field(description="The kind of item, such as `memory`, `goal` or `plan`.")]
    attributes: Annotated[dict[str, Any], Field(description="All stored attributes of the item.")]


class ExportedInvitation(Resource):
    """An invitation of the person to a chat."""

    chat_id: IdOfChat
    by: Annotated[MemberResource, Field(description="The member who invites.")]
    at: Annotated[Instant, Field(description="When the person was invited.")]
    expires_at: Annotated[Instant, Field(description="Until when the person could accept.")]

    @classmethod
    def to(cls, chat: Chat, invited: Invited) -> Self:
        by = MemberResource.of(invited.by)
        return cls(chat_id=chat.id, by=by, at=invited.at, expires_at=invited.expires_at)


class ExportedVisit(Resource):
    """The visit of a visitor of a web page."""

    widget_id: Annotated[str, Field(description="The widget of the page.")]
    consent: Annotated[
        int, Field(description="The version of the consent text that the visitor agreed to, or 0.")
    ]
    created_at: CreatedAt
    renewed_at: Annotated[Instant, Field(description="When the visit was last renewed.")]


class ExportResource(Resource):
    """A page of all data of a person. Read pages until `next_cursor` is null."""

    user: Annotated[UserDetail, Field(description="The record of the person.")]
    usage: Annotated[
        tuple[PersonUsageResource, ...],
        Field(description="Use of models and SMS by day, oldest first; on the first page only."),
    ]
    devices: Annotated[
        tuple[DeviceResource, ...],
        Field(description="The devices that get notifications; on the first page only."),
    ]
    invitations: Annotated[
        tuple[ExportedInvitation, ...],
        Field(description="The invitations that chats still name; on the first page only."),
    ]
    chats: Annotated[
        tuple[PlaceResource, ...], Field(description="The current and former chats of the person.")
    ]
    messages: Annotated[
        tuple[MessageResource, ...],
        Field(description="The person's messages and, in direct chats, the agent's answers."),
    ]
    deliveries: Annotated[
        tuple[DeliveryResource, ...], Field(description="SMS and their deliveries.")
    ]
    files: Annotated[
        tuple[ExportedFileResource, ...],
        Field(description="The person's pictures and files and, in direct chats, the agent's."),
    ]
    consents: Annotated[
        tuple[ConsentResource, ...],
        Field(description="The posts of agents' words to which the person agreed."),
    ]
    sharing_rules: Annotated[
        tuple[OwnSharingRule, ...],
        Field(description="The rules that cover the person's words; on the first page only."),
    ]
    disclosures: Annotated[
        tuple[DisclosedWords, ...],
        Field(description="Which of the person's words others were told by such rules."),
    ]
    text_consents: Annotated[
        tuple[TextConsentResource, ...],
        Field(description="Consents to texts that agents begin; on the first page only."),
    ]
    visit: Annotated[
        ExportedVisit | None,
        Field(description="The visit of a visitor, on the first page only; null for members."),
    ]
    kept: Annotated[
        tuple[KeptResource, ...], Field(description="What agents store for this person only.")
    ]
    next_cursor: Annotated[
        str | None,
        Field(description="Pass it as `cursor` to get the next page; null on the last page."),
    ]
