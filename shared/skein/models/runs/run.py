"""A run: one piece of work of one agent, from its trigger to its end."""

import re
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from pydantic import Field

from skein.models.common.active_item import ActiveItem
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.common.reason import Reason, RecordedReason, StoredReason, reason_attributes
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import RunJob
from skein.models.runs.completion import TokenUsage
from skein.models.runs.trigger import Resume, Trigger, Wait
from skein.models.visibility.audience import NOBODY, OPEN, Audience
from skein.models.visibility.ownership import StoredAuthors
from skein.models.visibility.provenance import MANY, NO_AUTHORS, Authors, Insiders
from skein.models.visibility.sharing_rules import BatchReader, SharingStamp

RunStatus = Literal["queued", "running", "waiting", "done", "failed", "canceled"]
PromptMark = Literal[
    "core_memories_over_budget",
    "context_unavailable",
    "context_off",
    "number_unproven",
    "answered_without_model",
    "knowledge_missing",
]
"""Notes on a run about how its prompt came about; `docs/runs.md` explains each."""

AnswerMark = Literal["answer_retried", "nudged", "unspoken_text"]
"""Notes on a run about the answers of its model; `docs/runs.md` explains each."""

CallMark = Literal["tool_outcome_unknown"]
"""Notes on a run about its calls to services; `docs/runs.md` explains each."""

RunMark = PromptMark | AnswerMark | CallMark
NEWER_MARKS: frozenset[RunMark] = frozenset({"knowledge_missing"})
"""Marks that release 0.3.0 does not know, which are stored apart."""

LIVE_RUN = SortKeyPrefix("LIVE#")  # between goals and plans, so that one query reads all three
ENDED: frozenset[RunStatus] = frozenset({"done", "failed", "canceled"})
PREVIEW_CHARACTERS = 100
RUN_ID = re.compile(r"run_[0-9A-Za-z]{1,64}_(?P<home>(chat|agt)_[0-9A-Za-z]{1,64})")


class SentMessage(Value):
    """A message that a run sent, as the prompt shows it to the agent.

    Attributes:
        audience: The people who were present both where the message was composed and where it was
            posted.
    """

    chat_id: Identifier
    seq: int
    preview: Annotated[str, Field(max_length=PREVIEW_CHARACTERS)]
    audience: Audience = NOBODY


class ShownHistory(Value):
    """The chat that the newest prompt showed, and the highest message in it."""

    chat_id: Identifier
    seq: int


class FinalMessage(Value):
    """The chat and number of a run's final message."""

    chat_id: Identifier
    seq: int


class ShownStaging(Value):
    """Borrowed context that a run's prompt contained, and the chat whose prompt showed it."""

    chat_id: Annotated[
        Identifier, Field(description="The chat whose prompt has the borrowed messages.")
    ]
    staging: Annotated[str, Field(description="The id of the staging.")]


class ToldBits(Value):
    """How many bits a run has sent, without approval, to services that may show them to anyone.

    Attributes:
        millibits: The amount over all activations of the run, in thousandths of a bit.
        step: The newest step whose calls are counted.
        positions: The counted calls of that step, so that no call is counted twice.
    """

    millibits: int = 0
    step: int = 0
    positions: tuple[int, ...] = ()

    def counts(self, step: int, position: int) -> bool:
        return step == self.step and position in self.positions

    def with_call(self, step: int, position: int, millibits: int) -> "ToldBits":
        others = self.positions if step == self.step else ()
        return ToldBits(
            millibits=self.millibits + millibits, step=step, positions=(*others, position)
        )


# The epoch of content that is bound to versions (`SharingStamp`). No sharing rules have this epoch,
# so a worker of release 0.3.0 that takes over a run with such content builds its prompt again.
BY_VERSIONS = -1


class HeldContent(Value):
    """What an activation's prompt and tool results contain. It decides where the run may post.

    Attributes:
        chat_id: The chat that the prompt showed; None if it showed none.
        readers: The people who could read that chat when the prompt was built.
        audience: The people who were present for all content of the prompt and the tool results.
        authors: The digests of the people whose messages were in the prompt and the tool results.
        outsiders: Whether one of the authors is possibly an outsider; see
            `services/visibility/insiders.py`.
        beyond_session: Whether the content includes messages from outside the current session of
            the chat `chat_id`. A group has only one session.
        borrowed: The borrowed context in the prompt.
        sharing_epoch: Set if a sharing rule brought other people's words into the prompt or a tool
            result: `BY_VERSIONS`, or the epoch of the rules if a worker of release 0.3.0 set it.
    """

    chat_id: Identifier | None = None
    readers: Audience
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    outsiders: Annotated[bool, Field(exclude_if=lambda held: not held)] = False
    beyond_session: Annotated[bool, Field(exclude_if=lambda beyond: not beyond)] = False
    borrowed: ShownStaging | None = None
    sharing_epoch: Annotated[int | None, Field(exclude_if=lambda epoch: epoch is None)] = None

    @property
    def with_rule_words(self) -> "HeldContent":
        """The content after a sharing rule has brought other people's words into a tool result."""
        return self.model_copy(
            update={"sharing_epoch": BY_VERSIONS, "authors": self.authors.of_rule_words}
        )

    @property
    def without_stamp(self) -> "HeldContent":
        """The content without its sharing epoch, for a run that begins to wait.

        The next activation sets a new epoch.
        """
        return self.model_copy(update={"sharing_epoch": None})

    def with_shown(self, audience: Audience, authors: Authors, insiders: Insiders) -> "HeldContent":
        """Return the content, extended by what a tool has shown.

        Args:
            audience: The people who were present for everything that the tool has shown.
            authors: The people whose words the tool has shown, as digests.
            insiders: The insiders of the run.
        """
        return self.model_copy(
            update={
                "audience": self.audience.narrowed(audience),
                "authors": self.authors.joined(authors),
                "outsiders": self.outsiders or not insiders.wrote(authors),
                "beyond_session": True,
            }
        )


class RunPosting(TypedDict):
    """The fields that a message takes over from its run; see `Message` and `NewMessage`."""

    depth: int
    run_id: str
    authors: Authors
    sharing_stamp: SharingStamp | None
    traced_to: str | None
    while_active: ActiveItem | None


class RunChanges(TypedDict, total=False):
    """The fields of a run that its worker changes."""

    status: RunStatus
    trigger: Trigger
    audience: Audience
    chain_depth: int
    then: tuple[Identifier, ...]
    fence: int
    attempts: int
    deferrals: int
    joined_at: Instant | None
    steps_taken: int
    model: str | None
    agent_version: int | None
    activation: int
    active_chat_id: Identifier | None
    active_thread_id: Identifier | None
    shown: ShownHistory | None
    held: HeldContent | None
    sharing: SharingStamp | None
    told: ToldBits | None
    rebuilds: int
    borrowed: tuple[ShownStaging, ...]
    wait: Wait | None
    wait_chat_id: Identifier | None
    waited_in: tuple[Identifier, ...]
    waits: int
    resumed: Resume | None
    sent: tuple[SentMessage, ...]
    tools: tuple[str, ...]
    marks: tuple[RunMark, ...]
    newer_marks: tuple[RunMark, ...]
    lease_until: Instant | None
    usage: TokenUsage
    final_message: FinalMessage | None
    reasons: tuple[RecordedReason, ...]
    started_at: Instant | None


class Run(Stored):
    """One piece of work of one agent.

    Attributes:
        audience: The audience of the trigger, which decides in which chats the run may be shown.
        scope: The scope of the run's plan; the run makes items in this scope if its prompt shows no
            chat. See `owned_partition`.
        for_chat_id: For a run of a plan or a webhook service, the chat that it belongs to. Such a
            run is stored in its agent's partition, and can work beside the agent's other runs in
            the chat.
        started_by: The item, such as an outreach, that must be active for the run to write to
            people; None if there is no such item.
        chain_depth: The number of agents' messages between the run and a person.
        then: The agents that respond after this run, one after another.
        fence: The fencing token: each claim raises it, and writes of an older claim fail.
        attempts: The number of claims that began work. The run fails after three failed attempts.
        deferrals: How often the run was deferred because the model was down; deferrals are not
            attempts.
        joined_at: When the run, before its first prompt, last took over the messages of a queued
            run. The time limit for deferrals starts again then.
        unpaused_at: When the run's newest pause or wait for a reply ended.
        lease_until: The end of the lease of the worker that claimed the run.
        steps_taken: The number of model answers recorded so far, over all activations.
        model: The model of the newest answer; None before the first answer, and if no model was
            asked.
        agent_version: The version of the agent with which the newest prompt was built.
        activation: The number of activations so far: starts and resumes, each with a prompt of its
            own.
        active_chat_id: The chat in which the run works: the run's own chat until the agent enters
            another chat.
        active_thread_id: The thread that the newest prompt showed as active, or that the run has
            switched to since. The run keeps this thread when other runs switch.
        shown: The chat that the newest prompt showed and the highest message in it, for the SEEN
            watermark and for a worker that takes over; None if the prompt showed no chat.
        held: What the prompt and tool results of the newest activation contain; None until the
            activation's first answer is recorded.
        sharing: While the run works, the stamp of the content that it got through sharing rules;
            see `sharing_stamp`.
        told: How much information the run has sent without approval to services that may show it to
            anyone; None if it has sent nothing.
        rebuilds: How often an activation was replaced by a new one because its readers or the
            sharing rules changed.
        borrowed: The borrowed context that the run's prompts showed. It is deleted when the run is
            done.
        wait: The current wait for a reply, if any.
        wait_chat_id: The chat in which the run waits.
        waited_in: The chats in which the run has waited, each once.
        waits: How often the run has waited.
        resumed: How the newest wait ended.
        sent: The newest messages that the run sent.
        tools: The names of the tools that the run used, in order of first use.
        marks: Notes on the run's prompts and answers, e.g. that a section was left out; see
            `all_marks`.
        newer_marks: The notes on the run that are in `NEWER_MARKS`. They are stored in an attribute
            of their own.
        final_message: The message that ended the run; None if it ended without one.
        reason: Why there is no answer, or no answer yet. None if the run has answered, or if
            nothing delays it.
        reasons: The newest reasons of the run, including past ones, oldest first.
        merged_into: If this run was merged, the run that answers its messages.
        error: Why the run failed or was canceled, for the operator; never a person's words.
        correlation_id: The id of the request that started the run, for the logs; None for a plan's
            run.
        expires_at: When the run expires, in seconds since 1970, if its tenant limits retention; set
            once the run has ended.
    """

    PREFIX: ClassVar = SortKeyPrefix("RUN#")

    tenant: Tenant
    id: Identifier
    agent_id: Identifier
    chat_id: Identifier | None = None
    status: RunStatus = "queued"
    trigger: Trigger
    audience: Audience = OPEN
    scope: str | None = None
    for_chat_id: Identifier | None = None
    started_by: Annotated[ActiveItem | None, Field(exclude_if=lambda item: item is None)] = None
    chain_depth: int = 0
    then: tuple[Identifier, ...] = ()
    fence: int = 0
    attempts: int = 0
    deferrals: int = 0
    joined_at: Instant | None = None
    unpaused_at: Instant | None = None
    steps_taken: int = 0
    model: Annotated[str | None, Field(exclude_if=lambda model: model is None)] = None
    agent_version: Annotated[int | None, Field(exclude_if=lambda version: version is None)] = None
    activation: int = 0
    active_chat_id: Identifier | None = None
    active_thread_id: Identifier | None = None
    shown: ShownHistory | None = None
    held: HeldContent | None = None
    sharing: Annotated[SharingStamp | None, Field(exclude_if=lambda stamp: stamp is None)] = None
    told: Annotated[ToldBits | None, Field(exclude_if=lambda told: told is None)] = None
    rebuilds: Annotated[int, Field(exclude_if=lambda times: not times)] = 0
    borrowed: Annotated[tuple[ShownStaging, ...], Field(exclude_if=lambda held: not held)] = ()
    wait: Wait | None = None
    wait_chat_id: Identifier | None = None
    waited_in: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    waits: int = 0
    resumed: Resume | None = None
    sent: tuple[SentMessage, ...] = ()
    tools: tuple[str, ...] = ()
    marks: Annotated[tuple[RunMark, ...], Field(exclude_if=lambda marks: not marks)] = ()
    newer_marks: Annotated[tuple[RunMark, ...], Field(exclude_if=lambda marks: not marks)] = ()
    lease_until: Instant | None = None
    usage: TokenUsage = TokenUsage()
    final_message: FinalMessage | None = None
    reason: StoredReason | None = None
    reasons: Annotated[
        tuple[RecordedReason, ...], Field(exclude_if=lambda reasons: not reasons)
    ] = ()
    merged_into: Identifier | None = None
    error: str | None = None
    correlation_id: str | None = None
    expires_at: int | None = None
    created_at: Instant
    started_at: Instant | None = None
    ended_at: Instant | None = None

    @staticmethod
    def home_of(run_id: str) -> str:
        """Return the id of the chat or agent whose partition holds a run.

        Raises:
            ValueError: The text is not the id of a run.
        """
        match = RUN_ID.fullmatch(run_id)
        if match is None:
            raise ValueError("not a run id")
        return match["home"]

    @staticmethod
    def lives_in(run_id: str, chat_id: str) -> bool:
        """Return whether the run is stored in this chat's partition.

        Other chats must not be shown the run's id: it contains the id of its chat, which may be
        private.
        """
        match = RUN_ID.fullmatch(run_id)
        return match is not None and match["home"] == chat_id

    @staticmethod
    def key_of(tenant: str, run_id: str) -> "Key[Run]":
        """Return the key of a run.

        Raises:
            ValueError: The text is not the id of a run.
        """
        home = Run.home_of(run_id)
        kind = "CHAT" if home.startswith("chat_") else "AGENT"
        return Key(f"{key_part(tenant)}#{kind}#{home}", f"{Run.PREFIX}{run_id.split('_')[1]}")

    @property
    def all_marks(self) -> tuple[RunMark, ...]:
        """All notes on the run's prompts and answers."""
        return (*self.marks, *self.newer_marks)

    @property
    def key(self) -> "Key[Run]":
        return self.key_of(self.tenant, self.id)

    @property
    def private(self) -> bool:
        """Whether the run's trigger or any content of its newest prompt is private."""
        return not (self.audience.open and (self.held is None or self.held.audience.open))

    @property
    def job(self) -> RunJob:
        """The job that brings a worker to this run."""
        return RunJob(
            tenant=self.tenant,
            run_id=self.id,
            agent_id=self.agent_id,
            user_id=self.trigger.user_id,
        )

    @property
    def words(self) -> Authors:
        """The people whose messages the newest activation was shown; `MANY` if that is unknown."""
        return self.held.authors if self.held is not None else MANY

    @property
    def sharing_stamp(self) -> SharingStamp | None:
        """The stamp of content that the newest activation got through sharing rules, if any."""
        told = self.held is not None and self.held.sharing_epoch == BY_VERSIONS
        return self.sharing if told else None

    def tells_shared(self, table: BatchReader, now: datetime) -> bool:
        """Return whether all content that sharing rules disclosed to the run may still be shared.

        The result is False for content that a worker of release 0.3.0 received, because that
        content has no versions.
        """
        if self.held is None or self.held.sharing_epoch is None:
            return True
        stamp = self.sharing_stamp
        return stamp is not None and stamp.holds(table, self.tenant, now)

    @property
    def posting(self) -> RunPosting:
        """The fields that each message of the run takes over from the run."""
        return RunPosting(
            depth=self.chain_depth + 1,
            run_id=self.id,
            authors=self.words,
            sharing_stamp=self.sharing_stamp,
            traced_to=self.trigger.user_id,
            while_active=self.while_active,
        )

    @property
    def while_active(self) -> ActiveItem | None:
        """The item that must be active when the run writes to people; None once someone replied."""
        replied = self.resumed is not None and self.resumed.seq is not None
        return None if replied else self.started_by

    @property
    def own_chat_id(self) -> str | None:
        """The run's chat, even if the run has no slot in it; None if the run has no chat."""
        return self.chat_id or self.for_chat_id

    def leaves_messages(self, chat_id: str) -> bool:
        """Return whether the chat's new messages are answered by other runs of the agent.

        True for the run of a plan or a webhook service in its own chat, because it holds no slot:
        each new message starts another run. False after a wait in this chat has ended, because the
        resumed run answers the reply.
        """
        resumed_here = self.resumed is not None and self.resumed.chat_id == chat_id
        return chat_id == self.for_chat_id and not resumed_here

    @property
    def followed_by(self) -> str:
        """The id in the log lines about this run: its correlation id, or else the run's own id."""
        return self.correlation_id or self.id

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def recording(self, reason: Reason, now: datetime) -> dict[str, Any]:
        """Return the attributes that record a reason on this run, to be added to another write."""
        return reason_attributes(reason, now, self.reasons)

    @property
    def counted_from(self) -> datetime:
        """The time from which waits are counted: the creation, or the end of a pause or a wait."""
        return max(self.created_at, self.unpaused_at or self.created_at)

    def due(self, at: datetime) -> dict[str, Any]:
        """Return the due pointer with which the tick finds this run at `at`."""
        return due_pointer("run", self.key, at)

    def due_while_paused(self) -> dict[str, Any]:
        """Return the due pointer during a pause; paused runs are sorted by creation time."""
        return due_pointer("paused_run", self.key, self.created_at) | {"due_tries": None}

    def to_item(self, due_at: datetime) -> Item:
        """Return the run as table attributes, with due pointer and index keys."""
        return (
            self.attributes()
            | self.due(due_at)
            | {
                "gsi1pk": runs_relation(self.tenant, self.agent_id, self.created_at),
                "gsi1sk": f"{self.attributes()['created_at']}#{self.id}",
            }
        )


def runs_relation(tenant: str, agent_id: str, day: date) -> str:
    """Return the `gsi1` partition key of an agent's runs of one day (UTC)."""
    return f"{key_part(tenant)}#RUNS#{key_part(agent_id)}#{day:%Y-%m-%d}"


def replays_of(tenant: str, run_id: str) -> Key:
    """Return a run's partition, and the sort key prefix of the run's stored replays.

    A replay is a later answer to the prompt of the run. An erasure of the run's steps must also
    delete the run's replays.
    """
    run = Run.key_of(tenant, run_id)
    return Key(run.pk, f"REPLAY#{run.sk.removeprefix(Run.PREFIX)}#")


def live_key(run: Run) -> Key:
    """Return the key of the pointer to a live run that belongs to no chat.

    The pointer is stored with the agent's goals and plans. Live runs in chats are found through
    the agent's memberships instead.
    """
    return Key(run.key.pk, f"{LIVE_RUN}{run.key.sk}")


def run_id_in(home_id: str, ulid: str) -> str:
    """Return a run's id: a ULID and the id of its chat or agent (`Run.home_of`)."""
    return f"run_{ulid}_{home_id}"
