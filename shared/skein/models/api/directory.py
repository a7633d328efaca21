"""What operators send to the HTTP API and get from it: agents, people and lines (DESIGN 7)."""

from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

import phonenumbers
from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter

from skein.models.api.base import EntityId, Request, Resource
from skein.models.common.base import E164, Instant, Name
from skein.models.common.free_fields import Profile, ProfileFieldNames
from skein.models.config.overrides import ChatOverridesChange, TenantOverrides
from skein.models.directory.agent import (
    DEFAULT_TOOLS,
    PROFILE_FIELDS,
    Agent,
    HistoryFormat,
    ReplyMode,
    ToolName,
)
from skein.models.directory.line import Line
from skein.models.directory.user import MAX_PHONES, User

_E164: TypeAdapter[str] = TypeAdapter(E164)


def iana_time_zone(name: str) -> str:
    """`name`, if it is an IANA time zone such as `Europe/Berlin`.

    Raises:
        ValueError: It is none.
    """
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # what zoneinfo raises for odd names of all sorts
        raise ValueError("not an IANA time zone") from None
    return name


def e164(phone: str) -> str:
    """A phone number with its country code in the one form in which it is stored: +15005550006.

    Raises:
        ValueError: No phone number can look like this.
    """
    try:
        number = phonenumbers.parse(phone, None)
    except phonenumbers.NumberParseException:
        raise ValueError("not a phone number with its country code") from None
    if not phonenumbers.is_possible_number(number):
        raise ValueError("not a possible phone number")
    formatted = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return _E164.validate_python(formatted)


TimeZone = Annotated[
    str, StringConstraints(min_length=1, max_length=64), AfterValidator(iana_time_zone)
]
Phone = Annotated[str, StringConstraints(min_length=1, max_length=32), AfterValidator(e164)]
SystemPrompt = Annotated[str, Field(max_length=50_000)]
ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
SummaryInstruction = Annotated[
    str,
    Field(
        max_length=10_000,
        description="What its notes on its chats are to say; null or blank: the default.",
    ),
]
PromptTokens = Annotated[int, Field(ge=1_000, le=1_000_000)]
ToolNames = Annotated[tuple[ToolName, ...], Field(max_length=64)]
Overridden = Annotated[
    ChatOverridesChange,
    Field(description="Settings that it decides itself; a null in it leaves one to others again."),
]
ConcurrentRuns = Annotated[
    int, Field(ge=1, le=1_000, description="Its runs at work at once; null: the deployment's.")
]


class NewAgent(Request):
    """An agent to be made."""

    name: Name
    system_prompt: SystemPrompt = ""
    model: Annotated[ModelName | None, Field(description="Null: the deployment's default.")] = None
    reply_mode: Annotated[
        ReplyMode | None, Field(description="Null: as the chat's kind has it.")
    ] = None
    history_format: Annotated[
        HistoryFormat | None, Field(description="Null: as the chat's kind has it.")
    ] = None
    enabled_tools: ToolNames = DEFAULT_TOOLS
    summary_instruction: SummaryInstruction | None = None
    profile_fields: ProfileFieldNames = PROFILE_FIELDS
    time_zone: Annotated[TimeZone, Field(description="IANA name.")] = "UTC"
    max_prompt_tokens: PromptTokens | None = None
    max_concurrent_runs: ConcurrentRuns | None = None
    settings: Overridden = ChatOverridesChange()


class AgentChange(Request):
    """What of an agent is to change; left out, a field stays.

    Null sets `model`, `reply_mode`, `history_format`, `summary_instruction`,
    `max_prompt_tokens` and `max_concurrent_runs` back, and leaves the others as they are.
    """

    clearable = frozenset(
        {
            "model",
            "reply_mode",
            "history_format",
            "summary_instruction",
            "max_prompt_tokens",
            "max_concurrent_runs",
        }
    )

    name: Name | None = None
    system_prompt: SystemPrompt | None = None
    model: ModelName | None = None
    reply_mode: ReplyMode | None = None
    history_format: HistoryFormat | None = None
    enabled_tools: ToolNames | None = None
    summary_instruction: SummaryInstruction | None = None
    profile_fields: ProfileFieldNames | None = None
    time_zone: TimeZone | None = None
    max_prompt_tokens: PromptTokens | None = None
    max_concurrent_runs: ConcurrentRuns | None = None
    settings: Overridden | None = None


class AgentResource(Resource):
    """An agent."""

    id: str
    name: str
    system_prompt: str
    model: str | None
    reply_mode: ReplyMode | None
    history_format: HistoryFormat | None
    enabled_tools: tuple[str, ...]
    summary_instruction: str | None
    profile_fields: tuple[str, ...]
    time_zone: str
    max_prompt_tokens: int | None
    max_concurrent_runs: int | None
    settings: dict[str, Any]
    created_at: Instant

    @classmethod
    def of(cls, agent: Agent) -> Self:
        """The resource of an agent."""
        values = {name: getattr(agent, name) for name in cls.model_fields}
        return cls(**values | {"settings": agent.settings.said})


class AgentPage(Resource):
    """A page of agents, the oldest first."""

    items: tuple[AgentResource, ...]
    next_cursor: str | None


class NewUser(Request):
    """A person to be made."""

    id: Annotated[
        EntityId | None,
        Field(description="The `sub` of their sign-in; null for one that is made up."),
    ] = None
    name: Name
    phones: Annotated[
        tuple[Phone, ...],
        Field(description="With their country codes.", max_length=MAX_PHONES),
    ] = ()
    time_zone: Annotated[TimeZone | None, Field(description="IANA name.")] = None
    profile: Profile = Field(default_factory=dict)


class UserChange(Request):
    """What of a person is to change; left out, a field stays. Null takes the time zone away.

    Fields of the profile that are left out stay, too; null takes one away.
    """

    clearable = frozenset({"time_zone"})

    name: Name | None = None
    phones: Annotated[tuple[Phone, ...], Field(max_length=MAX_PHONES)] | None = None
    time_zone: TimeZone | None = None
    profile: Profile | None = None


class UserResource(Resource):
    """A person."""

    id: str
    name: str
    phones: tuple[str, ...]
    time_zone: str | None
    profile: dict[str, Any]

    @classmethod
    def of(cls, user: User, **more: Any) -> Self:
        """The resource of a person."""
        shared = {name: getattr(user, name) for name in UserResource.model_fields}
        return cls(**shared, **more)


class Myself(UserResource):
    """The person who is signed in."""

    tenant: str
    scopes: tuple[str, ...]


class UserPage(Resource):
    """A page of people, by id."""

    items: tuple[UserResource, ...]
    next_cursor: str | None


class NewLine(Request):
    """A phone number on which an agent is to be reached."""

    phone: Phone
    agent_id: EntityId
    settings: Overridden = ChatOverridesChange()


class LineChange(Request):
    """What of a line is to change; left out or null, a field stays."""

    agent_id: EntityId | None = None
    settings: Overridden | None = None


class LineResource(Resource):
    """A phone number on which an agent is reached."""

    phone: str
    agent_id: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, line: Line) -> Self:
        """The resource of a line."""
        return cls(phone=line.phone, agent_id=line.agent_id, settings=line.settings.said)


class LinePage(Resource):
    """A page of lines, by number."""

    items: tuple[LineResource, ...]
    next_cursor: str | None


class SettingsResource(TenantOverrides):
    """What a tenant says of its settings; null is left to the deployment."""
