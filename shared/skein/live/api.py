"""Requests, resources and frames of the live channel."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field

from skein.live.models.device import Device
from skein.models.api.base import EXAMPLE_TIME, Id, Page, Request, Resource
from skein.models.api.chats import ChatResource, MemberResource, MessageResource
from skein.models.common.base import EntityId, Instant
from skein.models.common.reason import Reason
from skein.models.delivery.notification import Platform
from skein.models.runs.run import RunStatus

LiveRunStatus = Literal["working", "waiting", "done", "failed"]
PublicReason = Literal["delayed", "silent", "canceled", "filtered", "error"]
"""Why an agent gives no answer, or not yet, for every member of a chat.

`delayed`: the answer comes later. `silent`: the agent chose to say nothing. `canceled`: the run was
ended before it answered. `filtered`: a content filter stopped the answer. `error`: all else.
"""

ClosingCode = Literal[
    "bad_frame",
    "frame_too_large",
    "too_many_frames",
    "expired",
    "too_many_connections",
    "access_ended",
]
"""Why the server closes a connection."""

MAX_FRAME_BYTES = 32 * 1024  # API Gateway's limit
MAX_CLIENT_FRAME_BYTES = 4 * 1024

STATUSES: dict[RunStatus, LiveRunStatus] = {
    "queued": "working",
    "running": "working",
    "waiting": "waiting",
    "done": "done",
    "failed": "failed",
    "canceled": "failed",
}
DELAYED = frozenset(
    {
        Reason.MODEL_UNAVAILABLE,
        Reason.MODEL_KEY_REFUSED,
        Reason.MODEL_UNKNOWN,
        Reason.CONCURRENCY_LIMIT,
        Reason.ATTEMPT_FAILED,
    }
)
SILENT = frozenset(
    {
        Reason.CHOSE_SILENCE,
        Reason.ENDED_BY_AGENT,
        Reason.TOOLS_MODE_TEXT,
        Reason.NO_CHAT,
        Reason.ANSWERED_ELSEWHERE,
    }
)
UNSPOKEN = frozenset({Reason.UNSPOKEN_TEXT, Reason.STEPS_USED_UP})  # an answer was expected
FILTERED = frozenset({Reason.ANSWER_FILTERED, Reason.GUARDRAIL_BLOCKED})


class TicketResource(Resource):
    """A ticket for one connection to the live channel."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "url": "wss://live.example/v1",
                "ticket": "tkt_01M8052A0RRXM7989ADR524XMF",
                "expires_at": EXAMPLE_TIME,
            }
        }
    )

    url: Annotated[str, Field(description="Connect to this URL, with the query `ticket`.")]
    ticket: Annotated[str, Field(description="A secret that opens one connection.")]
    expires_at: Annotated[Instant, Field(description="Connect before this time.")]


class NewDevice(Request):
    """A device on which the app shows notifications."""

    token: Annotated[
        str,
        Field(
            min_length=16,
            max_length=1024,
            pattern=r"^[A-Za-z0-9_:.=-]+$",
            description="What the platform gave the app: for `apns` the device token in "
            "hexadecimal digits, for `fcm` the registration token.",
        ),
    ]
    platform: Annotated[
        Platform, Field(description="Apple's push service (`apns`), or Google's (`fcm`).")
    ]


class DeviceResource(Resource):
    """A device that gets the caller's notifications; the token is not shown."""

    id: Id
    platform: Annotated[Platform, Field(description="Whose push service reaches the device.")]
    registered_at: Annotated[Instant, Field(description="When the app registered the device last.")]

    @classmethod
    def of(cls, device: Device) -> Self:
        return cls(id=device.id, platform=device.platform, registered_at=device.registered_at)


class DevicePage(Page[DeviceResource]):
    """All devices of the caller, ordered by when they were last registered, newest last."""


class MessageFrame(Resource):
    """A new message, or one that was deleted, erased or answered (`changed`)."""

    type: Literal["message", "changed"]
    chat_id: str
    message: MessageResource


class RunAgent(Resource):
    """The agent of a run."""

    id: str
    name: str


class RunFrame(Resource):
    """The state of a run of this chat has changed: its agent works, waits or has finished."""

    type: Literal["run"] = "run"
    chat_id: str
    agent: RunAgent
    status: LiveRunStatus
    reason: Annotated[
        PublicReason | None, Field(description="Null if the run answers or has answered.")
    ] = None


class DeltaFrame(Resource):
    """Words that an agent is writing; its message replaces them."""

    type: Literal["delta"] = "delta"
    chat_id: str
    agent: RunAgent
    n: Annotated[int, Field(description="The number of this frame in the answer, from 1.")]
    text: Annotated[str, Field(description="The next words of the answer.")]


class RetractFrame(Resource):
    """The words of an agent's earlier `delta` frames are withdrawn: remove them from the screen."""

    type: Literal["retract"] = "retract"
    chat_id: str
    agent: RunAgent


class ReadFrame(Resource):
    """A member has read the chat up to a message."""

    type: Literal["read"] = "read"
    chat_id: str
    member: MemberResource
    seq: int


class TypingFrame(Resource):
    """A member is typing; the frame is void after 5 seconds."""

    type: Literal["typing"] = "typing"
    chat_id: str
    member: MemberResource


class ChatFrame(Resource):
    """A chat is new to the person, or its title, members or settings have changed."""

    type: Literal["chat"] = "chat"
    chat_id: str
    chat: ChatResource


class RemovedFrame(Resource):
    """The person has left the chat or was removed; no more frames about the chat follow."""

    type: Literal["removed"] = "removed"
    chat_id: str


class InvitationFrame(Resource):
    """The person was invited to the chat, or an invitation ended: read their open choices."""

    type: Literal["invitation"] = "invitation"
    chat_id: str


class ResyncFrame(Resource):
    """Frames may be missing: read the chat's messages again (`?after=`)."""

    type: Literal["resync"] = "resync"
    chat_id: str


class PongFrame(Resource):
    """The answer to a client's `ping`."""

    type: Literal["pong"] = "pong"


class ClosingFrame(Resource):
    """The last frame of a connection, with the reason why the server closes it."""

    type: Literal["closing"] = "closing"
    code: ClosingCode


Frame = (
    MessageFrame
    | RunFrame
    | DeltaFrame
    | RetractFrame
    | ReadFrame
    | TypingFrame
    | ChatFrame
    | RemovedFrame
    | InvitationFrame
    | ResyncFrame
    | PongFrame
    | ClosingFrame
)
"""A frame from the server."""


class Ping(Request):
    """A client's request for a `pong`."""

    type: Literal["ping"]


class Typing(Request):
    """Tells that the person is typing in a chat."""

    type: Literal["typing"]
    chat_id: EntityId


class Showing(Request):
    """Tells which chat the client shows to the person now; null for no chat."""

    type: Literal["showing"]
    chat_id: EntityId | None


ClientFrame = Annotated[Ping | Typing | Showing, Field(discriminator="type")]
"""A frame from a client."""


def public_reason(status: RunStatus, reason: Reason | None) -> PublicReason | None:
    """Return the reason for a run's status, in a form that all members of its chat may know.

    The returned reason does not reveal anything about other people, other chats or limits.

    Args:
        reason: The recorded reason; None if the run answers or has answered.
    """
    if reason in FILTERED:
        return "filtered"
    if status in {"queued", "running", "waiting"}:
        return "delayed" if reason in DELAYED else None
    if status == "canceled":
        return "canceled"
    if status == "done":
        return "silent" if reason in SILENT else "error" if reason in UNSPOKEN else None
    return "error"
