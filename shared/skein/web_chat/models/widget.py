"""A widget: an agent on the web pages of some origins, for visitors."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from skein.models.common.base import (
    EntityId,
    Identifier,
    Instant,
    Name,
    Stored,
    Tenant,
    Value,
    key_part,
)
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.storage import META, Item, Key
from skein.models.directory.agent import ToolName

ColorScheme = Literal["auto", "light", "dark"]
WidgetSide = Literal["start", "end"]

MAX_WIDGETS = 50  # of a tenant
LOCAL_ORIGIN = re.compile(r"http://(localhost|127\.0\.0\.1)(:[1-9][0-9]{0,4})?")
ORIGIN = re.compile(r"https://[a-z0-9.-]+(:[1-9][0-9]{0,4})?")
VISIT_TOOLS: tuple[ToolName, ...] = ("ask_choice", "ask_a_person", "end_run")


def _origin(text: str) -> str:
    if not (ORIGIN.fullmatch(text) or LOCAL_ORIGIN.fullmatch(text)):
        raise ValueError("an origin looks like https://shop.example, without a path or wildcard")
    return text


def _each_once(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


Origin = Annotated[str, Field(max_length=300), AfterValidator(_origin)]
Origins = Annotated[
    tuple[Origin, ...],
    Field(min_length=1, max_length=20, description="The exact origins of the pages with the tag."),
    AfterValidator(_each_once),
]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
Starter = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Color = Annotated[str, StringConstraints(pattern=r"^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$")]


class Way(Value):
    """Another way to reach the business, besides the web chat."""

    label: Annotated[Name, Field(description="What visitors read, such as `Call us`.")]
    url: Annotated[
        str,
        Field(
            max_length=500,
            pattern=r'^(https://|tel:|sms:|mailto:)[^\s<>"]+$',
            description="A URL of `https`, `tel`, `sms` or `mailto`.",
        ),
    ]


class PublicProfile(Value):
    """What everybody may read about the business, for example its name."""

    name: Annotated[Name, Field(description="The name that visitors read.")]
    ways: Annotated[
        tuple[Way, ...],
        Field(max_length=5, description="Other ways to reach the business, also over a limit."),
    ] = ()


class VisitConsent(Value):
    """The text that visitors read before they write."""

    text: Annotated[Words, Field(description="The text.")]
    url: Annotated[
        str | None,
        Field(max_length=500, pattern=r"^https://\S+$", description="The privacy notice."),
    ] = None
    required: Annotated[
        JsonBool, Field(description="Whether visitors must agree before they write.")
    ] = True


class WidgetLimits(Value):
    """Limits that all visitors of a widget share."""

    visits_per_minute: Annotated[
        int, Field(ge=1, le=1_000, description="New visits a minute."), NUMBER
    ] = 60
    messages_per_day: Annotated[
        int, Field(ge=1, le=100_000, description="Messages of visitors a day."), NUMBER
    ] = 2_000
    tokens_per_day: Annotated[
        int,
        Field(ge=50_000, le=1_000_000_000, description="Model tokens a day for visitors."),
        NUMBER,
    ] = 1_000_000


class WidgetTheme(Value):
    """The look of the widget. A web page can override it."""

    color: Annotated[Color | None, Field(description="The accent color.")] = None
    scheme: Annotated[ColorScheme, Field(description="Light, dark, or as the system.")] = "auto"
    side: Annotated[WidgetSide, Field(description="The side of its button.")] = "end"


class ShownFields(BaseModel):
    """The fields of a widget that visitors see. All have defaults."""

    greeting: Annotated[
        Words | None, Field(description="The first words, which no model writes.")
    ] = None
    starters: Annotated[
        tuple[Starter, ...], Field(max_length=6, description="Questions that visitors can tap.")
    ] = ()
    consent: Annotated[
        VisitConsent | None, Field(description="The consent text; null for none.")
    ] = None
    theme: Annotated[WidgetTheme, Field(description="Its look.")] = WidgetTheme()


class WidgetFields(ShownFields):
    """The fields of a widget that have defaults."""

    tools: Annotated[
        tuple[ToolName, ...],
        Field(max_length=20, description="The agent's tools in chats with visitors."),
        AfterValidator(_each_once),
    ] = VISIT_TOOLS
    limits: Annotated[WidgetLimits, Field(description="The limits of all its visitors.")] = (
        WidgetLimits()
    )
    enabled: Annotated[JsonBool, Field(description="Whether visitors can use it.")] = True


class PlacedWidget(WidgetFields):
    """A widget with its agent and the origins of its pages."""

    agent_id: Annotated[EntityId, Field(description="The agent that answers.")]
    origins: Origins
    public: Annotated[PublicProfile, Field(description="What everybody may read.")]


class Widget(PlacedWidget, Stored):
    """An agent on the web pages of some origins.

    Attributes:
        consent_version: The version of the consent text. A changed text raises it.
        version: The optimistic lock.
    """

    tenant: Tenant
    id: Identifier
    consent_version: int = 1
    version: int = 1
    created_at: Instant

    @property
    def pool(self) -> str:
        """The name of the pool of limits that the visitors share. Visitors' ids contain it."""
        return self.id.removeprefix("wgt_")

    @staticmethod
    def key_of(widget_id: str) -> "Key[Widget]":
        """Return the key of a widget.

        The key has no tenant, because a web page knows only the widget's id.
        """
        return Key(f"WIDGET#{key_part(widget_id)}", META)

    @property
    def key(self) -> "Key[Widget]":
        return self.key_of(self.id)

    def to_item(self) -> Item:
        """Return the widget as table attributes. The index lists it under its tenant."""
        return self.attributes() | {"gsi1pk": widgets_relation(self.tenant), "gsi1sk": self.id}


def widgets_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's widgets."""
    return f"{key_part(tenant)}#WIDGETS"
