"""A tool of a tenant: what a model sees of it, what it calls, and how its calls are guarded."""

import re
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.storage import Key, SortKeyPrefix
from skein.models.directory.agent import OwnToolName
from skein.models.quotas.prices import Price
from skein.own_tools.models.server_tool import (
    OF_SERVER,
    OwnToolEffect,
    ServerTool,
    ServerToolRights,
)

Approval = Literal["none", "person", "operator"]
ToolPrivacy = Literal["shared", "keeps_by_person"]
FromPrivate = Literal["never", "ask"]
HttpMethod = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

MAX_TOOLS = 200  # per tenant
MAX_SERVER_TOOLS = 30  # of an MCP server that agents may call
MAX_TOOL_VERSIONS = 50
LAST_TOOL_VERSION = 99_999_999
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
# Headers that Skein or the connection sets.
OWN_HEADERS = re.compile(
    r"host|connection|content-.*|transfer-encoding|te|upgrade|expect|idempotency-key|skein-.*"
    r"|webhook-.*|proxy-.*",
    re.IGNORECASE,
)

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")]
HeaderValue = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]{0,1000}$")]
SecretArn = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,300}$")]


def _own_header(name: str) -> str:
    if OWN_HEADERS.fullmatch(name) is not None:
        raise ValueError("Skein or the connection sets this header")
    return name


def service_url(url: str) -> str:
    """Check the URL of a service, whose path and query may contain arguments.

    Raises:
        ValueError: The URL is invalid.
    """
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in {"https", "http"} or parts.port == 0:
        raise ValueError("it must be an https URL with a host")
    if parts.username is not None or parts.fragment:
        raise ValueError("it must have no user and no fragment")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("it must be of printable ASCII, percent-encoded")
    if "{" in parts.netloc or "}" in parts.netloc:
        raise ValueError("an argument may stand in the path or the query, never in the host")
    return url


class HttpCall(Value):
    """The request that a tool sends."""

    method: Annotated[HttpMethod, Field(description="The method of the request.")] = "GET"
    url: Annotated[
        str,
        Field(
            max_length=2_000,
            description="The URL. `{argument}` in its path or query is replaced, percent-encoded.",
        ),
        AfterValidator(service_url),
    ]
    headers: Annotated[
        dict[Annotated[HeaderName, AfterValidator(_own_header)], HeaderValue],
        Field(
            default_factory=dict,
            max_length=20,
            description="Further headers, which are no secrets.",
        ),
    ]

    @property
    def in_url(self) -> tuple[str, ...]:
        """The arguments in the URL, each once."""
        return tuple(dict.fromkeys(PLACEHOLDER.findall(self.url)))


class PythonCall(Value):
    """The function that a tool calls."""

    function: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"),
        Field(description="The name of a function that the deployment installs."),
    ]


class McpServer(Value):
    """An MCP server, and which of its tools agents may call."""

    url: Annotated[
        str,
        Field(max_length=2_000, description="The URL of the server, for Streamable HTTP."),
        AfterValidator(service_url),
    ]
    tools: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")], ...],
        Field(
            max_length=MAX_SERVER_TOOLS,
            description="The names of the tools that agents may call, as the server lists them.",
        ),
    ] = ()


class Credentials(Value):
    """The credentials of a service: a secret that goes into one header."""

    secret_arn: Annotated[
        SecretArn,
        Field(description="The secret: a JSON object whose `value` is the whole header."),
    ]
    header: Annotated[
        HeaderName,
        Field(description="The header, such as `Authorization`."),
        AfterValidator(_own_header),
    ]


class ToolFields(BaseModel):
    """The fields of a tool that operators set."""

    description: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=1_000),
        Field(description="What the model reads about the tool; empty: the function's docstring."),
    ] = ""
    parameters: Annotated[
        dict[str, Any] | None,
        Field(description="JSON Schema of the arguments; null: none, or those of the function."),
    ] = None
    effect: Annotated[
        OwnToolEffect,
        Field(description="Whether a call only reads, or has effects that must happen once."),
    ] = "read"
    idempotent: Annotated[
        JsonBool,
        Field(description="Whether the service repeats no write with the same Idempotency-Key."),
    ] = False
    approval: Annotated[
        Approval | None,
        Field(description="Who agrees to each call; null: `person` for a write, else `none`."),
    ] = None
    approval_text: Annotated[
        str | None,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
        Field(description="The begin of the question, such as `Book a table`; null: the name."),
    ] = None
    privacy: Annotated[
        ToolPrivacy,
        Field(
            description="Whether the service may show arguments to anybody, or keeps the promise "
            "to return data only to the readers of the signed context."
        ),
    ] = "shared"
    from_private: Annotated[
        FromPrivate,
        Field(
            description="For a `shared` tool, whether private content may reach the service after "
            "a person's yes; without, only enums and booleans do, and at most 24 bits a run."
        ),
    ] = "never"
    credentials: Annotated[
        Credentials | None, Field(description="The secret of the service; null: none.")
    ] = None
    timeout_seconds: Annotated[
        int, Field(ge=1, le=25, description="The time limit of a call."), NUMBER
    ] = 10
    max_result_tokens: Annotated[
        int, Field(ge=50, le=10_000, description="The tokens of a result that are kept."), NUMBER
    ] = 2_000
    max_calls_per_day: Annotated[
        int | None,
        Field(ge=1, le=1_000_000, description="Calls for one person, and of one agent, in a day."),
        NUMBER,
    ] = None
    cost_per_call: Annotated[
        Price, Field(description="What one call costs, in the currency of the tenant's prices.")
    ] = 0
    enabled: Annotated[JsonBool, Field(description="Whether agents may call the tool.")] = True
    http: Annotated[HttpCall | None, Field(description="For a service by HTTP.")] = None
    python: Annotated[PythonCall | None, Field(description="For a function in Python.")] = None
    mcp: Annotated[McpServer | None, Field(description="For an MCP server.")] = None


TOOL_FIELDS = tuple(ToolFields.model_fields)
"""The fields of a tool that its versions keep."""


class OwnTool(ToolFields, Stored):
    """A tool of a tenant.

    Attributes:
        nonce: The random part of the secret that signs the context of calls; see `secret_of`.
        secret: The secret. It is set only when it was just created, and it is never stored.
        approved: The tools of an MCP server that agents may call, as an operator approved them.
        rights: The operator's classification of the approved tools, by digest. A tool without a
            classification counts as a tool that writes.
        version: The optimistic lock, and the number of the tool's version.
    """

    PREFIX: ClassVar = SortKeyPrefix("TOOL#")

    tenant: Tenant
    name: OwnToolName
    nonce: Annotated[str, Field(repr=False)]
    secret: Annotated[str, Field(exclude=True, repr=False)] = ""
    approved: Annotated[tuple[ServerTool, ...], Field(exclude_if=lambda tools: not tools)] = ()
    rights: Annotated[
        dict[str, ServerToolRights], Field(default_factory=dict, exclude_if=lambda each: not each)
    ]
    version: int = 1
    created_at: Instant
    changed_at: Instant | None = None
    changed_by: Identifier | None = None

    @staticmethod
    def key_of(tenant: str, name: str) -> "Key[OwnTool]":
        return Key(tools_partition(tenant), f"{OwnTool.PREFIX}{key_part(name)}")

    @property
    def key(self) -> "Key[OwnTool]":
        return self.key_of(self.tenant, self.name)

    @property
    def asks(self) -> Approval:
        """Who must approve each call."""
        return self.approval or ("person" if self.effect == "write" else "none")

    @property
    def repeatable(self) -> bool:
        """Whether a call whose outcome is unknown may be made again."""
        return self.effect == "read" or self.idempotent

    @property
    def service(self) -> str:
        """The name of the called service: the name of the MCP server, or of the tool itself."""
        return self.name.partition(OF_SERVER)[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which agents list the tool, or the approved tools of an MCP server."""
        return (self.name,) if self.mcp is None else tuple(each.name for each in self.of_server())

    def of_server(self) -> "tuple[OwnTool, ...]":
        """Return the approved tools of an MCP server, each as a tool of its own."""
        return tuple(self._of_server(each) for each in self.approved)

    def rights_of(self, listed: ServerTool) -> ServerToolRights:
        """Return the operator's classification of an MCP server's tool."""
        return self.rights.get(listed.digest, ServerToolRights())

    def _of_server(self, listed: ServerTool) -> "OwnTool":
        rights = self.rights_of(listed)
        return self.model_copy(
            update={
                "name": f"{self.name}{OF_SERVER}{listed.short_name}",
                "description": listed.description,
                "parameters": listed.parameters,
                "effect": rights.effect,
                "idempotent": rights.idempotent,
                "approved": (listed,),
                "rights": {listed.digest: rights},
            }
        )

    @property
    def author(self) -> str:
        """The tool's ID, under which `Authors` lists the tool for the text that it returned."""
        return f"tool:{self.name}"


class OwnToolVersion(Stored):
    """One version of a tool: its fields as they were then, without its secret.

    Attributes:
        restored_from: The earlier version that this version restores; None for any other change.
    """

    PREFIX: ClassVar = SortKeyPrefix("TOOLVERSION#")

    tenant: Tenant
    name: OwnToolName
    version: int
    changed_at: Instant
    changed_by: Identifier | None = None
    restored_from: int | None = None
    fields: dict[str, Any]

    @classmethod
    def of(cls, tool: OwnTool, *, restored_from: int | None = None) -> "OwnToolVersion":
        """Return the current version of a tool."""
        return cls(
            tenant=tool.tenant,
            name=tool.name,
            version=tool.version,
            changed_at=tool.changed_at or tool.created_at,
            changed_by=tool.changed_by,
            restored_from=restored_from,
            fields=tool.model_dump(mode="json", include=set(TOOL_FIELDS), exclude_none=True),
        )

    @staticmethod
    def key_of(tenant: str, name: str, version: int) -> "Key[OwnToolVersion]":
        """Return the key of a version; newer versions sort before older ones."""
        position = LAST_TOOL_VERSION - version
        return Key(tool_versions_partition(tenant, name), f"{OwnToolVersion.PREFIX}{position:08d}")

    @property
    def key(self) -> "Key[OwnToolVersion]":
        return self.key_of(self.tenant, self.name, self.version)


def tools_partition(tenant: str) -> str:
    return f"{key_part(tenant)}#TOOLS"


def tool_versions_partition(tenant: str, name: str) -> str:
    return f"{tools_partition(tenant)}#{key_part(name)}#VERSIONS"
