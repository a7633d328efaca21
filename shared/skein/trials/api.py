"""Requests and resources of the HTTP API: cases and trials."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from skein.models.api.base import (
    ChangeRequest,
    CreatedAt,
    Id,
    IdOfAgent,
    OptionalName,
    Page,
    Request,
    Resource,
)
from skein.models.api.directory import AgentChange, AgentConfiguration
from skein.models.common.base import EntityId, Instant, Value
from skein.models.common.json_types import NUMBER
from skein.models.directory.agent import LAST_VERSION
from skein.models.quotas.prices import Money
from skein.trials.models.case import CaseFields, CaseState, CaseView, Expectations, NamedCase
from skein.trials.models.expectation import Expectation
from skein.trials.models.trial import PlayFields, TrialFields, TrialSide, TrialView, TriedCase

EXAMPLE: dict[str, Any] = {
    "name": "Knows the hours",
    "script": {
        "people": [{"name": "Ann"}],
        "turns": [{"from": "Ann", "text": "When do you open?"}],
    },
    "expect": [{"says": ["9:00", "nine"]}],
}


TRIAL_EXAMPLE: dict[str, Any] = {"candidate": {"changes": {"system_prompt": "You coach rowers."}}}
Version = Annotated[int, Field(ge=1, le=LAST_VERSION), NUMBER]


class NewCase(NamedCase, Request):
    """A new case, of a run or of a script."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})


class CaseChange(CaseFields, ChangeRequest):
    """Changes to a case. Omitted fields stay unchanged."""

    model_config = ConfigDict(json_schema_extra={"example": {"required": False}})

    name: OptionalName = None
    expect: Annotated[Expectations | None, Field(description="What must hold, all of it.")] = None


class CaseResource(CaseFields, Resource):
    """A case of an agent."""

    id: Id
    agent_id: IdOfAgent
    name: Annotated[str | None, Field(description="The name; null if it is withheld.")]
    expect: Annotated[tuple[Expectation, ...], Field(description="What must hold, all of it.")]
    run_id: Annotated[str | None, Field(description="The run whose prompt is the input.")]
    state: Annotated[CaseState, Field(description="Whether the prompt of the run is still there.")]
    private: Annotated[
        bool, Field(description="Whether the run is private, which takes a role and a reason.")
    ]
    created_at: CreatedAt
    changed_at: Annotated[Instant | None, Field(description="When it was last changed.")]
    changed_by: Annotated[str | None, Field(description="The operator who changed it, if any.")]

    @classmethod
    def of(cls, view: CaseView, /) -> "CaseResource":
        """Build the resource.

        The name, expectations and results of a private case are left out if the operator may not
        see private content. They are also left out for everybody once the prompt is gone, because
        they may reveal what the erased prompt said.
        """
        case = view.case
        fields = {name: getattr(case, name) for name in cls.model_fields if name != "state"}
        if view.withheld or (case.private and view.gone):
            fields |= {"name": None, "expect": (), "results": ()}
        return cls(**fields, state="gone" if view.gone else "ready")


class CasePage(Page[CaseResource]):
    """A page of cases."""


class Candidate(Value):
    """The version of the agent that is tried: a stored version, or the current one with changes."""

    version: Annotated[Version | None, Field(description="A version's number.")] = None
    changes: Annotated[
        AgentChange | None, Field(description="Changes to the version of now, as in a PATCH.")
    ] = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.version is None) == (self.changes is None):
            raise ValueError("give a version or changes")
        return self


class NewTrial(Request):
    """A new trial."""

    model_config = ConfigDict(json_schema_extra={"example": TRIAL_EXAMPLE})

    candidate: Annotated[Candidate, Field(description="What is tried.")]
    baseline: Annotated[
        Version | None, Field(description="The version to compare with; null: that of now.")
    ] = None
    cases: Annotated[
        tuple[EntityId, ...] | None,
        Field(max_length=200, description="The ids of the cases; null: all that you may see."),
    ] = None
    repeats: Annotated[
        int, Field(ge=1, le=5, description="How often each case is played at first."), NUMBER
    ] = 3
    max_tokens: Annotated[
        int, Field(ge=1, le=100_000_000, description="The most tokens it may take."), NUMBER
    ] = 1_000_000


class TrialCaseResource(TriedCase, Resource):
    """A case of a trial, and how its plays went."""

    passed: Annotated[
        dict[TrialSide, int], Field(description="How many plays of each side passed.")
    ]
    plays: Annotated[dict[TrialSide, int], Field(description="How many plays of each side ended.")]


class ListedTrial(TrialFields, Resource):
    """A trial in a list."""


class TrialDetail(ListedTrial):
    """A trial: two versions of an agent, and how each case went."""

    baseline: Annotated[AgentConfiguration, Field(description="The agent as it was.")]
    candidate: Annotated[AgentConfiguration, Field(description="The agent as it is tried.")]
    cases: Annotated[tuple[TrialCaseResource, ...], Field(description="The cases.")]
    tokens: Annotated[int, Field(description="The tokens so far.")]
    planned_money: Annotated[
        Money | None, Field(description="About what it costs; null without prices.")
    ]
    money: Annotated[Money | None, Field(description="The cost so far; null without prices.")]

    @classmethod
    def from_view(cls, view: TrialView) -> Self:
        """Build the resource of a trial with its cases."""
        trial = view.trial
        return cls(
            **dict(ListedTrial.of(trial)),
            baseline=AgentConfiguration(**trial.baseline.configured),
            candidate=AgentConfiguration(**trial.candidate.configured),
            cases=tuple(map(TrialCaseResource.of, view.cases)),
            tokens=sum(each.tokens for each in view.cases),
            planned_money=view.planned,
            money=view.money,
        )


class TrialPage(Page[ListedTrial]):
    """A page of trials, newest first."""


class PlayResource(PlayFields, Resource):
    """The result of one play of a case."""


class PlayList(Page[PlayResource]):
    """All plays of a case in a trial."""
