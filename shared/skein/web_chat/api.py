"""Requests and resources of the HTTP API: widgets, visits, and what is public about a widget."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field

from skein.identity.models.visit import VisitClaims, VisitStatus
from skein.identity.visit_tokens import VisitTokens
from skein.models.api.base import (
    EXAMPLE_AGENT,
    ChangeRequest,
    CreatedAt,
    Id,
    IdOfAgent,
    IdOfChat,
    Page,
    Request,
    Resource,
)
from skein.models.common.base import EntityId, Instant
from skein.models.common.json_types import NUMBER
from skein.web_chat.models.widget import (
    Origins,
    PlacedWidget,
    PublicProfile,
    ShownFields,
    Way,
    Widget,
    WidgetFields,
)

EXAMPLE: dict[str, Any] = {
    "agent_id": EXAMPLE_AGENT,
    "origins": ["https://shop.example"],
    "public": {"name": "Shop", "ways": [{"label": "Call us", "url": "tel:+15005550006"}]},
}
ConsentVersion = Annotated[
    int, Field(description="The number of the consent text, which every other text raises.")
]


class NewWidget(PlacedWidget, Request):
    """A new widget."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})


class WidgetChange(WidgetFields, ChangeRequest):
    """Changes to a widget. Omitted fields stay unchanged."""

    model_config = ConfigDict(json_schema_extra={"example": {"enabled": False}})

    agent_id: Annotated[EntityId | None, Field(description="The agent that answers.")] = None
    origins: Origins | None = None
    public: Annotated[PublicProfile | None, Field(description="What everybody may read.")] = None


class WidgetResource(PlacedWidget, Resource):
    """A widget, which puts an agent on web pages."""

    id: Id
    consent_version: ConsentVersion
    created_at: CreatedAt


class WidgetPage(Page[WidgetResource]):
    """A page of widgets, oldest first."""


class WidgetUsage(Resource):
    """How much of a widget's daily budgets is used."""

    messages: Annotated[int, Field(description="Used messages.")]
    messages_per_day: Annotated[int, Field(description="The budget of messages.")]
    tokens: Annotated[int, Field(description="Used model tokens.")]
    tokens_per_day: Annotated[int, Field(description="The budget of model tokens.")]

    @classmethod
    def shown(cls, widget: Widget, used: tuple[int, int]) -> Self:
        messages, tokens = used
        return cls(messages=messages, tokens=tokens, **widget.limits.model_dump())


class NewVisit(Request):
    """A new visit, or the renewal of one."""

    model_config = ConfigDict(json_schema_extra={"example": {"consent": 1}})

    renewal: Annotated[
        str | None, Field(max_length=2_000, description="The `renewal` of an earlier response.")
    ] = None
    consent: Annotated[
        int,
        Field(ge=0, le=1_000_000, description="The `consent_version` that the visitor agreed to."),
        NUMBER,
    ] = 0


class VisitResource(Resource):
    """What a web page stores about its visit."""

    token: Annotated[str, Field(description="The bearer token of the visitor's calls.")]
    renewal: Annotated[str, Field(description="Renews the visit, once.")]
    expires_at: Annotated[Instant, Field(description="When the token expires.")]
    chat_id: IdOfChat
    visitor_id: Annotated[str, Field(description="The id of the visitor.")]
    started: Annotated[bool, Field(description="Whether the visitor has written in the chat.")]

    @classmethod
    def shown(cls, claims: VisitClaims, tokens: VisitTokens) -> Self:
        return cls(
            token=tokens.sign("visit", claims),
            renewal=tokens.sign("renewal", claims),
            expires_at=claims.ends_at,
            chat_id=claims.chat_id,
            visitor_id=claims.visitor_id,
            started=claims.number > 1,  # a visit is renewed only after the first message
        )


class VisitState(Resource):
    """The state of a visit."""

    status: Annotated[
        VisitStatus, Field(description="Whether the visitor has written, or is erased.")
    ]


class PublicWidget(ShownFields, Resource):
    """The part of a widget that anybody may read."""

    id: Id
    agent_id: IdOfAgent
    name: Annotated[str, Field(description="The name of the business.")]
    ways: Annotated[tuple[Way, ...], Field(description="Other ways to reach the business.")]
    consent_version: ConsentVersion

    @classmethod
    def shown(cls, widget: Widget) -> Self:
        return cls.model_validate(widget.model_dump() | widget.public.model_dump())
