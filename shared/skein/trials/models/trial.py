"""A trial: cases of an agent, played for two of its versions, and the result of each play."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from skein.models.common.base import (
    Identifier,
    Instant,
    Stored,
    Tenant,
    TenantKey,
    Value,
    key_part,
)
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.agent import Agent, AgentVersion, agent_partition
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.outbox.jobs import TrialJob
from skein.models.quotas.prices import Money
from skein.models.quotas.usage import ModelUsage, Usage
from skein.models.runs.run import replays_of
from skein.trials.models.expectation import Played
from skein.trials.verdicts import Verdict, plays_wanted, verdict

TrialSide = Literal["baseline", "candidate"]
SIDES: tuple[TrialSide, ...] = ("baseline", "candidate")
TrialState = Literal["running", "ended", "stopped"]
PlayMark = Literal["passed", "failed", "judged"]
"""How a play went; `judged`: only a sentence that a model judges does not hold."""

MAX_TRIALS = 3  # of a tenant at once
MAX_JOBS = 4  # plays of a tenant at once
KEPT_DAYS = 90
MAX_ARGUMENTS = 2_000  # characters of the arguments of a call


class CaseRef(Value):
    """A reference to a case in a trial, with the version that the case had when the trial began."""

    id: Identifier
    version: int
    required: bool
    private: bool = False
    run_id: Identifier | None = None


class Unit(Value):
    """One play of a trial: the case, the side (which version of the agent), and a number."""

    trial_id: Identifier
    case_id: Identifier
    side: TrialSide
    n: int


class TakenUnit(Unit):
    """A play that a worker has taken, until a time at which other workers may take it."""

    until: Instant

    @property
    def unit(self) -> Unit:
        return Unit(**self.model_dump(exclude={"until"}))


class TrialHead(Stored):
    """The running trials of a tenant, and the plays that workers have taken.

    Attributes:
        version: The optimistic lock.
    """

    KEY: ClassVar = TenantKey("#TRIALS", "HEAD")

    tenant: Tenant
    version: int = 0
    running: tuple[Identifier, ...] = ()
    taken: tuple[TakenUnit, ...] = ()

    @staticmethod
    def key_of(tenant: str) -> "Key[TrialHead]":
        return TrialHead.KEY.of(tenant)

    @property
    def key(self) -> "Key[TrialHead]":
        return self.key_of(self.tenant)

    def busy(self, now: datetime) -> tuple[TakenUnit, ...]:
        """Return the plays that workers have taken and whose time is not over."""
        return tuple(each for each in self.taken if each.until > now)


class Trial(Stored):
    """A comparison of two versions of an agent.

    Attributes:
        baseline: The fields of the baseline; see `AgentVersion.fields`.
        candidate: The fields of the candidate.
        baseline_version: The number of the baseline's version.
        digest: A hash of the candidate's fields, which shows whether the trial is about a given
            change.
        repeats: How often each case is played for each side at first.
        max_tokens: The maximum number of tokens that the trial may use.
        planned: An estimate of the answers and tokens that the first plays use, by model.
        why: Why the trial ended before all verdicts were known; None if it did not.
        version: The optimistic lock.
    """

    PREFIX: ClassVar = SortKeyPrefix("TRIAL#")

    tenant: Tenant
    agent_id: Identifier
    id: Identifier
    state: TrialState = "running"
    baseline: dict[str, Any]
    candidate: dict[str, Any]
    baseline_version: int
    digest: str
    cases: tuple[CaseRef, ...]
    repeats: int
    max_tokens: int
    planned: dict[str, ModelUsage]
    why: str | None = None
    version: int = 1
    created_at: Instant
    created_by: Identifier | None = None
    ended_at: Instant | None = None
    expires_at: int

    @staticmethod
    def key_of(tenant: str, agent_id: str, trial_id: str) -> "Key[Trial]":
        return Key(trials_partition(tenant, agent_id), f"{Trial.PREFIX}{key_part(trial_id)}")

    @property
    def key(self) -> "Key[Trial]":
        return self.key_of(self.tenant, self.agent_id, self.id)

    @property
    def job(self) -> TrialJob:
        """The job that plays one case of the trial once."""
        return TrialJob(tenant=self.tenant, agent_id=self.agent_id, trial_id=self.id)

    @property
    def own_partition(self) -> str:
        """The partition with the trial's results, except for those that are kept beside runs."""
        return f"{trials_partition(self.tenant, self.agent_id)}#{key_part(self.id)}"

    def version_of(self, side: TrialSide) -> AgentVersion:
        """Return the agent's fields on one side of the trial, in the form of a version."""
        return AgentVersion(
            tenant=self.tenant,
            agent_id=self.agent_id,
            version=self.baseline_version,
            changed_at=self.created_at,
            fields=self.baseline if side == "baseline" else self.candidate,
        )

    def to_item(self, due_at: datetime | None) -> Item:
        """Return the trial as table attributes, due at `due_at`, or never due if it is None."""
        due = due_pointer("trial", self.key, due_at) if due_at is not None else NOT_DUE
        return {**self.attributes(), **{name: at for name, at in due.items() if at is not None}}


class PlayedCase(Stored):
    """How the plays of one case of a trial went, without any words of the plays.

    Attributes:
        marks: How each play went, by the play's side and number, such as `candidate#1`.
        verdict: The verdict; None while plays are missing.
        blocks: Whether the case regressed even if a model's judgements are left out.
        usage: The number of answers and tokens, by model.
        version: The optimistic lock.
    """

    PREFIX: ClassVar = SortKeyPrefix("PLAYED#")

    tenant: Tenant
    agent_id: Identifier
    trial_id: Identifier
    case_id: Identifier
    marks: dict[str, PlayMark] = Field(default_factory=dict)
    verdict: Verdict | None = None
    blocks: bool = False
    usage: dict[str, ModelUsage] = Field(default_factory=dict)
    version: int = 0
    expires_at: int

    @staticmethod
    def unplayed(trial: Trial, case_id: str) -> "PlayedCase":
        return PlayedCase(
            tenant=trial.tenant,
            agent_id=trial.agent_id,
            trial_id=trial.id,
            case_id=case_id,
            expires_at=trial.expires_at,
        )

    @staticmethod
    def key_in(trial: Trial, case_id: str) -> "Key[PlayedCase]":
        return Key(trial.own_partition, f"{PlayedCase.PREFIX}{key_part(case_id)}")

    def marked(
        self, unit: Unit, mark: PlayMark, usage: dict[str, ModelUsage], repeats: int
    ) -> "PlayedCase":
        """Return the case after one more play, with the verdict if no more plays are needed."""
        marks = {**self.marks, f"{unit.side}#{unit.n}": mark}
        used = Usage(models=self.usage) + Usage(models=usage)
        played = self.model_copy(update={"marks": marks, "usage": used.models})
        found, sure = (verdict(*played.passed(alone=alone), repeats) for alone in (False, True))
        blocks = sure == "regressed"
        done = self.verdict or (None if sure is None else sure if blocks else found)
        return played.model_copy(update={"verdict": done, "blocks": blocks})

    def passed(self, *, alone: bool) -> tuple[list[bool], list[bool]]:
        """Return which plays of the baseline passed, and which of the candidate.

        Args:
            alone: Whether to leave out the judgements of a model.
        """
        failed = {"failed"} if alone else {"failed", "judged"}
        first, second = ([mark not in failed for mark in self.of(side)] for side in SIDES)
        return first, second

    def wanted(self, repeats: int) -> int:
        """Return how many plays of each side the verdict needs, as far as the plays so far tell."""
        return max(plays_wanted(*self.passed(alone=alone), repeats) for alone in (False, True))

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.usage.values())

    def of(self, side: TrialSide) -> list[PlayMark]:
        """Return how the plays of a side went, in order, up to the first play that is missing."""
        found: list[PlayMark] = []
        while (mark := self.marks.get(f"{side}#{len(found) + 1}")) is not None:
            found.append(mark)
        return found


class PlayFields(BaseModel):
    """The result of one play, in the form that operators see."""

    side: Annotated[TrialSide, Field(description="The version of the agent.")]
    n: Annotated[int, Field(description="Which play of this side it is.")]
    mark: Annotated[
        PlayMark, Field(description="`judged`: only a sentence that a model judges does not hold.")
    ]
    missing: Annotated[tuple[str, ...], Field(description="What the play does not meet.")]
    texts: Annotated[tuple[str, ...], Field(description="What the agent posted.")]
    calls: Annotated[tuple[str, ...], Field(description="Its tool calls.")]
    questions: Annotated[tuple[str, ...], Field(description="Questions with fixed answers.")]
    unrecorded: Annotated[
        str | None, Field(description="The call at which it ended: no result was recorded.")
    ] = None
    effects: Annotated[
        tuple[str, ...], Field(description="What would have happened outside; nothing was sent.")
    ]
    usage: Annotated[dict[str, ModelUsage], Field(description="Calls and tokens by model.")]
    seconds: Annotated[float, Field(description="How long it took.")]


class PlayResult(PlayFields, Stored):
    """The result of one play. For a case of a run, it is kept beside the run and erased with it."""

    tenant: Tenant
    agent_id: Identifier
    trial_id: Identifier
    case_id: Identifier
    expires_at: int

    @staticmethod
    def prefix_in(trial: Trial, case: CaseRef) -> Key:
        """Return the partition of a case's results, and the beginning of their sort keys."""
        ids = f"{key_part(trial.id)}#{key_part(case.id)}#"
        if case.run_id is None:
            return Key(trial.own_partition, f"RESULT#{ids}")
        kept = replays_of(trial.tenant, case.run_id)
        return Key(kept.pk, f"{kept.sk}{ids}")

    @staticmethod
    def key_in(trial: Trial, case: CaseRef, unit: Unit) -> "Key[PlayResult]":
        beginning = PlayResult.prefix_in(trial, case)
        return Key(beginning.pk, f"{beginning.sk}{unit.side}#{unit.n}")


@dataclass(frozen=True, slots=True)
class TrialView:
    """A trial, with how each of its cases went.

    Attributes:
        money: The cost so far, at the tenant's prices; None if the tenant has set no prices.
        planned: The estimated cost of the whole trial; None if the tenant has set no prices.
    """

    trial: Trial
    played: Mapping[str, PlayedCase]
    money: Money | None
    planned: Money | None

    @property
    def id(self) -> str:
        return self.trial.id


def trials_partition(tenant: str, agent_id: str) -> str:
    return f"{agent_partition(tenant, agent_id)}#TRIALS"


def digest_of(agent: Agent) -> str:
    """Return a hash of all the agent's fields that operators set."""
    fields = AgentVersion.of(agent).fields
    return sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def words_of(played: Played) -> dict[str, Any]:
    """Return those fields of `PlayResult` that contain words of the play."""
    last = played.unrecorded
    return {
        "texts": played.texts,
        "calls": tuple(f"{each.tool}({as_text(each.arguments)})" for each in played.calls),
        "questions": tuple(" / ".join([each.text, *each.answers]) for each in played.questions),
        "unrecorded": f"{last.tool}({as_text(last.arguments)})" if last is not None else None,
    }


def as_text(arguments: Any) -> str:
    """Return the arguments of a call as JSON, cut to the length that is shown to operators."""
    return json.dumps(arguments, ensure_ascii=False)[:MAX_ARGUMENTS]
