"""Jobs: the versioned messages of the queues, which only name the item to process."""

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from skein.models.common.base import E164, Identifier, MemberRef, Tenant, Value

QueueName = Literal["turns", "deliveries", "upkeep", "media", "events", "background", "pushes"]


MAX_LIVE_EVENTS = 25  # changes in one job; more changes of a chat become one `resync`
MAX_DELAY_SECONDS = 900  # the longest delay of an SQS message


class Job(Value):
    """A message that names an item; the state of the item decides the work.

    Jobs in one queue are of different kinds; the field `kind` names the kind.

    Attributes:
        hops: How many jobs, one after another, led to this one; 0 if no job did.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")  # fields of a newer release

    queue: ClassVar[QueueName]

    v: Literal[1] = 1
    hops: Annotated[int, Field(ge=0)] = 0
    tenant: Tenant


class RunJob(Job):
    """A run may have to be started, resumed or continued.

    Attributes:
        user_id: The person whose message led to the run, if known. The person's records are read
            together with the run.
    """

    queue = "turns"

    kind: Literal["run"] = "run"
    run_id: Identifier
    agent_id: Identifier
    user_id: Identifier | None = None


class ConsentJob(Job):
    """A text that a person has agreed to may have to be posted."""

    queue = "turns"

    kind: Literal["consent"] = "consent"
    user_id: Identifier
    consent_id: Identifier


class ForgettingJob(Job):
    """Messages that a person wants to be forgotten may have to be found or deleted.

    Attributes:
        forgetting_id: The id of the deletion, or of the request that precedes the deletion.
    """

    queue = "background"

    kind: Literal["forgetting"] = "forgetting"
    user_id: Identifier
    forgetting_id: Identifier


class InvitationJob(Job):
    """A person may have to be asked about invitations, by SMS."""

    queue = "turns"

    kind: Literal["invitation"] = "invitation"
    user_id: Identifier


class ErrandJob(Job):
    """A person may have to be asked for an errand, or the errand's result may have to be posted."""

    queue = "turns"

    kind: Literal["errand"] = "errand"
    agent_id: Identifier
    scope: str | None = None
    errand_id: Identifier


class MeetingJob(Job):
    """A time for a meeting may have to be proposed, confirmed or announced."""

    queue = "turns"

    kind: Literal["meeting"] = "meeting"
    agent_id: Identifier
    scope: str | None = None
    meeting_id: Identifier


class DeskJob(Job):
    """A chat on the desk may have to be handed back, or its people may have to be notified."""

    queue = "turns"

    kind: Literal["desk"] = "desk"
    chat_id: Identifier
    stay_id: Identifier


class OutreachJob(Job):
    """A person of an outreach may have to be contacted.

    Attributes:
        user_id: The person; None if the people have no items yet.
    """

    queue = "turns"

    kind: Literal["outreach"] = "outreach"
    outreach_id: Identifier
    user_id: Annotated[Identifier | None, Field(exclude_if=lambda user: user is None)] = None


class DeliveryJob(Job):
    """SMS of a delivery may have to be sent, or their outcome may have to be checked."""

    queue = "deliveries"

    kind: Literal["delivery"] = "delivery"
    chat_id: Identifier
    delivery_id: Identifier


class NumberCodeJob(Job):
    """A code may have to be made and sent to a phone number."""

    queue = "deliveries"

    kind: Literal["number_code"] = "number_code"
    user_id: Identifier
    phone: E164
    code_id: Identifier


class UpkeepJob(Job):
    """A chat's derived records may be out of date."""

    queue = "upkeep"

    kind: Literal["upkeep"] = "upkeep"
    chat_id: Identifier


class MediaJob(Job):
    """A picture or file may have to be fetched, checked or deleted."""

    queue = "media"  # an earlier release put these jobs in "upkeep"

    kind: Literal["media"] = "media"
    chat_id: Identifier
    media_id: Identifier


class SummaryJob(Job):
    """A summary may be out of date: an agent summary, or the chat summary if `agent_id` is None.

    Attributes:
        wanted_in: The other chat whose prompt will show the agent summary; None if the job follows
            from a change of the summarized chat.
        title: Whether the chat needs a title instead of a summary.
    """

    queue = "upkeep"

    kind: Literal["summary"] = "summary"
    chat_id: Identifier
    agent_id: Identifier | None = None
    wanted_in: Annotated[Identifier | None, Field(exclude_if=lambda chat: chat is None)] = None
    title: Annotated[bool, Field(exclude_if=lambda title: not title)] = False


class SourceJob(Job):
    """A source of knowledge may have to be read, or its files may have to be deleted."""

    queue = "upkeep"

    kind: Literal["source"] = "source"
    source_id: Identifier


class VisitJob(Job):
    """A visitor of a web page may have to be erased."""

    queue = "background"

    kind: Literal["visit"] = "visit"
    visitor_id: Identifier


class EventJob(Job):
    """Events may have to be sent to an endpoint.

    Attributes:
        lane: The subject of the events, e.g. a chat.
    """

    queue = "events"

    kind: Literal["event"] = "event"
    endpoint_id: Identifier
    lane: Identifier


class ConsolidationJob(Job):
    """A chat may be due for consolidation: it is quiet, or an operator asks."""

    queue = "background"

    kind: Literal["consolidation"] = "consolidation"
    chat_id: Identifier


class ReflectionJob(Job):
    """Journal entries of an agent in one scope are about to fade (`Memory.faded`)."""

    queue = "background"

    kind: Literal["reflection"] = "reflection"
    agent_id: Identifier
    scope: str | None = None


class TrialJob(Job):
    """A case of a trial may have to be played."""

    queue = "background"

    kind: Literal["trial"] = "trial"
    agent_id: Identifier
    trial_id: Identifier


LiveEventType = Literal[
    "message", "changed", "run", "read", "typing", "chat", "left", "invitation", "resync"
]


class LiveEvent(Value):
    """A change that may be sent to the people of a chat over the live channel.

    Attributes:
        type: The kind of change. `message` is a new message, `changed` a changed message, and `run`
            a new status of a run. `read`, `typing` and `left` report what a member does. `chat`
            is a change of the chat itself, and `invitation` the start or end of an invitation.
            `resync` means that too much has changed to list it.
        seq: The message that is new or changed.
        member: The member who has read, is typing or has left, or the invited person.
    """

    type: LiveEventType
    seq: Annotated[int, Field(ge=1)] | None = None
    run_id: Identifier | None = None
    member: MemberRef | None = None


class PushJob(Job):
    """People on the live channel may have to be notified about changes of a chat."""

    queue = "pushes"

    kind: Literal["push"] = "push"
    chat_id: Identifier
    events: Annotated[tuple[LiveEvent, ...], Field(min_length=1, max_length=MAX_LIVE_EVENTS)]


class ErasureJob(Job):
    """An erasure may have more work to do."""

    queue = "background"

    kind: Literal["erasure"] = "erasure"
    erasure_id: Identifier


class RecallJob(Job):
    """Messages of a chat may be missing from the recall index, or may no longer belong in it.

    Without a chat, all chats of the agent or the tenant must be indexed again.

    Attributes:
        chat_id: The chat; None for all chats.
        first_seq: The first message to process.
        last_seq: The last message to process; None for the newest.
        agent_id: The agent whose index to update; None for all agents.
        after: Where to continue in a list of chats; None for its start.
    """

    queue = "upkeep"

    kind: Literal["recall"] = "recall"
    chat_id: Identifier | None = None
    first_seq: int = 1
    last_seq: int | None = None
    agent_id: Identifier | None = None
    after: str | None = None
