"""A case: one situation of an agent, what must hold in it, and what tools answer in it."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from skein.models.common.address import ChannelName
from skein.models.common.base import (
    EntityId,
    Identifier,
    Instant,
    Name,
    NamedModel,
    Stored,
    Tenant,
    Value,
    key_part,
)
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.storage import Key, SortKeyPrefix
from skein.models.directory.agent import agent_partition
from skein.models.runs.run import Run
from skein.models.runs.step import PromptRecord, Step, ToolStatus
from skein.models.visibility.sharing_rules import RoleName
from skein.trials.models.expectation import Expectation, PartOfCall, PlayedCall

MAX_CASES = 200  # of an agent
MAX_CASE_BYTES = 50_000

CaseState = Literal["ready", "gone"]
"""`gone`: the prompt of its run was erased or forgotten, or has expired."""

ScriptChat = Literal["direct", "private", "open"]
Line = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Expectations = Annotated[tuple[Expectation, ...], Field(min_length=1, max_length=10)]


class ScriptPerson(NamedModel, Value):
    """A person in a script."""

    roles: Annotated[
        tuple[RoleName, ...], Field(max_length=10, description="The roles of the person.")
    ] = ()


class ScriptTurn(Value):
    """A message of a person in a script."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    sender: Annotated[Name, Field(alias="from", description="The name of a person.")]
    text: Annotated[Line, Field(description="The text.")]
    after_seconds: Annotated[
        int, Field(ge=0, le=2_592_000, description="How long after the last message."), NUMBER
    ] = 0


class Script(Value):
    """A situation from its start: who writes what, where and when."""

    people: Annotated[
        tuple[ScriptPerson, ...],
        Field(min_length=1, max_length=10, description="The people in the chat."),
    ]
    chat: Annotated[
        ScriptChat, Field(description="A direct chat, or a private or an open group.")
    ] = "direct"
    channel: Annotated[Literal["app"] | ChannelName, Field(description="Where people write.")] = (
        "app"
    )
    now: Annotated[
        Instant | None, Field(description="The time of the first message; null: any.")
    ] = None
    memories: Annotated[
        tuple[Line, ...],
        Field(max_length=20, description="Core memories that the agent has of this chat."),
    ] = ()
    turns: Annotated[
        tuple[ScriptTurn, ...], Field(min_length=1, max_length=20, description="The messages.")
    ]

    @model_validator(mode="after")
    def _has_its_people(self) -> Self:
        names = [each.name for each in self.people]
        if len(set(names)) < len(names):
            raise ValueError("each person needs a name of their own")
        if unknown := {each.sender for each in self.turns} - set(names):
            raise ValueError(f"turns: {min(unknown)} is not one of the people")
        if self.chat == "direct" and len(names) > 1:
            raise ValueError("a direct chat has one person")
        if self.channel != "app" and self.chat != "direct":
            raise ValueError("a group is in the app")
        return self


class RecordedResult(PartOfCall):
    """The result that a call of the tenant's tool gets in a play: a text or an error."""

    result: Annotated[
        str | None, Field(max_length=10_000, description="What the tool returns.")
    ] = None
    error: Annotated[str | None, Field(max_length=1_000, description="Why the call fails.")] = None

    @model_validator(mode="after")
    def _is_result_or_error(self) -> Self:
        if (self.result is None) == (self.error is None):
            raise ValueError("give a result or an error")
        return self

    @property
    def answer(self) -> tuple[ToolStatus, str]:
        """What a call gets: whether the tool was called, and the result."""
        if self.error is not None:
            return "failed", f"error: {self.error}"
        return "done", self.result or ""


@dataclass(slots=True)
class RecordedResults:
    """The recorded results that calls get during one play. Each call takes the first that fits.

    Each result answers one call. When no fitting result is left, the last fitting one that was used
    answers all further calls.

    Attributes:
        left: Results of the case, and calls of a run with their results.
    """

    left: list[RecordedResult | PlayedCall]
    _used: list[RecordedResult | PlayedCall] = field(default_factory=list)

    def take(self, tool: str, arguments: Any) -> RecordedResult | PlayedCall | None:
        """Return the result for the next call; None if no recorded result fits."""
        for n, each in enumerate(self.left):
            if each.fits(tool, arguments):
                self._used.insert(0, self.left.pop(n))
                return each
        return next((each for each in self._used if each.fits(tool, arguments)), None)


class CaseFields(BaseModel):
    """The fields of a case that operators set."""

    required: Annotated[
        JsonBool, Field(description="Whether a regression of the case may block a change.")
    ] = True
    results: Annotated[
        tuple[RecordedResult, ...],
        Field(max_length=50, description="What tools of the tenant answer, in order."),
    ] = ()
    script: Annotated[
        Script | None, Field(description="The situation, if it is not that of a run.")
    ] = None


class NamedCase(NamedModel, CaseFields):
    """A case with its name and its expectations."""

    expect: Annotated[Expectations, Field(description="What must hold, all of it.")]
    run_id: Annotated[
        EntityId | None, Field(description="The run whose newest prompt is the input.")
    ] = None

    @model_validator(mode="after")
    def _has_one_input(self) -> Self:
        if (self.run_id is None) == (self.script is None):
            raise ValueError("give a run_id or a script")
        if len(self.model_dump_json().encode()) > MAX_CASE_BYTES:
            raise ValueError(f"a case has at most {MAX_CASE_BYTES:,} bytes")
        return self


class Case(NamedCase, Stored):
    """A case of an agent.

    A case of a run does not contain the run's prompt; the prompt is read from the run. So a case
    contains no words of a person whose messages were erased.

    Attributes:
        step: The number of the run's step with the prompt; None for a script.
        private: Whether the run is private. Operators then need a right and a reason.
        version: The optimistic lock. Every change raises it.
    """

    PREFIX: ClassVar = SortKeyPrefix("CASE#")

    tenant: Tenant
    agent_id: Identifier
    id: Identifier
    step: int | None = None
    private: Annotated[bool, Field(exclude_if=lambda private: not private)] = False
    version: int = 1
    created_at: Instant
    changed_at: Instant | None = None
    changed_by: Identifier | None = None

    @staticmethod
    def key_of(tenant: str, agent_id: str, case_id: str) -> "Key[Case]":
        return Key(cases_partition(tenant, agent_id), f"{Case.PREFIX}{key_part(case_id)}")

    @property
    def key(self) -> "Key[Case]":
        return self.key_of(self.tenant, self.agent_id, self.id)

    @property
    def prompt_keys(self) -> tuple[Key[Run], Key[Step]] | None:
        """The keys of the run and of the step with the prompt; None for a script."""
        if self.run_id is None or self.step is None:
            return None
        run = Run.key_of(self.tenant, self.run_id)
        return run, Step.key_of(self.tenant, self.run_id, self.step)


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case, with its run and prompt as far as they still exist.

    Attributes:
        run: The run; None for a script, or if the run has expired.
        prompt: The recorded prompt of the run; None for a script, or if the prompt is gone.
        withheld: Whether the case's content must be withheld from the operator.
    """

    case: Case
    run: Run | None
    prompt: PromptRecord | None
    withheld: bool

    @property
    def gone(self) -> bool:
        """Whether the prompt was erased or forgotten, or has expired."""
        return self.case.run_id is not None and self.prompt is None


def cases_partition(tenant: str, agent_id: str) -> str:
    return f"{agent_partition(tenant, agent_id)}#CASES"
