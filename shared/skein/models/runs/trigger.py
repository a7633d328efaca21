"""Triggers of runs, queued runs, and waits for replies."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from skein.models.common.base import Identifier, Instant, MemberRef, Value
from skein.models.runs.requested_call import DecidedCall
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import StoredAuthors, StoredMadeFrom
from skein.models.visibility.provenance import NO_AUTHORS, NOTHING

TriggerType = Literal["chat_message", "manual", "plan", "service"]
ResumeStatus = Literal["reply", "timeout"]


class PlanTrigger(Value):
    """The plan that triggered a run.

    Attributes:
        chat_id: The chat of the plan: the chat in which it was set, or the one that an operator
            named.
        by_operator: Whether an operator set the plan.
        authors: The digests of the people whose messages were shown to the run that set the plan.
        made_from: The messages and items from which the plan was made.
        template: The message template of the run's final message. It is used when free text may not
            be sent.
    """

    id: Annotated[Identifier, Field(description="The id, an opaque text.")]
    name: Annotated[str, Field(description="The name.")]
    instruction: Annotated[str, Field(description="What the agent does when the plan is due.")]
    scheduled_at: Annotated[
        Instant, Field(description="When the plan is due; null for another kind of plan.")
    ]
    chat_id: Identifier | None = None
    by_operator: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    authors: StoredAuthors = NO_AUTHORS
    made_from: StoredMadeFrom = NOTHING
    template: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None


class ServiceTrigger(Value):
    """The webhook service that triggered a run.

    Attributes:
        payload: The JSON of the webhook, unchanged.
        chat_id: The chat that the payload names, whose members the run reports to. The run belongs
            to this chat if the agent is a member.
        decided: The call that an operator approved or rejected, if that triggered the run instead
            of a service.
    """

    id: Annotated[Identifier, Field(description="The id, an opaque text.")]
    name: Annotated[str, Field(description="The name of the service.")]
    payload: str
    chat_id: Identifier | None = None
    decided: Annotated[DecidedCall | None, Field(exclude_if=lambda value: value is None)] = None


class Trigger(Value):
    """The trigger of a run.

    Attributes:
        type: The kind of trigger.
        seq: The message that the prompt marks: the newest message of a person, or of an agent if no
            person wrote.
        from_seq: The first message that the run answers; None if `seq` is None.
        to_seq: The last message that the run answers, if an agent wrote it after `seq`.
        by: The author of the message `seq`, or the person who requested the run.
        traced_to: The person whose message led to the agent's message or the plan. Null for a
            person's own message, and if no person's message led to the trigger.
        plan: The plan, if a plan triggered the run.
        service: The service and its payload, if a webhook triggered the run.
    """

    type: TriggerType
    seq: Annotated[
        int | None,
        Field(description="The newest message that the run answers; null without a message."),
    ] = None
    from_seq: int | None = None
    to_seq: Annotated[int | None, Field(exclude_if=lambda value: value is None)] = None
    by: MemberRef | None = None
    traced_to: Identifier | None = None
    plan: PlanTrigger | None = None
    service: ServiceTrigger | None = None

    @property
    def by_person(self) -> bool:
        """Whether a person wrote the message, or asked for the run."""
        return self.by is not None and self.by.kind == "user"

    @property
    def seqs(self) -> range:
        """The numbers of the messages that the run answers; empty if there are none."""
        if self.seq is None:
            return range(0)
        return range(self.from_seq or self.seq, (self.to_seq or self.seq) + 1)

    @property
    def user_id(self) -> str | None:
        """The person whose message led to the trigger; None if there is no such person.

        The run's tokens count against this person's limits. The run may post in a private chat
        other than its own only if this person is a member of that chat.
        """
        return self.by.id if self.by is not None and self.by_person else self.traced_to

    @property
    def names_chat(self) -> str | None:
        """The chat that a webhook or an operator's plan names; None if no chat is named."""
        if self.service is not None:
            return self.service.chat_id
        return self.plan.chat_id if self.plan is not None and self.traced_to is None else None

    def widened(self, newer: "Trigger") -> "Trigger":
        """Return this trigger, extended by a newer trigger of the same queued run.

        A message replaces a manual trigger. A manual trigger adds nothing, since the agent is
        going to answer anyway.
        """
        if newer.seq is None:
            return self
        if self.seq is None:
            return newer
        if self.by_person and not newer.by_person:
            return self.model_copy(update={"to_seq": newer.seqs[-1]})
        return newer.model_copy(update={"from_seq": self.from_seq})


class QueuedRun(Value):
    """A queued run, as the agent's membership stores it; messages extend it until it starts.

    Attributes:
        trigger: The run's trigger, which takes precedence over the trigger in the run's item.
        depth: The lowest chain depth of the messages that the run must answer.
        then: The agents that respond after this run, one after another.
        audience: The people who were present for all of the messages.
    """

    run_id: Identifier
    trigger: Trigger
    depth: int
    then: tuple[Identifier, ...] = ()
    audience: Audience = OPEN

    def widened(
        self,
        trigger: Trigger,
        *,
        depth: int,
        then: tuple[str, ...] = (),
        audience: Audience = OPEN,
    ) -> "QueuedRun":
        """Return the queued run, extended by another trigger and by more agents in `then`."""
        return self.model_copy(
            update={
                "trigger": self.trigger.widened(trigger),
                "depth": min(self.depth, depth),
                "then": tuple(sorted({*self.then, *then})) if then else self.then,
                "audience": self.audience.narrowed(audience),
            }
        )


class Burst(Value):
    """SMS of a person in quick succession, which one run answers (debounce).

    Attributes:
        until: When the answer may begin; each further SMS may move this time.
        latest: The latest time to which `until` may move.
    """

    until: Instant
    latest: Instant


class AwaitedMedia(Value):
    """Pictures and files of new messages; an answer waits for them for a short time.

    Attributes:
        until: When the answer begins without them.
        ids: The ids of the files that are still pending.
    """

    until: Instant
    ids: tuple[Identifier, ...]

    def without(self, media_id: str) -> "AwaitedMedia | None":
        """Return the pending files without `media_id`; None if no files are left."""
        left = tuple(each for each in self.ids if each != media_id)
        return self.model_copy(update={"ids": left}) if left else None


class Wait(Value):
    """The wait of a run for a reply; at most one per chat and agent.

    Attributes:
        run_id: The run that waits. Its id names the partition in which the run is stored.
        seq: The message that asks for the reply.
        until: When the run resumes without a reply.
        any_until: The time until which any text counts as the reply; None if any text counts during
            the whole wait. After this time, only a message with `reply_to` counts.
    """

    run_id: Identifier
    seq: int
    until: Instant
    any_until: Annotated[Instant | None, Field(exclude_if=lambda at: at is None)] = None

    def ended_by(self, reply_to: int | None, now: datetime) -> bool:
        """Return whether a text is the reply, rather than an ordinary message.

        Args:
            reply_to: The message that the text replies to.
        """
        return reply_to == self.seq or self.any_until is None or now < self.any_until


class Resume(Value):
    """How a wait ended.

    Attributes:
        chat_id: The chat in which the run waited.
        asked_seq: The message that asked.
        seq: The reply; None after a time-out.
    """

    status: ResumeStatus
    chat_id: Identifier
    asked_seq: int
    seq: int | None = None
