"""How the API shows the desk."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from skein.desk.models.canned_answer import CannedAnswerFields, ShortName
from skein.models.api.base import ChangeRequest, IdOfAgent, IdOfChat, Page, Request, Resource
from skein.models.api.chats import MemberResource
from skein.models.chats.chat import MAX_TEXT, Chat, Visibility
from skein.models.chats.desk import MAX_BRIEFING, DeskReason, DeskStatus, DraftKind, Holder
from skein.models.chats.desk_stay import DeskStay
from skein.models.common.base import EntityId, Instant
from skein.models.common.json_types import JsonBool
from skein.models.common.person_names import TeamMemberName


class NewHolder(Request):
    """A request to take a chat over."""

    model_config = ConfigDict(json_schema_extra={"example": {"holder": "me"}})

    holder: Annotated[Literal["me"], Field(description="Who takes the chat: the caller.")]
    name: Annotated[
        TeamMemberName | None,
        Field(
            description="The name that people see; omitted: the name of the caller's token. "
            "A name like that of a member gets ` (team)` behind it."
        ),
    ] = None


class Return(Request):
    """A request to hand a chat back, or to take a waiting chat off the desk."""

    briefing: Annotated[
        str,
        Field(max_length=MAX_BRIEFING, description="What the agents are to know; may be empty."),
    ] = ""
    dismiss: Annotated[
        JsonBool,
        Field(description="Whether to take a chat that waits from the desk, without a holder."),
    ] = False

    @model_validator(mode="after")
    def _without_briefing(self) -> Self:
        if self.dismiss and self.briefing:
            raise ValueError("only the holder of a chat gives a briefing")
        return self


class DraftRequest(Request):
    """A request for a draft."""

    model_config = ConfigDict(json_schema_extra={"example": {"kind": "answer"}})

    kind: Annotated[DraftKind, Field(description="What to draft.")]
    agent_id: Annotated[
        EntityId | None,
        Field(description="An agent of the chat; omitted: the one that asked, or the first."),
    ] = None


class DraftResource(Resource):
    """A draft for the holder of a chat, who edits and sends it."""

    kind: Annotated[DraftKind, Field(description="What was drafted.")]
    agent_id: IdOfAgent
    text: Annotated[str, Field(description="The text.")]
    from_seq: Annotated[int, Field(description="The first message that the model was shown.")]
    to_seq: Annotated[int, Field(description="The last message that the model was shown.")]


class NewTeamMessage(Request):
    """A new message from the team member who holds a chat."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"text": "I have sent you a new parcel.", "client_id": "1"}}
    )

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT, description="The text.")]
    client_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            description="Idempotency key of the sender: a repeated key returns the same message.",
        ),
    ]


class HolderResource(Resource):
    """A person of the team who holds a chat."""

    id: Annotated[str, Field(description="The operator, as the token's `sub`.")]
    name: Annotated[str, Field(description="The name that the people of the chat see.")]

    @classmethod
    def of(cls, source: Holder, /) -> Self:
        return cls(id=source.id, name=source.name)


class DeskResource(Resource):
    """A chat on the desk."""

    chat_id: IdOfChat
    members: Annotated[
        tuple[MemberResource, ...], Field(description="The members of the chat, without words.")
    ]
    visibility: Annotated[
        Visibility,
        Field(description="A `private` chat takes the role `privacy` and a reason."),
    ]
    state: Annotated[
        DeskStatus,
        Field(description="Agents answer while the chat is `waiting`, not while `held`."),
    ]
    since: Annotated[Instant, Field(description="When the chat was put on the desk.")]
    reason_code: Annotated[DeskReason, Field(description="What put the chat on the desk.")]
    agent_id: Annotated[
        str | None, Field(description="The agent that asked for a person; null if none did.")
    ]
    holder: Annotated[
        HolderResource | None, Field(description="Who holds the chat; null while it waits.")
    ]
    taken_at: Annotated[Instant | None, Field(description="When the holder took it.")]
    answered_at: Annotated[
        Instant | None, Field(description="When the holder first posted a message.")
    ]
    answer_seconds: Annotated[
        int | None, Field(description="Seconds from `since` to `answered_at`; null before.")
    ]
    reason: Annotated[
        str | None,
        Field(description="Why the agent asks, in its words; null for everybody but the holder."),
    ]
    summary: Annotated[
        str | None,
        Field(description="What the agent says the matter is; null for everybody but the holder."),
    ]

    @classmethod
    def shown(cls, chat: Chat, stay: DeskStay, *, to: str) -> Self:
        """Build the resource of a chat on the desk.

        Args:
            to: The operator who reads it; only the holder gets the summary.
        """
        desk = chat.desk
        holder = desk.holder if desk is not None else None
        own = holder is not None and holder.id == to
        answered = desk.answered_at if desk is not None else None
        return cls(
            chat_id=chat.id,
            members=tuple(MemberResource.of(member) for member in chat.roster),
            visibility=chat.visibility,
            state=desk.state if desk is not None else "waiting",
            since=stay.since,
            reason_code=stay.reason_code,
            agent_id=stay.agent_id,
            holder=HolderResource.of(holder) if holder is not None else None,
            taken_at=desk.taken_at if desk is not None else None,
            answered_at=answered,
            answer_seconds=int((answered - stay.since).total_seconds()) if answered else None,
            reason=stay.reason if own else None,
            summary=stay.summary if own else None,
        )


class DeskList(Page[DeskResource]):
    """The chats on the desk: those that wait first, each group oldest first."""


AnswerName = Annotated[
    ShortName, Field(description="The short name by which the team chooses the answer.")
]


class NewCannedAnswer(CannedAnswerFields, Request):
    """A new canned answer."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"name": "hours", "text": "Hello {name}, we are open from 9 to 17."}
        }
    )

    name: AnswerName


class CannedAnswerChange(CannedAnswerFields, ChangeRequest):
    """A new text for a canned answer."""


class CannedAnswerResource(CannedAnswerFields, Resource):
    """A text that the team uses at the desk."""

    name: AnswerName
    updated_at: Annotated[Instant, Field(description="When the text was last changed.")]


class CannedAnswerPage(Page[CannedAnswerResource]):
    """A page of canned answers, by name."""
