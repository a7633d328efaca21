"""A run: one piece of work of one agent, from its trigger to its end."""

import re
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from skein.models.audience import NOBODY, OPEN, Audience
from skein.models.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.completion import TokenUsage
from skein.models.due import due_mark
from skein.models.jobs import RunJob
from skein.models.storage import Item, Key, SortKeyPrefix
from skein.models.trigger import Resume, Trigger, Wait

RunStatus = Literal["queued", "running", "waiting", "done", "failed", "canceled"]
PromptMark = Literal[
    "core_memories_over_budget", "context_unavailable", "context_off", "answered_without_model"
]
"""What may be noted of a prompt; `docs/runs.md` says what each means."""

LIVE_RUN = SortKeyPrefix("LIVE#")  # between goals and plans, so that their query comes to it
ENDED: frozenset[RunStatus] = frozenset({"done", "failed", "canceled"})
MAX_STEPS = 20
MAX_WAITS = 10
PREVIEW_CHARACTERS = 100
RUN_ID = re.compile(r"run_[0-9A-Za-z]{1,64}_(?P<home>(chat|agt)_[0-9A-Za-z]{1,64})")


class SentMessage(Value):
    """A message that a run sent, as its own agent is reminded of it.

    Attributes:
        audience: Who was there both where it was made up and where it was said.
    """

    chat_id: Identifier
    seq: int
    preview: Annotated[str, Field(max_length=PREVIEW_CHARACTERS)]
    audience: Audience = NOBODY


class Shown(Value):
    """Up to which message of which chat the newest prompt showed."""

    chat_id: Identifier
    seq: int


class ShownStaging(Value):
    """Borrowed context that a prompt of a run held, and the chat it was staged in."""

    chat_id: Identifier
    staging: str


class Held(Value):
    """What an activation holds, by which it is decided where it may post.

    Attributes:
        chat_id: The chat that its prompt showed; None for none.
        readers: Who could read that chat when the prompt was built.
        audience: Who was present for all that the prompt and the tool results held.
        alone: One person alone was present for everything private in it.
        borrowed: The borrowed context that the prompt held.
    """

    chat_id: Identifier | None = None
    readers: Audience
    audience: Audience
    alone: bool = False
    borrowed: ShownStaging | None = None

    def with_shown(self, audience: Audience, *, by_others: bool = False) -> "Held":
        """Return this after a tool has shown more content.

        Args:
            audience: Who was present for all of that content.
            by_others: Someone wrote some of it who is not there any more.
        """
        narrowed = self.audience.narrowed(audience)
        alone = self.alone and not by_others and (audience.open or audience == self.readers)
        return self.model_copy(update={"audience": narrowed, "alone": alone})


class Run(Stored):
    """One piece of work of one agent.

    Attributes:
        audience: Of its trigger, by which it is decided where the run may be shown.
        scope: Which of the agent's partitions holds what the run makes while it looks at no chat:
            that of its plan; see `owned_partition`.
        fence: Raised by every claim; a worker's writes hold only while it is the worker's own.
        attempts: Claims that began work; three failed ones end the run.
        put_offs: How often the run was put off because the model was down; no attempts.
        joined_at: When it took in what had come while it was put off, and last began to wait.
        lease_until: Until when the claiming worker is believed alive.
        steps_taken: Model answers recorded so far, over all activations.
        activation: How often it was started or resumed; a prompt each.
        active_chat_id: The chat that the agent is looking at; its own, until it enters another.
        active_thread_id: The thread that the newest prompt showed as the active one, or to which
            the run has switched since; the run goes on with it, wherever others switch.
        shown: The chat that the newest prompt looked at and what it held of it, for the SEEN
            mark and for a worker that takes over; None if it looked at no chat.
        held: What the newest activation holds; None until its first answer is recorded.
        rebuilds: How often an activation was dropped because someone joined its chat.
        borrowed: What its prompts held of borrowed context, which is cleared once it is done.
        wait: While it waits: for what, and where (`wait_chat_id`).
        waits: How often it has waited.
        resumed: How the newest wait ended.
        sent: The newest messages that it sent.
        tools: The names of the tools that it used, in order of first use.
        marks: What was noted of any of its prompts, e.g. that something was left out.
        error: Why it failed or was canceled, for the operator; never what anybody wrote.
        correlation_id: Of the request that started it, for the logs; None for a plan's run.
        expires_at: When it goes, in seconds since 1970, where its tenant keeps runs for a time; set
            once it has ended.
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
    chain_depth: int = 0
    then: tuple[Identifier, ...] = ()
    fence: int = 0
    attempts: int = 0
    put_offs: int = 0
    joined_at: Instant | None = None
    steps_taken: int = 0
    activation: int = 0
    active_chat_id: Identifier | None = None
    active_thread_id: Identifier | None = None
    shown: Shown | None = None
    held: Held | None = None
    rebuilds: Annotated[int, Field(exclude_if=lambda times: not times)] = 0
    borrowed: Annotated[tuple[ShownStaging, ...], Field(exclude_if=lambda held: not held)] = ()
    wait: Wait | None = None
    wait_chat_id: Identifier | None = None
    waits: int = 0
    resumed: Resume | None = None
    sent: tuple[SentMessage, ...] = ()
    tools: tuple[str, ...] = ()
    marks: Annotated[tuple[PromptMark, ...], Field(exclude_if=lambda marks: not marks)] = ()
    lease_until: Instant | None = None
    usage: TokenUsage = TokenUsage()
    error: str | None = None
    correlation_id: str | None = None
    expires_at: int | None = None
    created_at: Instant
    started_at: Instant | None = None
    ended_at: Instant | None = None

    @staticmethod
    def home_of(run_id: str) -> str:
        """The id of the chat or agent whose partition the run lives in; the run's id says it.

        Raises:
            ValueError: This is no run's id.
        """
        match = RUN_ID.fullmatch(run_id)
        if match is None:
            raise ValueError("not the id of a run")
        return match["home"]

    @staticmethod
    def lives_in(run_id: str, chat_id: str) -> bool:
        """Tell whether a run's home is this chat.

        The id of any other run may hold the id of a private chat.
        """
        match = RUN_ID.fullmatch(run_id)
        return match is not None and match["home"] == chat_id

    @staticmethod
    def key_of(tenant: str, run_id: str) -> Key:
        """The key of a run.

        Raises:
            ValueError: This is no run's id.
        """
        home = Run.home_of(run_id)
        kind = "CHAT" if home.startswith("chat_") else "AGENT"
        return Key(f"{key_part(tenant)}#{kind}#{home}", f"{Run.PREFIX}{run_id.split('_')[1]}")

    @property
    def key(self) -> Key:
        """This run's key."""
        return self.key_of(self.tenant, self.id)

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
    def followed_by(self) -> str:
        """The correlation id of what is done in it; its own id, if no request started it."""
        return self.correlation_id or self.id

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in ENDED

    def due(self, at: datetime) -> dict[str, Any]:
        """The mark that brings the tick to this run at `at`."""
        return due_mark("run", self.key, at)

    def to_item(self, due_at: datetime) -> Item:
        """The run as table attributes: its own outbox entry, and listed by agent and day."""
        return (
            self.attributes()
            | self.due(due_at)
            | {
                "gsi1pk": runs_relation(self.tenant, self.agent_id, self.created_at),
                "gsi1sk": f"{self.attributes()['created_at']}#{self.id}",
            }
        )


def runs_relation(tenant: str, agent_id: str, day: date) -> str:
    """The `gsi1` partition of an agent's runs of one day (UTC)."""
    return f"{key_part(tenant)}#RUNS#{key_part(agent_id)}#{day:%Y-%m-%d}"


def live_key(run: Run) -> Key:
    """The pointer to a run without a chat that has not ended, beside the agent's goals and plans.

    Runs in chats are found through the agent's memberships instead.
    """
    return Key(run.key.pk, f"{LIVE_RUN}{run.key.sk}")


def run_id_in(home_id: str, ulid: str) -> str:
    """A run's id: its own ULID and the id of the chat or agent whose partition it lives in."""
    return f"run_{ulid}_{home_id}"
