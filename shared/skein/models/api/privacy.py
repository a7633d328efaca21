"""What operators get of erasures and exports."""

from typing import Annotated, Any, Self

from pydantic import Field

from skein.models.api.base import MessageResource, Resource
from skein.models.api.directory import UserResource
from skein.models.chats.chat import Chat, ChatKind, Membership, Visibility
from skein.models.common.base import Instant
from skein.models.delivery.delivery import Delivery, DeliveryStatus
from skein.models.privacy.erasure import BACKUP_DAYS, Erasure, ErasureStage

BACKUPS = (
    f"Backups for point-in-time recovery keep copies for at most {BACKUP_DAYS} days after the end "
    "of the erasure; a table that is put back to a time before it must be erased again."
)


class SweepResource(Resource):
    """What one sweep has come upon."""

    counts: Annotated[dict[str, int], Field(description="Things that were erased, by kind.")]
    ended_at: Instant | None


class ErasureResource(Resource):
    """An erasure, at work or done; once it is done, this is its report."""

    id: str
    user_id: str
    requested_by: str
    requested_at: Instant
    stage: Annotated[
        ErasureStage, Field(description="What is being done; `resting` between two sweeps.")
    ]
    sweeps: tuple[SweepResource, ...]
    sweep_again_at: Annotated[
        Instant | None, Field(description="When the next sweep begins, if one is to come.")
    ]
    finished_at: Instant | None
    backups: Annotated[str, Field(description="How long backups keep copies.")]

    @classmethod
    def of(cls, erasure: Erasure) -> Self:
        """The resource of an erasure."""
        values = dict(erasure)
        own = {name: values[name] for name in cls.model_fields if name not in {"sweeps", "backups"}}
        sweeps = tuple(
            SweepResource.model_validate(sweep, from_attributes=True) for sweep in erasure.sweeps
        )
        return cls(sweeps=sweeps, backups=BACKUPS, **own)


class PlaceResource(Resource):
    """A chat that the person is in, or has left."""

    chat_id: str
    title: str | None
    kind: ChatKind
    visibility: Visibility
    name: Annotated[str, Field(description="As they are called there.")]
    joined_seq: Annotated[int, Field(description="The last message before they joined.")]
    left_seq: Annotated[int | None, Field(description="The last message before they left.")]
    seen_seq: int
    phone: Annotated[str | None, Field(description="Where answers go, if by text message.")]
    line: str | None

    @classmethod
    def of(cls, chat: Chat, place: Membership) -> Self:
        """The resource of a chat and a place in it.

        A private chat that was left has no title here: it may have got another one since.
        """
        knows_title = place.active or chat.visibility == "open"
        return cls(
            chat_id=chat.id,
            title=chat.title if knows_title else None,
            kind=chat.kind,
            visibility=chat.visibility,
            name=place.member.name,
            joined_seq=place.joined_seq,
            left_seq=place.left_seq,
            seen_seq=place.seen_seq,
            phone=place.sms.phone if place.sms else None,
            line=place.sms.line if place.sms else None,
        )


class DeliveryResource(Resource):
    """A text to the person."""

    id: str
    chat_id: str
    seq: Annotated[int, Field(description="The message that was delivered.")]
    phone: str
    line: str
    status: DeliveryStatus
    parts: tuple[str, ...]
    created_at: Instant
    ended_at: Instant | None

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        """The resource of a delivery."""
        return cls(
            id=delivery.id,
            chat_id=delivery.chat_id,
            seq=delivery.seq,
            phone=delivery.to.phone,
            line=delivery.to.line,
            status=delivery.status,
            parts=tuple(part.body for part in delivery.parts),
            created_at=delivery.created_at,
            ended_at=delivery.ended_at,
        )


class KeptResource(Resource):
    """Something that an agent keeps for the person alone."""

    agent_id: str
    kind: Annotated[str, Field(description="`memory`, `goal`, `plan` and the like.")]
    attributes: Annotated[dict[str, Any], Field(description="All that is on record of it.")]


class ExportResource(Resource):
    """A page of all that is on record of a person; read on until there is no cursor."""

    user: UserResource
    chats: tuple[PlaceResource, ...]
    messages: Annotated[
        tuple[MessageResource, ...],
        Field(description="Theirs and, of direct chats, the agent's answers."),
    ]
    deliveries: tuple[DeliveryResource, ...]
    kept: tuple[KeptResource, ...]
    next_cursor: str | None
