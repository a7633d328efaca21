"""Requests and resources of the HTTP API: cases."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

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
from skein.models.common.base import Instant
from skein.trials.models.case import CaseFields, CaseState, CaseView, NamedCase
from skein.trials.models.expectation import Expectation

EXAMPLE: dict[str, Any] = {
    "name": "Knows the hours",
    "script": {
        "people": [{"name": "Ann"}],
        "turns": [{"from": "Ann", "text": "When do you open?"}],
    },
    "expect": [{"says": ["9:00", "nine"]}],
}


class NewCase(NamedCase, Request):
    """A new case, of a run or of a script."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})


class CaseChange(CaseFields, ChangeRequest):
    """Changes to a case. Omitted fields stay unchanged."""

    model_config = ConfigDict(json_schema_extra={"example": {"required": False}})

    name: OptionalName = None
    expect: Annotated[
        tuple[Expectation, ...] | None,
        Field(min_length=1, max_length=10, description="What must hold, all of it."),
    ] = None


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

        A private case says nothing to an operator without the right, and to nobody once it is
        gone: what is expected of an erased prompt may tell of it.
        """
        case = view.case
        fields = {name: getattr(case, name) for name in cls.model_fields if name != "state"}
        if view.withheld or (case.private and view.gone):
            fields |= {"name": None, "expect": (), "results": ()}
        return cls(**fields, state="gone" if view.gone else "ready")


class CasePage(Page[CaseResource]):
    """A page of cases."""
