"""Requests and resources of the HTTP API: outreach."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from skein.models.api.base import EXAMPLE_AGENT, CreatedAt, Id, Page, Request, Resource
from skein.models.common.base import EntityId, Identifier, Instant
from skein.models.common.reason import Reason, meaning_of
from skein.outreach.models.outreach import MAX_PEOPLE, Outreach, OutreachFields, OutreachStatus

PersonState = Literal[
    "waiting",
    "writing",
    "sent",
    "delivered",
    "answered",
    "silent",
    "failed",
    "refused",
    "expired",
    "canceled",
]
"""What has become of one person of an outreach."""


class NewOutreach(OutreachFields, Request):
    """A new outreach, with either an instruction or a text."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "people": ["usr_sarah", "usr_tom"],
                "agent_id": EXAMPLE_AGENT,
                "instruction": "Ask which evenings suit for the course in May.",
                "asked_by": "Alice Ward",
                "client_id": "course-may",
            }
        }
    )

    people: Annotated[
        tuple[Identifier, ...],
        Field(
            description="The ids of the people, each of whom is written to once.",
            min_length=1,
            max_length=MAX_PEOPLE,
        ),
    ]
    client_id: Annotated[
        EntityId | None,
        Field(description="Your own id of the outreach, which makes a repeated request harmless."),
    ] = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.instruction is None) == (self.text is None):
            raise ValueError("give either instruction or text")
        return self


class OutreachChange(Request):
    """The change to an outreach."""

    status: Annotated[
        OutreachStatus,
        Field(description="`paused`, `active` again, or `canceled` without a way back."),
    ]


class OutreachResource(OutreachFields, Resource):
    """An outreach."""

    id: Id
    status: Annotated[OutreachStatus, Field(description="The current state.")]
    size: Annotated[int, Field(description="How many people there are.")]
    by: Annotated[str, Field(description="The operator who created it.")]
    created_at: CreatedAt

    @classmethod
    def of(cls, outreach: Outreach) -> Self:
        return cls(**{name: getattr(outreach, name) for name in OutreachResource.model_fields})


class OutreachPage(Page[OutreachResource]):
    """A page of outreach, newest first."""


class OutreachPersonResource(Resource):
    """A person of an outreach, and the state of the message to them."""

    user_id: Annotated[str, Field(description="The id of the person.")]
    state: Annotated[PersonState, Field(description="What has become of the person.")]
    reason: Annotated[
        Reason | None,
        Field(description="Why the person was not written to, or comes later; else null."),
    ]
    meaning: Annotated[str | None, Field(description="The reason in one sentence.")]
    chat_id: Annotated[
        str | None, Field(description="The direct chat; null while nothing was written.")
    ]
    run_id: Annotated[str | None, Field(description="The run that writes; null for a given text.")]
    seq: Annotated[int | None, Field(description="The first message; null before it.")]
    next_at: Annotated[
        Instant | None, Field(description="When a waiting person is written to; else null.")
    ]

    @classmethod
    def with_state(
        cls,
        state: PersonState,
        *,
        user_id: str,
        reason: Reason | None = None,
        chat_id: str | None = None,
        run_id: str | None = None,
        seq: int | None = None,
        next_at: Instant | None = None,
    ) -> Self:
        return cls(
            user_id=user_id,
            state=state,
            reason=reason,
            meaning=meaning_of(reason),
            chat_id=chat_id,
            run_id=run_id,
            seq=seq,
            next_at=next_at,
        )


class OutreachDetail(OutreachResource):
    """An outreach with its report."""

    counts: Annotated[
        dict[str, int], Field(description="How many people are in each state, without zeros.")
    ]
    people: Annotated[
        tuple[OutreachPersonResource, ...], Field(description="All people, in the order of turns.")
    ]
