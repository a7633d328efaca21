"""Requests and resources of the HTTP API: agents, users and lines."""

from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

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
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.address import ChannelName
from skein.models.common.base import NULL, EntityId, Instant, NamedModel, not_a_visitor
from skein.models.common.free_fields import Profile
from skein.models.common.person_names import MemberName, NameSource
from skein.models.config.overrides import (
    ChatOverridesChange,
    OverridableSettings,
    PartialSettings,
    SettingSource,
)
from skein.models.directory.agent import (
    CONFIGURED,
    DEFAULT_TOOLS,
    Agent,
    AgentFields,
    AgentVersion,
    OwnToolName,
    ToolName,
)
from skein.models.directory.line import LineFields
from skein.models.directory.phone_number import LineAddress, Phone
from skein.models.directory.profile_change import ProfileChangeMadeBy
from skein.models.directory.role import MAX_ROLES, Role
from skein.models.directory.user import MAX_ADDRESSES, User, UserFields

ToolNames = Annotated[
    tuple[ToolName | OwnToolName, ...],
    Field(max_length=64),
    AfterValidator(lambda names: tuple(dict.fromkeys(names))),
]
TemplateName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{0,39}$")]
Overridden = Annotated[
    ChatOverridesChange,
    Field(description="Settings of its own. Null in a field removes the setting."),
]


class WholeAgent(AgentFields, Request):
    """All fields of an agent that operators set. An omitted field has its default."""

    name: Annotated[MemberName, Field(description="The name.")]
    enabled_tools: Annotated[ToolNames, Field(description="The tools that the agent may call.")] = (
        DEFAULT_TOOLS
    )
    settings: Overridden = ChatOverridesChange()

    @property
    def configured(self) -> dict[str, Any]:
        """The values of all fields by name, in the form in which `Agent` stores them."""
        values = {name: getattr(self, name) for name in CONFIGURED}
        return {**values, "settings": self.settings.values}


class NewAgent(WholeAgent):
    """A new agent."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "Coach",
                "system_prompt": "You are a running coach. Be short and encouraging.",
                "description": "Helps people to run regularly.",
                "listed": True,
            }
        }
    )

    template: Annotated[
        TemplateName | None,
        Field(
            description="The agent template from which fields that are omitted here are taken, and "
            "with whose plans the agent starts. `GET /v1/agent-templates` lists them."
        ),
    ] = None


class TemplatePlan(Resource):
    """A plan that each agent gets when it is created from the template."""

    name: Annotated[str, Field(description="The name.")]
    instruction: Annotated[str, Field(description="What the agent does when the plan is due.")]
    cron: Annotated[str, Field(description="Five cron fields, in the agent's time zone.")]


class AgentTemplateResource(Resource):
    """A template for new agents."""

    name: Annotated[TemplateName, Field(description="The name to create an agent with.")]
    title: Annotated[str, Field(description="The name that people read.")]
    about: Annotated[str, Field(description="What such an agent does, in one sentence.")]
    system_prompt: Annotated[str, Field(description="The instructions for the agent.")]
    enabled_tools: Annotated[
        tuple[str, ...], Field(description="The tools that the agent may call.")
    ]
    plans: Annotated[
        tuple[TemplatePlan, ...], Field(description="The plans with which the agent starts.")
    ]


class AgentTemplateList(Page[AgentTemplateResource]):
    """All templates for new agents, with the empty template last."""


class AgentChange(AgentFields, ChangeRequest):
    """Changes to an agent. Omitted fields stay unchanged.

    Null resets `model`, `reply_mode`, `history_format`, `summary_instruction`,
    `max_prompt_tokens`, `max_concurrent_runs`, `description`, `outsiders` and `who_may_add`.
    Null leaves the other fields unchanged.
    """

    model_config = ConfigDict(json_schema_extra={"example": {"reply_mode": "text"}})

    name: Annotated[MemberName | None, Field(description="The name.")] = None
    enabled_tools: Annotated[ToolNames, Field(description="The tools that the agent may call.")] = (
        DEFAULT_TOOLS
    )
    settings: Annotated[
        Overridden | None,
        Field(
            description="The item's own settings. Null in a field means that the next level "
            "decides."
        ),
    ] = None

    def values_for(self, agent: Agent) -> dict[str, Any]:
        """Return the changed fields of an agent, with their new values."""
        given = self.given
        if "settings" in given:
            given["settings"] = given["settings"].applied_to(agent.settings)
        return given


class IdentifiedAgent(Resource):
    """Base class that adds the agent's id, as the first field of the JSON."""

    id: Id


class AgentConfiguration(AgentFields, NamedModel, Resource):
    """The fields of an agent that operators set."""

    settings: Annotated[
        dict[str, Any],
        Field(
            description="The item's own settings. Null in a field means that the next level "
            "decides."
        ),
    ]


class AgentResource(AgentConfiguration, IdentifiedAgent):
    """An agent."""

    created_at: CreatedAt


WarningCode = Literal["unlisted_model", "no_tool_called", "no_trial"]
"""Which problem of an agent's configuration a warning reports."""


class AgentWarning(Resource):
    """A problem of an agent's configuration, which does not prevent the request."""

    code: Annotated[WarningCode, Field(description="Stable code for programs.")]
    message: Annotated[str, Field(description="Explanation for people; its wording may change.")]


class AgentDetail(AgentResource):
    """An agent with the warnings about its configuration."""

    warnings: Annotated[
        tuple[AgentWarning, ...],
        Field(description="Problems of the configuration, which do not prevent requests."),
    ]

    @classmethod
    def with_warnings(cls, agent: Agent, warnings: tuple[AgentWarning, ...]) -> Self:
        """Build the resource of an agent with its warnings."""
        return cls(**dict(AgentResource.of(agent)), warnings=warnings)


class AgentVersionResource(Resource):
    """A version of an agent's configuration."""

    version: Annotated[int, Field(description="The version, a number that each change raises.")]
    changed_at: Annotated[Instant, Field(description="When the version was stored.")]
    changed_by: Annotated[
        str | None, Field(description="The operator; null if that was not recorded.")
    ]
    restored_from: Annotated[
        int | None, Field(description="The version that was restored, if this is a roll-back.")
    ]
    configuration: Annotated[
        AgentConfiguration,
        Field(description="All values that operators set, as they are in this version."),
    ]

    @classmethod
    def of(cls, version: AgentVersion) -> Self:
        return cls(
            version=version.version,
            changed_at=version.changed_at,
            changed_by=version.changed_by,
            restored_from=version.restored_from,
            configuration=AgentConfiguration(**version.configured),
        )


class AgentVersionPage(Page[AgentVersionResource]):
    """A page of an agent's versions, newest first."""


class ListedAgent(Resource):
    """An agent in the directory."""

    id: Id
    name: Annotated[str, Field(description="The name.")]
    description: Annotated[
        str | None,
        Field(description="What the agent is for; null if operators gave no description."),
    ]


class DirectoryPage(Page[ListedAgent]):
    """A page of listed agents, oldest first."""


class AgentPage(Page[AgentResource]):
    """A page of agents, oldest first."""


PERSON_NAME = (
    "The name. Reserved words, such as `System`, and names with a tag, such as "
    "`Ann (chosen, k3f9)`, are refused."
)
OptionalPersonName = Annotated[MemberName | None, Field(description=PERSON_NAME)]


Roles = Annotated[
    tuple[Role, ...],
    Field(max_length=MAX_ROLES, description="The roles that sharing rules name."),
]


class NewUser(UserFields, Request):
    """A new user."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"name": "Husam", "phones": ["+15005550100"]}}
    )

    name: Annotated[MemberName, Field(description=PERSON_NAME)]
    id: Annotated[
        Annotated[EntityId, AfterValidator(not_a_visitor)] | None,
        Field(description="The `sub` of the user's token; null: Skein generates an id."),
    ] = None
    phones: Annotated[
        tuple[Phone, ...],
        Field(description="Phone numbers with country codes.", max_length=MAX_ADDRESSES),
    ] = ()
    profile: Profile = Field(default_factory=dict)
    roles: Roles = ()


class UserChange(UserFields, ChangeRequest):
    """Changes to a user. Omitted fields stay unchanged.

    Null removes the time zone and the quiet hours. The same holds for the fields of the profile:
    null removes a field.
    """

    name: OptionalPersonName = None
    phones: Annotated[
        Annotated[tuple[Phone, ...], Field(max_length=MAX_ADDRESSES)] | None,
        Field(description="Phone numbers with country codes."),
    ] = None
    profile: Annotated[
        Profile | None, Field(description="Free fields about the person, up to 16 KiB.")
    ] = None
    roles: Roles | None = None


class OwnChange(UserFields, ChangeRequest):
    """Changes to the caller's own record. Omitted fields stay unchanged; null removes a field.

    Null leaves `name` unchanged.
    """

    model_config = ConfigDict(
        json_schema_extra={"example": {"name": "Husam", "time_zone": "Europe/Berlin"}}
    )

    name: OptionalPersonName = None


WITHHELD_PROFILE = (
    "Null if withheld: a profile is private content, which takes the role `privacy` and a `reason`."
)


class UserResource(UserFields, NamedModel, Resource):
    """A user, without the profile."""

    id: Id
    name_source: Annotated[
        NameSource,
        Field(
            description="`given` by the token's issuer, an operator or Skein, or `chosen` by the "
            "user. Others see a chosen name with a tag: `Alice Ward (chosen, k3f9)`."
        ),
    ]
    phones: Annotated[tuple[str, ...], Field(description="Phone numbers with country codes.")]

    @classmethod
    def of(cls, user: User, **more: Any) -> Self:
        shared = {name: getattr(user, name) for name in UserResource.model_fields}
        return cls(**shared, **more)


class ProfileSourceResource(Resource):
    """Where a value comes from that an agent set in a user's record."""

    made_by: Annotated[
        ProfileChangeMadeBy,
        Field(description="Consolidation of the chat, or the agent's tool."),
    ]
    agent_id: IdOfAgent
    chat_id: IdOfChat
    seqs: Annotated[
        tuple[int, ...], Field(description="The person's messages that the value comes from.")
    ]
    said_at: Annotated[Instant, Field(description="Time of the newest of these messages.")]
    run_id: Annotated[str | None, Field(description="The run that called the tool.")]


class ProfileChangeResource(Resource):
    """A change of a user's name, time zone or profile field, by an agent or by the user."""

    id: Id
    field: Annotated[
        str, Field(description="The field: `name`, `time_zone`, or a field of the profile.")
    ]
    before: Annotated[Any, Field(description="Null if the field had no value.")]
    value: Annotated[Any, Field(description="Null if the field was removed.")]
    source: Annotated[
        ProfileSourceResource | None,
        Field(description="Null if the user made the change in the app."),
    ]
    at: Annotated[Instant, Field(description="When the change was made.")]
    undone_at: Annotated[
        Instant | None, Field(description="When an operator undid the change; null if not undone.")
    ]


class UserDetail(UserResource):
    """A user, with the profile and its changes by agents and by the user."""

    profile: Annotated[
        dict[str, Any] | None,
        Field(description=f"Free fields about the person, up to 16 KiB. {WITHHELD_PROFILE}"),
    ]
    profile_changes: Annotated[
        tuple[ProfileChangeResource, ...] | None,
        Field(
            description="Newest first, at most 30. A field's value is an agent's if its newest "
            f"change, apart from undone ones, set it and has a source. {WITHHELD_PROFILE}"
        ),
    ]
    roles: Annotated[
        tuple[Role, ...], Field(description="The roles that sharing rules name, as of now.")
    ]

    @classmethod
    def detailed(cls, user: User, *, private: bool) -> Self:
        """Build the resource of a user; the profile and its changes only if `private`."""
        roles = tuple(held.plain for held in user.roles if held.until is None)
        if not private:
            return cls.of(user, profile=None, profile_changes=None, roles=roles)
        changes = tuple(map(ProfileChangeResource.of, reversed(user.profile_changes)))
        return cls.of(user, profile=user.profile, profile_changes=changes, roles=roles)


class OperatorsReading(Resource):
    """Whether operators may read chats, as shown to the people who write in the chats."""

    on: Annotated[bool, Field(description="Whether operators may read chats, with a reason.")]
    since: Annotated[
        Instant | None, Field(description="When this last changed; null if it never did.")
    ]


class Myself(UserResource):
    """The user who is signed in."""

    profile: Annotated[
        dict[str, Any], Field(description="Free fields about the person, up to 16 KiB.")
    ]
    tenant: Annotated[str, Field(description="The tenant.")]
    scopes: Annotated[tuple[str, ...], Field(description="The scopes of the token.")]
    operators_read_chats: Annotated[
        OperatorsReading, Field(description="The tenant's setting `operators_read_chats`.")
    ]


class UserPage(Page[UserResource]):
    """A page of users, ordered by id."""


class DirectChatResource(Resource):
    """A direct chat of a user, without any text."""

    chat_id: IdOfChat
    agent_id: Annotated[str | None, Field(description="Null after the agent has left.")]
    line: Annotated[str | None, Field(description="Null for a chat that was always in the app.")]
    channel: Annotated[
        ChannelName | None,
        Field(description="The channel of the user's last message; null for the app."),
    ]
    phone: Annotated[str | None, Field(description="The user's number there; null for the app.")]
    opt_outs: Annotated[
        dict[ChannelName, Instant],
        Field(description="When the user opted out of each channel there, by STOP or the carrier."),
    ]
    last_seq: Annotated[int, Field(description="The `seq` of the newest message; 0 without one.")]

    @classmethod
    def from_parts(cls, chat: Chat, membership: Membership) -> Self:
        """Build the resource of a direct chat from the chat and the user's membership."""
        agents = (member.id for member in chat.roster if member.kind == "agent")
        route = membership.route
        line = route.line if route is not None else chat.line
        return cls(
            chat_id=chat.id,
            agent_id=next(agents, None),
            line=line.address if line is not None else None,
            channel=route.channel if route is not None else None,
            phone=route.person.address if route is not None else None,
            opt_outs=membership.opt_outs,
            last_seq=chat.last_seq,
        )


class DirectChatPage(Page[DirectChatResource]):
    """A page of a user's direct chats, the one with the newest message first."""


class NewLine(LineFields, Request):
    """A new line: a phone number that belongs to an agent."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"phone": "+15005550006", "agent_id": EXAMPLE_AGENT}}
    )

    phone: Annotated[
        LineAddress, Field(description="A phone number in E.164 form, such as +15005550100.")
    ]
    agent_id: Annotated[EntityId, Field(description="The id of an agent.")]
    settings: Overridden = ChatOverridesChange()


class LineChange(LineFields, ChangeRequest):
    """Changes to a line. Omitted and null fields stay unchanged."""

    agent_id: Annotated[EntityId | None, Field(description="The id of an agent.")] = None
    settings: Annotated[
        Overridden | None,
        Field(
            description="The item's own settings. Null in a field means that the next level "
            "decides."
        ),
    ] = None


class LineResource(LineFields, Resource):
    """A line: a phone number that belongs to an agent."""

    phone: Annotated[str, Field(description="A phone number in E.164 form, such as +15005550100.")]
    agent_id: IdOfAgent
    settings: Annotated[
        dict[str, Any],
        Field(
            description="The item's own settings. Null in a field means that the next level "
            "decides."
        ),
    ]


class LinePage(Page[LineResource]):
    """A page of lines, ordered by phone number."""


SettingType = Literal["boolean", "integer", "number", "string", "array", "object"]


class EffectiveSettingResource(Resource):
    """A setting in force: its value and the level that set it."""

    name: Annotated[str, Field(description="The name of the setting.")]
    description: Annotated[str, Field(description="What the setting does.")]
    type: Annotated[SettingType, Field(description="Type of the values in JSON.")]
    minimum: Annotated[float | None, Field(description="Lowest value; null: no bound.")]
    maximum: Annotated[float | None, Field(description="Highest value; null: no bound.")]
    choices: Annotated[
        tuple[str, ...], Field(description="The values that are allowed; empty: any of the type.")
    ]
    value: Annotated[Any, Field(description="The value in force.")]
    source: Annotated[
        SettingSource,
        Field(description="The level that set the value; `environment` is the deployment."),
    ]

    @classmethod
    def from_parts(cls, name: str, value: Any, source: SettingSource) -> Self:
        field = _definitions()[name]
        kind = next(part for part in field.get("anyOf", [field]) if part != NULL)
        return cls(
            name=name,
            description=field["description"],
            type=kind.get("type", "object"),
            minimum=kind.get("minimum"),
            maximum=kind.get("maximum"),
            choices=kind.get("enum", ()),
            value=value,
            source=source,
        )


@cache
def _definitions() -> dict[str, Any]:
    """Return the JSON schemas of the settings that operators may override, by name."""
    properties: dict[str, Any] = OverridableSettings.model_json_schema()["properties"]
    return properties


class EffectiveSettingPage(Page[EffectiveSettingResource]):
    """All settings in force, in one page."""


class SettingsResource(PartialSettings, OverridableSettings):
    """The settings of a tenant. Null means that the deployment decides."""
