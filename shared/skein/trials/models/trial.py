"""A trial: cases of an agent, played for two of its versions, and the result of each play."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from skein.models.api.base import CreatedAt, EndedAt, Id, IdOfAgent
from skein.models.common.base import Identifier, Instant, Stored, Tenant, TenantKey, Value, key_part
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.agent import Agent, AgentVersion, agent_partition
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import TrialJob
from skein.models.quotas.prices import Money
from skein.models.quotas.usage import ModelUsage, Usage
from skein.models.runs.run import replays_of
from skein.trials.verdicts import Verdict, plays_wanted, verdict

TrialSide = Literal["baseline", "candidate"]
SIDES: tuple[TrialSide, ...] = ("baseline", "candidate")
TrialState = Literal["running", "ended", "stopped"]
PlayMark = Literal["passed", "failed", "judged"]
"""How a play went; `judged`: only a sentence that a model judges does not hold."""

MAX_JOBS = 4  # plays of a tenant at once


class Unit(Value):
    """One play of a trial: the case, the side (which version of the agent), and a number."""

    trial_id: Identifier
    case_id: Identifier
    side: TrialSide
    n: int

    @property
    def play(self) -> str:
        """The side and the number, such as `candidate#1`."""
        return f"{self.side}#{self.n}"


class TakenUnit(Value):
    """A play that a worker has taken, until a time at which other workers may take it."""

    unit: Unit
    until: Instant


class TrialHead(Stored):
    """The running trials of a tenant, and the plays that workers have taken.

    Attributes:
        version: The optimistic lock.
    """

    KEY: ClassVar = TenantKey("#TRIALS", "HEAD")

    tenant: Tenant
    version: int = 1
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


class TrialFields(BaseModel):
    """A trial in a list, in the form that operators see."""

    id: Id
    agent_id: IdOfAgent
    state: Annotated[TrialState, Field(description="Whether it is running.")] = "running"
    why: Annotated[str | None, Field(description="Why it was stopped; null if it was not.")] = None
    baseline_version: Annotated[int, Field(description="The version that it compares with.")]
    repeats: Annotated[int, Field(description="How often each case is played at first.")]
    planned_calls: Annotated[int, Field(description="About how many calls of models it takes.")]
    planned_tokens: Annotated[int, Field(description="About how many tokens it takes.")]
    created_at: CreatedAt
    created_by: Annotated[str | None, Field(description="The operator who started it, if any.")] = (
        None
    )
    ended_at: EndedAt = None


class Trial(TrialFields, Stored):
    """A comparison of two versions of an agent.

    Attributes:
        baseline: The version to compare with.
        candidate: The version that is tried: a stored one, or the current one with changes.
        digest: A hash of the candidate's fields, which shows whether the trial is about a given
            change.
        max_tokens: The maximum number of tokens that the trial may use.
        planned: An estimate of the answers and tokens that the first plays use, by model.
        version: The optimistic lock.
    """

    PREFIX: ClassVar = SortKeyPrefix("TRIAL#")

    tenant: Tenant
    baseline: AgentVersion
    candidate: AgentVersion
    digest: str
    max_tokens: int
    planned: dict[str, ModelUsage]
    version: int = 1
    expires_at: int

    @staticmethod
    def key_of(tenant: str, agent_id: str, trial_id: str) -> "Key[Trial]":
        return Key(trials_partition(tenant, agent_id), f"{Trial.PREFIX}{key_part(trial_id)}")

    @property
    def key(self) -> "Key[Trial]":
        return self.key_of(self.tenant, self.agent_id, self.id)

    @property
    def own_partition(self) -> str:
        """The partition with the trial's cases and results, but not with those of runs."""
        return partition_of_trial(self.tenant, self.agent_id, self.id)

    @property
    def job(self) -> TrialJob:
        """The job that plays one case of the trial once."""
        return TrialJob(tenant=self.tenant, agent_id=self.agent_id, trial_id=self.id)

    def sides(self, agent: Agent) -> dict[TrialSide, Agent]:
        """Return an agent in the two versions that the trial compares."""
        return {
            "baseline": agent.with_fields(self.baseline.configured),
            "candidate": agent.with_fields(self.candidate.configured),
        }

    def to_item(self, due_at: datetime) -> Item:
        """Return the trial as table attributes, due at `due_at`."""
        return self.attributes() | due_pointer("trial", self.key, due_at)


class TriedCase(BaseModel):
    """A case of a trial, in the form that operators see."""

    id: Id
    required: Annotated[bool, Field(description="Whether a regression blocks a change.")]
    private: Annotated[bool, Field(description="Whether its results take a role and a reason.")]
    verdict: Annotated[Verdict | None, Field(description="Null while plays are missing.")] = None
    blocks: Annotated[
        bool, Field(description="Whether it regressed, apart from what a model judged.")
    ] = False


class PlayedCase(TriedCase, Stored):
    """One case of a trial and how its plays went, without any words of the plays.

    Attributes:
        id: The id of the case.
        case_version: The version that the case had when the trial began.
        run_id: The run of the case; None for a script.
        marks: How each play went, by `Unit.play`.
        usage: The number of answers and tokens, by model.
        version: The optimistic lock.
    """

    PREFIX: ClassVar = SortKeyPrefix("PLAYED#")

    tenant: Tenant
    agent_id: Identifier
    trial_id: Identifier
    case_version: int
    run_id: Identifier | None = None
    marks: dict[str, PlayMark] = Field(default_factory=dict)
    usage: dict[str, ModelUsage] = Field(default_factory=dict)
    version: int = 1
    expires_at: int

    @staticmethod
    def key_of(tenant: str, agent_id: str, trial_id: str, case_id: str) -> "Key[PlayedCase]":
        partition = partition_of_trial(tenant, agent_id, trial_id)
        return Key(partition, f"{PlayedCase.PREFIX}{key_part(case_id)}")

    @property
    def key(self) -> "Key[PlayedCase]":
        return self.key_of(self.tenant, self.agent_id, self.trial_id, self.id)

    @property
    def results(self) -> Key:
        """The partition of the results of the plays, and the beginning of their sort keys.

        The results of a case of a run are kept beside the run and erased with it.
        """
        ids = f"{key_part(self.trial_id)}#{key_part(self.id)}#"
        if self.run_id is None:
            return Key(self.key.pk, f"RESULT#{ids}")
        kept = replays_of(self.tenant, self.run_id)
        return Key(kept.pk, f"{kept.sk}{ids}")

    def key_of_result(self, unit: Unit) -> "Key[PlayResult]":
        return Key(self.results.pk, f"{self.results.sk}{unit.play}")

    def marked(
        self, unit: Unit, mark: PlayMark, usage: dict[str, ModelUsage], repeats: int
    ) -> dict[str, Any]:
        """Return what one more play changes, with the verdict if no more plays are needed."""
        marks = {**self.marks, unit.play: mark}
        used = Usage(models=self.usage) + Usage(models=usage)
        played = self.model_copy(update={"marks": marks})
        found, sure = (verdict(*played.outcomes(alone=alone), repeats) for alone in (False, True))
        blocks = sure == "regressed"
        done = self.verdict or (None if sure is None else sure if blocks else found)
        return {"marks": marks, "usage": used.models, "verdict": done, "blocks": blocks}

    def outcomes(self, *, alone: bool) -> tuple[list[bool], list[bool]]:
        """Return which plays of the baseline passed, and which of the candidate.

        Args:
            alone: Whether to leave out the judgements of a model.
        """
        failed = {"failed"} if alone else {"failed", "judged"}
        first, second = ([mark not in failed for mark in self.of(side)] for side in SIDES)
        return first, second

    def left(self, repeats: int) -> Iterator[Unit]:
        """Yield the plays that the verdict still needs, as far as the plays so far tell."""
        if self.verdict is not None:
            return
        wanted = max(plays_wanted(*self.outcomes(alone=alone), repeats) for alone in (False, True))
        for n in range(1, wanted + 1):
            for side in SIDES:
                unit = Unit(trial_id=self.trial_id, case_id=self.id, side=side, n=n)
                if unit.play not in self.marks:
                    yield unit

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.usage.values())

    @property
    def plays(self) -> dict[TrialSide, int]:
        """How many plays of each side ended."""
        return {side: len(self.of(side)) for side in SIDES}

    @property
    def passed(self) -> dict[TrialSide, int]:
        """How many plays of each side passed."""
        return {side: self.of(side).count("passed") for side in SIDES}

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


@dataclass(frozen=True, slots=True)
class TrialView:
    """A trial, with how each of its cases went.

    Attributes:
        money: The cost so far, at the tenant's prices; None if the tenant has set no prices.
        planned: The estimated cost of the whole trial; None if the tenant has set no prices.
    """

    trial: Trial
    cases: Sequence[PlayedCase]
    money: Money | None
    planned: Money | None


def trials_partition(tenant: str, agent_id: str) -> str:
    return f"{agent_partition(tenant, agent_id)}#TRIALS"


def partition_of_trial(tenant: str, agent_id: str, trial_id: str) -> str:
    return f"{trials_partition(tenant, agent_id)}#{key_part(trial_id)}"


def digest_of(agent: Agent) -> str:
    """Return a hash of all the agent's fields that operators set."""
    fields = AgentVersion.of(agent).fields
    return sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
