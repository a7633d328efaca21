"""Base classes of the requests and resources of the HTTP API, and its errors.

Requests are strict: an unknown field is refused. Every field of a resource is always present; a
missing value is null.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from skein.models.common.base import Instant, Name, PartialModel
from skein.models.common.json_types import NUMBER

EXAMPLE_AGENT = "agt_01M804VMPX3DA30HZM0KD2DW9E"
EXAMPLE_TIME = "2026-11-21T22:54:08.412Z"
MAX_SEQ = 999_999_999_998

Seq = Annotated[int, Field(ge=0, le=MAX_SEQ), NUMBER]
Id = Annotated[str, Field(description="The id, an opaque text.")]
IdOfAgent = Annotated[str, Field(description="The id of an agent.")]
IdOfChat = Annotated[str, Field(description="The id of a chat.")]
CreatedAt = Annotated[Instant, Field(description="When the item was created.")]
EndedAt = Annotated[Instant | None, Field(description="When it ended; null before.")]
OptionalName = Annotated[Name | None, Field(description="The name.")]

# The codes of `skein.errors`, and those of `skein.http` for errors that no caller caused.
ErrorCode = Literal[
    "invalid",
    "unauthenticated",
    "forbidden",
    "not_found",
    "conflict",
    "too_large",
    "unsupported_media_type",
    "unprocessable",
    "rate_limited",
    "unavailable",
    "storage_full",
    "internal",
]


class Request(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChangeRequest(Request, PartialModel):
    """Changes to a resource. Omitted fields stay unchanged; see `given`.

    A subclass inherits fields from a class, such as `AgentFields`, that defines their defaults in a
    new resource. If an inherited field may be null, null resets the field. For all other fields,
    including those that the subclass declares itself, null is the same as omitting the field.
    """

    @property
    def given(self) -> dict[str, Any]:
        """Return the fields that the request changes, with their new values."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}

    @model_validator(mode="wrap")
    @classmethod
    def _without_ignored_nulls(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return validate(given)
        ignored = {name for name in cls.model_fields if given.get(name, cls) is None}
        ignored -= cls._resettable()
        made = validate({name: value for name, value in given.items() if name not in ignored})
        for name in cls.model_fields.keys() - made.model_fields_set:
            del vars(made)[name]  # the default of a new resource
        return made

    @classmethod
    def _resettable(cls) -> set[str]:
        """Return the names of the fields that null resets: inherited fields that may be null."""
        inherited = cls.model_fields.keys() - cls.__annotations__.keys()
        return {
            name for name in inherited if NoneType in get_args(cls.model_fields[name].annotation)
        }


REQUEST_WORDS = frozenset(
    {
        "default",
        "maximum",
        "maxItems",
        "maxLength",
        "minimum",
        "minItems",
        "minLength",
        "pattern",
    }
)
"""The keywords of a JSON schema that limit values of a request or replace missing ones."""


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a JSON schema and the schemas inside its `anyOf` and `items`."""
    yield schema
    for part in [*schema.get("anyOf", ()), *filter(None, [schema.get("items")])]:
        yield from _parts(part)


class Resource(BaseModel):
    """A response body of the API, or a part of one. All fields are always present."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    @classmethod
    def of(cls, source: Any, /) -> Self:
        """Build the resource from an object that has its fields as attributes."""
        return cls.model_validate(source, from_attributes=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema without limits and defaults, which belong to requests.

        A client that validates responses keeps working when a later release changes a limit.
        """
        made = handler(schema)
        for field in handler.resolve_ref_schema(made).get("properties", {}).values():
            for part in _parts(field):
                for word in REQUEST_WORDS & part.keys():
                    del part[word]
        return made


Shown = TypeVar("Shown", bound=Resource)


class Page(Resource, Generic[Shown]):
    """A page of a list."""

    items: Annotated[tuple[Shown, ...], Field(description="The items of this page.")]
    next_cursor: Annotated[
        str | None,
        Field(description="Pass it as `cursor` to get the next page; null on the last page."),
    ]

    @classmethod
    def of(cls, source: Any, /) -> Self:
        """Build the page from a listing; the method `of` of the item class builds each item."""
        shown = get_args(cls.model_fields["items"].annotation)[0]
        return cls(items=tuple(map(shown.of, source.items)), next_cursor=source.next_cursor)


class Problem(Resource):
    """The body of every response with a status of 400 or higher: problem details (RFC 9457)."""

    type: Annotated[
        Literal["about:blank"], Field(description="Always `about:blank`; see `code`.")
    ] = "about:blank"
    title: Annotated[str, Field(description="The meaning of the status.")]
    status: Annotated[int, Field(description="The HTTP status.")]
    detail: Annotated[str, Field(description="Explanation for people; its wording may change.")]
    code: Annotated[ErrorCode, Field(description="Stable code for programs.")]
    details: Annotated[dict[str, Any], Field(description="Details that depend on the code.")]
    request_id: Annotated[str, Field(description="The id of the request in the logs.")]


class Health(Resource):
    """The response of a health check, which says that the API is up."""

    status: Annotated[Literal["ok"], Field(description="Always `ok`.")] = "ok"
    paused: Annotated[
        tuple[str, ...] | None,
        Field(description="Work that is paused for all tenants; null if that is unknown."),
    ] = None
