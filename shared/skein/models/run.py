"""A run: one piece of work of one agent, why it was started, and each step it took."""

import re
import zlib
from datetime import date, datetime
from typing import Any, Literal

from pydantic import TypeAdapter

from skein.models.audience import OPEN, Audience
from skein.models.base import Identifier, Instant, MemberRef, Stored, Tenant, Value, key_part
from skein.models.completion import TokenUsage, ToolCall
from skein.models.due import due_mark
from skein.models.storage import Item, Key

RunStatus = Literal["queued", "running", "waiting", "done", "failed", "canceled"]
TriggerType = Literal["chat_message", "manual", "plan", "service"]

ENDED: frozenset[RunStatus] = frozenset({"done", "failed", "canceled"})
MAX_STEPS = 20
RUN_ID = re.compile(r"run_[0-9A-Za-z]{1,64}_(?P<home>(chat|agt)_[0-9A-Za-z]{1,64})")
MAX_PROMPT_BYTES = 300_000  # what one item can hold beside the answer (400 KB in all)


class PlanTrigger(Value):
    """A plan came due."""

    id: Identifier
    name: str
    instruction: str
    scheduled_at: Instant


class ServiceTrigger(Value):
    """An outside service reported something; `payload` is its JSON as it came."""

    id: Identifier
    name: str
    payload: str


class Trigger(Value):
    """Why a run was started.

    Attributes:
        type: What kind of thing woke the agent.
        seq: The message that the prompt marks: the newest by a person, else the newest.
        from_seq: The first of the messages that this run is to answer.
        by: Who wrote that message, or asked for the run.
        plan: Of a plan's run: what it is to do.
        service: Of a service's run: what it was told.
    """

    type: TriggerType
    seq: int | None = None
    from_seq: int | None = None
    by: MemberRef | None = None
    plan: PlanTrigger | None = None
    service: ServiceTrigger | None = None

    def widened(self, newer: "Trigger") -> "Trigger":
        """This trigger after another one joined the same queued run.

        A message joins a manual trigger by taking its place; a manual one adds nothing, since the
        agent is going to answer anyway.
        """
        if newer.seq is None:
            return self
        if self.seq is None:
            return newer
        by_person = self.by is not None and self.by.kind == "user"
        newer_by_person = newer.by is not None and newer.by.kind == "user"
        latest = self if by_person and not newer_by_person else newer
        return latest.model_copy(update={"from_seq": self.from_seq})


class QueuedRun(Value):
    """The slot of a run that has never started; what it says overrides the run's own item.

    Attributes:
        depth: The least depth of the messages that the run is to answer.
        then: Agents that are to respond afterwards, one after another.
    """

    run_id: Identifier
    trigger: Trigger
    depth: int
    then: tuple[Identifier, ...] = ()

    def widened(self, trigger: Trigger, *, depth: int, then: tuple[str, ...] = ()) -> "QueuedRun":
        """The slot after another trigger joined it; `then` becomes the union, in id order."""
        return QueuedRun(
            run_id=self.run_id,
            trigger=self.trigger.widened(trigger),
            depth=min(self.depth, depth),
            then=tuple(sorted({*self.then, *then})) if then else self.then,
        )


class Run(Stored):
    """One piece of work of one agent.

    Attributes:
        audience: Of a run without a chat: whom its trigger may be shown to.
        fence: Raised by every claim; a worker's writes hold only while it is the worker's own.
        attempts: Claims that began work; three failed ones end the run.
        put_offs: How often the run was put off because the model was down; no attempts.
        lease_until: Until when the claiming worker is believed alive.
        steps_taken: Model answers recorded so far.
        shown_seq: The highest message that the newest prompt held.
        error: Why it failed or was canceled, for the operator.
    """

    tenant: Tenant
    id: Identifier
    agent_id: Identifier
    chat_id: Identifier | None = None
    status: RunStatus = "queued"
    trigger: Trigger
    audience: Audience = OPEN
    chain_depth: int = 0
    then: tuple[Identifier, ...] = ()
    fence: int = 0
    attempts: int = 0
    put_offs: int = 0
    steps_taken: int = 0
    shown_seq: int | None = None
    lease_until: Instant | None = None
    usage: TokenUsage = TokenUsage()
    error: str | None = None
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
    def key_of(tenant: str, run_id: str) -> Key:
        """The key of a run.

        Raises:
            ValueError: This is no run's id.
        """
        home = Run.home_of(run_id)
        kind = "CHAT" if home.startswith("chat_") else "AGENT"
        return Key(f"{key_part(tenant)}#{kind}#{home}", f"RUN#{run_id.split('_')[1]}")

    @property
    def key(self) -> Key:
        """This run's key."""
        return self.key_of(self.tenant, self.id)

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
    return Key(run.key.pk, f"LIVE#{run.key.sk}")


def run_id_in(home_id: str, ulid: str) -> str:
    """A run's id: its own ULID and the id of the chat or agent whose partition it lives in."""
    return f"run_{ulid}_{home_id}"


class PromptSection(Value):
    """One section of a prompt as it was given: its name, its size and its words."""

    name: str
    tokens: int
    text: str


class PromptRecord(Value):
    """What a model was given."""

    sections: tuple[PromptSection, ...]
    total_tokens: int

    def packed(self) -> bytes:
        """The record, compressed for the table; beyond 300,000 bytes the longest text is cut."""
        record = self
        while len(data := zlib.compress(record.model_dump_json().encode())) > MAX_PROMPT_BYTES:
            longest = max(record.sections, key=lambda section: len(section.text))
            cut = longest.model_copy(
                update={"text": f"{longest.text[: len(longest.text) // 2]} [cut for storage]"}
            )
            record = PromptRecord(
                sections=tuple(cut if s is longest else s for s in record.sections),
                total_tokens=record.total_tokens,
            )
        return data

    @classmethod
    def unpacked(cls, data: bytes) -> "PromptRecord":
        """The record that `packed` made."""
        return _PROMPT_RECORD.validate_json(zlib.decompress(data))


_PROMPT_RECORD = TypeAdapter(PromptRecord)


class Step(Stored):
    """One answer of the model, recorded before anything that it asks for is carried out.

    Attributes:
        n: 1 for the first step of the run, counted over all activations.
        activation: 1 for the first activation; each begins with a prompt of its own.
        prompt: Packed `PromptRecord`, in the first step of each activation only.
    """

    tenant: Tenant
    run_id: Identifier
    n: int
    activation: int = 1
    model: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage
    prompt: bytes | None = None
    started_at: Instant
    ended_at: Instant

    @staticmethod
    def key_of(tenant: str, run_id: str, n: int) -> Key:
        """The key of a run's step number `n`."""
        run = Run.key_of(tenant, run_id)
        return Key(run.pk, f"{run.sk}#STEP#{n:03d}")

    @property
    def key(self) -> Key:
        """This step's key."""
        return self.key_of(self.tenant, self.run_id, self.n)

    def to_item(self) -> Item:
        """The step as table attributes."""
        item = self.model_dump(mode="json", exclude_none=True, exclude={"prompt"})
        return item if self.prompt is None else item | {"prompt": self.prompt}
