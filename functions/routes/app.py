"""What every handler of the HTTP API shares: who is calling, what may come in, how errors go out.

It stands in front of the routes: sign-in, scope and body are judged here, before a route's own
validation, so that who may not call learns nothing of how to.
"""

import binascii
import json
import re
import threading
from base64 import b64decode
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal, Self

import pydantic_core
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response, content_types
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BeforeValidator, Field, StringConstraints, ValidationError

from skein.errors import (
    Forbidden,
    Invalid,
    NotFound,
    SkeinError,
    TooLarge,
    Unauthenticated,
    Unprocessable,
)
from skein.http import error_response
from skein.models.api.base import EntityId, ErrorEnvelope
from skein.models.base import NamedMember, Tenant, Value
from skein.services.common.pagination import MAX_PAGE

Scope = Literal["chat", "admin"]

BODILESS = frozenset({"GET", "HEAD", "DELETE"})
MAX_BODY_BYTES = 256 * 1024
MAX_NAME = 200
NO_SUCH_CALL = "there is no such call"
ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
STATUSES: dict[int, str] = {
    400: "The request does not parse, or its cursor is not one of this list.",
    401: "Nobody is signed in.",
    403: "The scope for this call is missing.",
    404: "There is no such thing for this caller.",
    409: "The thing is in a state that forbids this.",
    413: "The body holds more than 256 KiB.",
    422: "The values do not fit; `details` says which.",
    429: "Too much, too soon; `Retry-After` says when to try again.",
    503: "This could not be done now; try again.",
}

# Powertools keeps the event of the moment in a class attribute, so requests of one process go
# through one by one. Lambda never sends two; the local stack may.
_one_at_a_time = threading.Lock()


def iso_day(value: object) -> object:
    """A day as it must be written, 2026-02-18; left to itself pydantic takes 0 for 1970.

    Raises:
        ValueError: It is written in another way.
    """
    if isinstance(value, str) and not ISO_DAY.fullmatch(value):
        raise ValueError("write a day like 2026-02-18")
    return value


ChatId = Annotated[EntityId, Path(description="A chat's id.")]
MemberId = Annotated[EntityId, Path(description="A person's or an agent's id.")]
AgentId = Annotated[EntityId, Path(description="An agent's id.")]
UserId = Annotated[EntityId, Path(description="A person's id.")]
PhoneNumber = Annotated[EntityId, Path(description="A number such as +15005550006.")]
RunId = Annotated[EntityId, Path(description="A run's id.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many to show at most.")]
Day = Annotated[
    date | None,
    BeforeValidator(iso_day),
    Query(description="The day in UTC, by default today."),
]
PageCursor = Annotated[
    str | None, Query(max_length=1_000, description="`next_cursor` of the page before.")
]


class Principal(Value):
    """Who is calling, as the gateway's authorizer has verified it.

    Attributes:
        name: How the sign-in calls them; the id if it does not say.
    """

    tenant: Tenant
    user_id: EntityId
    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
    scopes: Annotated[tuple[str, ...], Field(max_length=100)]

    @property
    def person(self) -> NamedMember:
        """The caller as a member of chats."""
        return NamedMember(kind="user", id=self.user_id, name=self.name)


class Api(APIGatewayHttpResolver):
    """The routes of one function, all behind one scope.

    Args:
        scope: What a token must hold to call any of them.
        public: Paths that need no token.
    """

    def __init__(self, *, scope: Scope, public: frozenset[str] = frozenset()) -> None:
        super().__init__(
            enable_validation=True,
            response_validation_error_http_code=500,
            serializer=partial(json.dumps, ensure_ascii=False, separators=(",", ":")),
            json_body_deserializer=parse_object,
        )
        self.scope = scope
        self.public = public
        self.exception_handler(NotFoundError)(_no_such_route)
        self.exception_handler(RequestValidationError)(_unfit)
        self.exception_handler(SkeinError)(_answer)
        self.exception_handler(Exception)(_unexpected)

    def resolve(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one request; whatever goes wrong is an answer, too."""
        with _one_at_a_time:
            try:
                if event.get("rawPath") not in self.public:
                    self.context["principal"] = self._admit(event)
                return super().resolve({**event, **_readable_body(event)}, context)
            except SkeinError as error:
                self.context.clear()
                return error_response(error)

    @property
    def caller(self) -> Principal:
        """Who is calling the route at work."""
        principal: Principal = self.context["principal"]
        return principal

    def including(self, *routers: "ApiRouter") -> Self:
        """This API with the routes of `routers`, too."""
        for router in routers:
            self.include_router(router)
        return self

    def _admit(self, event: Mapping[str, Any]) -> Principal:
        principal = principal_of(event)
        if self.scope not in principal.scopes:
            if not self._leads_somewhere(event):
                raise NotFound(NO_SUCH_CALL)
            raise Forbidden(f"this call needs the scope {self.scope!r}")
        return principal

    def _leads_somewhere(self, event: Mapping[str, Any]) -> bool:
        """Whether there is a route for the request."""
        method, path = event["requestContext"]["http"]["method"], event.get("rawPath", "")
        routes = [*self._static_routes, *self._dynamic_routes]
        return any(route.method == method and route.rule.match(path) for route in routes)


class ApiRouter(APIGatewayHttpRouter):
    """The routes of some resources, in a file of their own; an `Api` includes them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def caller(self) -> Principal:
        """Who is calling the route at work."""
        principal: Principal = self.context["principal"]
        return principal


def principal_of(event: Mapping[str, Any]) -> Principal:
    """The caller, from the claims that the gateway's JWT authorizer has verified.

    Raises:
        Unauthenticated: There are none, or they lack a `sub` or a `tenant` that can be used.
    """
    authorizer = event.get("requestContext", {}).get("authorizer") or {}
    claims = (authorizer.get("jwt") or {}).get("claims") or {}
    subject = claims.get("sub")
    name = str(claims.get("name") or "").strip()[:MAX_NAME].strip() or subject
    try:
        return Principal(
            tenant=claims.get("tenant"),
            user_id=subject,
            name=name,
            scopes=scopes_of(claims.get("scope")),
        )
    except ValidationError:
        raise Unauthenticated("the token has no usable sub, tenant or scope") from None


def scopes_of(claim: object) -> tuple[str, ...]:
    """The scopes of a token: words in a text, a list, or a list as the gateway spells it: [a b]."""
    if isinstance(claim, str):
        claim = claim.strip("[]").replace(",", " ").split()
    if not isinstance(claim, list):
        return ()
    return tuple(scope for scope in claim if isinstance(scope, str))


def _readable_body(event: Mapping[str, Any]) -> dict[str, Any]:
    """The body as text, within its bounds.

    Raises:
        Invalid: It is not UTF-8, not what its encoding says, or not JSON by its own account.
        TooLarge: It holds more than 256 KiB.
    """
    body = event.get("body")
    if not body or event["requestContext"]["http"]["method"] in BODILESS:
        return {"body": None, "isBase64Encoded": False}
    try:
        data = b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode()
        text = data.decode()
    except (UnicodeError, binascii.Error, ValueError):
        raise Invalid("the body is not valid UTF-8") from None
    if len(data) > MAX_BODY_BYTES:
        raise TooLarge(f"the body holds more than {MAX_BODY_BYTES:,} bytes")
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    media_type = headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type not in {"", "application/json"}:
        raise Invalid("the body must be application/json")
    headers["content-type"] = content_types.APPLICATION_JSON
    return {"body": text, "isBase64Encoded": False, "headers": headers}


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object that a body holds.

    Raises:
        Invalid: It is no JSON, or no object.
        Unprocessable: A text in it holds a NUL character.
    """
    try:
        value = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError:
        raise Invalid("the body is not valid JSON") from None
    if not isinstance(value, dict):
        raise Invalid("the body must be a JSON object")
    if "\\u0000" in text and _holds_nul(value):
        raise Unprocessable("a text may not hold NUL characters")
    return value


def _holds_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_nul(name) or _holds_nul(inner) for name, inner in value.items())
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return isinstance(value, str) and "\0" in value


def _answer(error: SkeinError) -> Response[str]:
    answer = error_response(error)
    return Response(
        answer["statusCode"],
        content_types.APPLICATION_JSON,
        answer["body"],
        headers=dict(answer["headers"]),
    )


def _no_such_route(_error: NotFoundError) -> Response[str]:
    return _answer(NotFound(NO_SUCH_CALL))


def _unfit(error: RequestValidationError) -> Response[str]:
    reasons = [
        {
            "where": [str(part) for part in reason["loc"]],
            "why": reason["msg"].removeprefix("Value error, "),  # pydantic's, before words of ours
        }
        for reason in error.errors()[:20]
    ]
    return _answer(Unprocessable("the values do not fit", details={"reasons": reasons}))


def _unexpected(error: Exception) -> Response[str]:
    """Logged with what failed and where, but without its words: they may hold what people wrote."""
    nameless = SkeinError(f"unexpected {type(error).__name__}")
    return _answer(nameless.with_traceback(error.__traceback__))


def documented(
    success: int,
    model: type | None,
    *errors: int,
    media_type: str = content_types.APPLICATION_JSON,
) -> dict[int, Any]:
    """The answers of a route for OpenAPI; those that any route can give need no mention."""
    answers: dict[int, Any] = {success: {"description": "Done."}}
    if model is not None:
        answers[success]["content"] = {media_type: {"model": model}}
    for status in sorted({401, 403, 429, 503, *errors}):
        answers[status] = {
            "description": STATUSES[status],
            "content": {content_types.APPLICATION_JSON: {"model": ErrorEnvelope}},
        }
    return answers


def no_content() -> Response[None]:
    """Done, and there is nothing to say about it."""
    return Response(204)
