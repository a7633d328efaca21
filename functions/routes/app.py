"""Shared parts of the HTTP APIs: authentication, scopes, request bodies and error responses.

Token, scope and body are checked before a route's own validation. Unauthorized callers therefore
learn nothing about a route's parameters.
"""

import binascii
import inspect
import json
import re
import threading
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import UTC, date, datetime
from hashlib import sha256
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_args

import pydantic_core
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response, content_types
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import (
    RequestUnsupportedContentType,
    RequestValidationError,
)
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BeforeValidator, Field, StringConstraints, ValidationError

from skein import bootstrap
from skein.agent_files.yaml_text import MAX_FILE_BYTES, json_of
from skein.errors import (
    Forbidden,
    Invalid,
    NotFound,
    SkeinError,
    TooLarge,
    Unauthenticated,
    Unprocessable,
    UnsupportedMediaType,
)
from skein.http import PROBLEM_JSON, error_response
from skein.identity.admission import Admission
from skein.identity.models.credential import CallerSource
from skein.identity.models.visit import VisitClaims
from skein.models.api.base import MAX_SEQ
from skein.models.common.address import ChannelName
from skein.models.common.base import EntityId, Instant, NamedMember, Tenant, Value
from skein.models.common.person_names import MAX_NAME, given_name
from skein.models.directory.phone_number import Phone
from skein.services.common.pagination import MAX_PAGE
from skein.services.quotas.read_limits import ReadLimits
from skein.settings import Settings

Scope = Literal["chat", "admin"]
Role = Literal["support", "privacy", "owner", "tokens"]
"""The roles of operators and servers. Each is a scope of a token or an API key."""

ROLES: tuple[Role, ...] = ("support", "privacy", "owner")
"""The roles of operators. The scope `admin` means all of them."""

Route = TypeVar("Route", bound=Callable[..., Any])

BODILESS = frozenset({"GET", "HEAD"})
MAX_BODY_BYTES = 256 * 1024
YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
MAX_REASONS = 20
OK, NOT_MODIFIED = 200, 304
LIST_FIELDS = frozenset({"items", "next_cursor"})
TAG_CHARACTERS = 32
NO_SUCH_CALL = "route not found"
NO_JSON = "the body must be application/json"
BYTES = "application/octet-stream"
ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
STATUSES: dict[int, str] = {
    400: "The request is malformed, or its cursor belongs to another list.",
    401: "The token is missing or invalid.",
    403: "The token lacks the required scope.",
    404: "The resource does not exist, or the caller cannot see it.",
    409: "The state of the resource forbids the request.",
    413: "The body is larger than 256 KiB.",
    415: "The body is not JSON.",
    422: "Some values are invalid, or query parameters are unknown; `details` names them.",
    429: "A rate limit is exceeded; `Retry-After` says when to retry.",
    503: "The request failed temporarily. Try again.",
}

# Powertools keeps the current event in a class attribute, so a process can only handle one request
# # at a time. Lambda never sends two at once; the local stack may.
_one_at_a_time = threading.Lock()


def iso_day(value: object) -> object:
    """Check that a day is written as in 2026-02-18.

    Without this check, pydantic would read "0" as a day in 1970.

    Raises:
        ValueError: The text is not in the form YYYY-MM-DD.
    """
    if isinstance(value, str) and not ISO_DAY.fullmatch(value):
        raise ValueError("the day must look like 2026-02-18")
    return value


def with_plus(value: object) -> object:
    """Restore the plus sign of a number in a query, where an unescaped `+` means a space."""
    return f"+{value[1:]}" if isinstance(value, str) and value.startswith(" ") else value


def _moment(claim: object) -> object:
    """Parse a time claim in seconds since 1970, which the gateway passes as text.

    Raises:
        ValueError: The claim is not a number, or is out of range.
    """
    if claim is None:
        return None
    try:
        return datetime.fromtimestamp(float(str(claim)), UTC)
    except (OverflowError, OSError) as error:
        raise ValueError("the time is out of range") from error


ChatId = Annotated[EntityId, Path(description="The id of a chat.")]
MemberId = Annotated[EntityId, Path(description="The id of a user or an agent.")]
AgentId = Annotated[EntityId, Path(description="The id of an agent.")]
UserId = Annotated[EntityId, Path(description="The id of a user.")]
PhoneNumber = Annotated[EntityId, Path(description="A phone number such as +15005550006.")]
OwnNumber = Annotated[Phone, Path(description="A number with its country code: +15005550100.")]
TextChannelName = Annotated[ChannelName, Path(description="The channel of the texts.")]
MediaId = Annotated[EntityId, Path(description="The id of a picture or file.")]
Seq = Annotated[int, Path(ge=1, le=MAX_SEQ, description="A message's `seq`.")]
RunId = Annotated[EntityId, Path(description="The id of a run.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of items in the page.")]
Day = Annotated[
    date | None,
    BeforeValidator(iso_day),
    Query(description="The day in UTC; default: today."),
]
After = Annotated[
    int | None, Query(ge=0, le=MAX_SEQ, description="Only messages with a higher `seq`.")
]
Before = Annotated[
    int | None, Query(ge=1, le=MAX_SEQ, description="Only messages with a lower `seq`.")
]
PageCursor = Annotated[
    str | None, Query(max_length=1_000, description="The `next_cursor` of the previous page.")
]


def serialized(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


class Principal(Value):
    """Caller of the API, from the claims that the gateway's authorizer verified.

    Attributes:
        user_id: The token's `sub`.
        name: The token's `name`, or the user's id if the name is missing or invalid.
        scopes: The token's scopes.
        source: Whether the caller sent an issuer's token, an API key or a token issued by Skein.
        token_id: The id of the token issued by Skein.
        key_id: The id of the API key that created this token.
        token_issued_at: When the token was issued; None if the claim is missing.
        token_ends_at: When the token expires; None if the claim is missing.
        visit: The claims of a visitor's token; None for all other callers.
    """

    tenant: Tenant
    user_id: EntityId
    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
    scopes: Annotated[tuple[str, ...], Field(max_length=100)]
    source: CallerSource = "issuer"
    token_id: EntityId | None = None
    key_id: EntityId | None = None
    token_issued_at: Annotated[Instant | None, BeforeValidator(_moment)] = None
    token_ends_at: Annotated[Instant | None, BeforeValidator(_moment)] = None
    visit: VisitClaims | None = None

    @property
    def roles(self) -> frozenset[Role]:
        """The caller's roles as an operator or a server.

        The role `tokens` counts only if the caller uses an API key.
        """
        roles = {role for role in ROLES if {role, "admin"} & set(self.scopes)}
        if self.source == "key" and "tokens" in self.scopes:
            roles.add("tokens")
        return frozenset(roles)

    def need(self, *roles: Role) -> None:
        """Refuse an operator who does not have any of the given roles.

        Raises:
            Forbidden: The caller does not have any of the roles.
        """
        if not self.roles & set(roles):
            raise Forbidden(f"this call requires the scope {' or '.join(map(repr, roles))}")

    @property
    def person(self) -> NamedMember:
        """The caller as a member of chats."""
        return NamedMember(kind="user", id=self.user_id, name=self.name)


class Api(APIGatewayHttpResolver):
    """HTTP API of one function, whose routes all require the same scope.

    To keep cold starts short, a request imports only the modules that may have its route, and the
    services that these modules use.

    Args:
        scope: The scope that a token must contain. For the operators' API (`admin`), a scope that
            names an operator's role is enough.
        modules: For each module of routes, the prefixes of its routes' paths; `*` is any id.
        routers_in: Imports a module of routes and returns its routers.
        public: Paths that need no token; `*` matches any part.
        files: Paths that take files: bodies that may be YAML, and up to 1 MiB long; `*` matches any
            part.
        visits: The calls that a visitor's token may make, such as `GET /v1/visit`; `*` is the
            visit's own chat.
    """

    def __init__(
        self,
        *,
        scope: Scope,
        modules: Mapping[str, Sequence[str]],
        routers_in: Callable[[str], Iterable[APIGatewayHttpRouter]],
        public: frozenset[str] = frozenset(),
        files: frozenset[str] = frozenset(),
        visits: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(
            enable_validation=True,
            response_validation_error_http_code=500,
            serializer=serialized,
            json_body_deserializer=parse_object,
        )
        bootstrap.seed_after_restore()  # adapters are loaded by the first request that needs them
        self.scope = scope
        self.public = public
        self.files = files
        self.visits = visits
        self.modules = modules
        self._starts = [
            (module, [start.split("/") for start in starts]) for module, starts in modules.items()
        ]
        self._routers_in = routers_in
        self._not_loaded = set(modules)
        self._parameters: dict[tuple[str, str], Mapping[str, Parameter]] = {}
        self._calls_so_far: APIGatewayHttpResolver | None = None
        self.exception_handler(NotFoundError)(_no_such_route)
        self.exception_handler(RequestValidationError)(_unfit)
        self.exception_handler(RequestUnsupportedContentType)(_no_json)
        self.exception_handler(SkeinError)(_answer)
        self.exception_handler(Exception)(_unexpected)

    def resolve(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Handle one API Gateway event. Errors become error responses."""
        with _one_at_a_time:
            try:
                path = str(event.get("rawPath"))
                self._load(self.modules_of(path))
                if not self.is_public(path):
                    self.context["principal"] = self._admit(event, context)
                body = _readable_body(event, may_be_file=_is_one_of(self.files, path))
                return super().resolve({**event, **body}, context)
            except SkeinError as error:
                self.context.clear()
                return error_response(error)
            except Exception as error:
                self.context.clear()
                return error_response(_nameless(error))

    @property
    def caller(self) -> Principal:
        principal: Principal = self.context["principal"]
        return principal

    @property
    def routes(self) -> list[Any]:
        """All routes of this API. Reading this property imports their modules."""
        self._load(self.modules)
        return [*self._static_routes, *self._dynamic_routes]

    def is_public(self, path: str) -> bool:
        """Return whether a path needs no token."""
        return _is_one_of(self.public, path)

    def modules_of(self, path: str) -> list[str]:
        """Return the modules that may have the route of a path."""
        parts = path.split("/")
        return [
            module
            for module, starts in self._starts
            if any(_starts(parts, start) for start in starts)
        ]

    def route(self, rule: str, method: Any, *args: Any, **kwargs: Any) -> Callable[[Route], Route]:
        """Register a route that rejects unknown query parameters.

        The route's rule and parameters are stored for `parameters_of`.
        """
        given = signature(super().route).bind(rule, method, *args, **kwargs)
        middlewares = given.arguments.get("middlewares") or ()
        methods = (method,) if isinstance(method, str) else tuple(method)
        shared = [refuse_unknown_parameters]
        if methods == ("GET",):
            shared.append(answer_unchanged_lists)
        given.arguments["middlewares"] = [*shared, *middlewares]
        register_route = super().route

        def registered(function: Route) -> Route:
            for each in methods:
                self._parameters[each, rule] = signature(function).parameters
            given.arguments["description"] = inspect.getdoc(function)
            return register_route(*given.args, **given.kwargs)(function)

        return registered

    def parameters_of(self, method: str, path: str) -> tuple[str, ...]:
        """Return the names of a route's parameters in its path, its query and its body.

        Args:
            method: The route's method, such as `GET`.
            path: The route's path, such as `/v1/chats/{chat_id}`.
        """
        return tuple(self._parameters_of(method, path))

    def query_names(self, method: str, path: str) -> frozenset[str]:
        """Return the names of a route's query parameters (see `parameters_of`)."""
        parameters = self._parameters_of(method, path).values()
        return frozenset(_query_name(each) for each in parameters if _in_query(each))

    def _parameters_of(self, method: str, path: str) -> Mapping[str, Parameter]:
        return self._parameters[method, path.replace("{", "<").replace("}", ">")]

    def _load(self, modules: Iterable[str]) -> None:
        """Import the modules that are not loaded yet, and add their routes."""
        for name in [each for each in modules if each in self._not_loaded]:
            for router in self._routers_in(name):
                self.include_router(router)
            self._not_loaded.remove(name)
            self._calls_so_far = None

    def _admit(self, event: Mapping[str, Any], context: LambdaContext) -> Principal:
        principal = principal_of(event, bootstrap.app().ports.settings)
        call = f"{event['requestContext']['http']['method']} {event['rawPath']}"
        if principal.visit is not None:
            admitted = _is_one_of(self.visits, call)
        elif self.scope == "admin":
            admitted = bool(principal.roles)
        else:
            admitted = self.scope in principal.scopes
        if not admitted:
            if self._calls_so_far is None:
                self._calls_so_far = self._calls()
            self._calls_so_far.resolve(dict(event), context)
            raise Forbidden(f"this call requires the scope {self.scope!r}")
        if principal.visit is not None:
            _check_visit(principal.visit, event, call)
        else:
            check_still_valid(principal)
        if event["requestContext"]["http"]["method"] == "GET":
            bootstrap.service(ReadLimits).admit(principal.tenant, principal.user_id)
        return principal

    def _calls(self) -> APIGatewayHttpResolver:
        """Build a resolver that raises `NotFound` for a path that no route has.

        The resolver does not check parameters or read the body.
        """

        def exists(**_: str) -> None:
            pass

        def miss(_: NotFoundError) -> NoReturn:
            raise NotFound(NO_SUCH_CALL)

        calls = APIGatewayHttpResolver()
        for method, rule in self._parameters:
            calls.route(rule, method)(exists)
        calls.exception_handler(NotFoundError)(miss)
        return calls


def _is_one_of(patterns: Iterable[str], path: str) -> bool:
    """Return whether a path matches a pattern. A `*` in a pattern matches any part of the path."""
    parts = path.split("/")
    starts = (each.split("/") for each in patterns)
    return any(len(each) == len(parts) and _starts(parts, each) for each in starts)


def _starts(parts: Sequence[str], start: Sequence[str]) -> bool:
    """Return whether a path begins with the parts in `start`. A `*` in `start` matches any part."""
    return len(parts) >= len(start) and all(
        wanted in {"*", part} for part, wanted in zip(parts, start, strict=False)
    )


def refuse_unknown_parameters(api: Any, following: Callable[[Any], Response[Any]]) -> Response[Any]:
    """Middleware that rejects query parameters that the route does not have.

    Raises:
        Unprocessable: The query has unknown parameters; the details name them.
    """
    request, query = api.request, api.current_event.query_string_parameters
    check_query(query, known=api.query_names(request.method, request.route))
    return following(api)


def answer_unchanged_lists(api: Any, following: Callable[[Any], Response[Any]]) -> Response[Any]:
    """Middleware that adds an `ETag` to a list, and answers 304 if the client has the same list.

    Also for a 304, the route has read the list, and the call is audited if the route is.
    """
    answer = following(api)
    if answer.status_code != OK or not _is_list(answer.body):
        return answer
    text = serialized(answer.body)
    tag = f'"{sha256(text.encode()).hexdigest()[:TAG_CHARACTERS]}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if _has_tag(api.current_event.headers.get("if-none-match") or "", tag):
        return Response(NOT_MODIFIED, headers=headers)
    answer.body = text
    answer.headers.update(headers)
    return answer


def _is_list(body: object) -> bool:
    return isinstance(body, dict) and body.keys() >= LIST_FIELDS


def _has_tag(condition: str, tag: str) -> bool:
    """Return whether `If-None-Match` names a tag (weak comparison, RFC 9110, 13.1.2)."""
    named = {each.strip().removeprefix("W/") for each in condition.split(",")}
    return tag in named or "*" in named


def check_query(query: Mapping[str, str], *, known: Set[str] = frozenset()) -> None:
    """Check that a query has no unknown parameters.

    Raises:
        Unprocessable: There are unknown parameters; the details name the first 20.
    """
    unknown = sorted(query.keys() - known)[:MAX_REASONS]
    if unknown:
        reasons = [
            {"where": ["query", name[:MAX_NAME]], "why": "unknown parameter"} for name in unknown
        ]
        raise Unprocessable("some query parameters are unknown", details={"reasons": reasons})


def _in_query(parameter: Parameter) -> bool:
    """Return whether a route's parameter is annotated as a query parameter."""
    return any(isinstance(each, Query) for each in get_args(parameter.annotation))


def _query_name(parameter: Parameter) -> str:
    """Return a query parameter's alias, or its name in the signature if it has no alias."""
    annotated = get_args(parameter.annotation)
    aliases = (each.alias for each in annotated if isinstance(each, Query) and each.alias)
    return next(aliases, parameter.name)


def check_still_valid(caller: Principal) -> None:
    """Check that a caller's token or key is still valid. The authorizer has verified its signature.

    Raises:
        Unauthenticated: The token or the key has expired, was revoked, or precedes a sign-out.
    """
    admission = bootstrap.service(Admission)
    if caller.source == "key":
        admission.of_key(caller.tenant, caller.user_id)
    elif caller.source == "token":
        admission.of_token(
            caller.tenant,
            caller.user_id,
            token_id=str(caller.token_id),
            key_id=str(caller.key_id),
        )
    else:
        admission.of_issuer(
            caller.tenant,
            caller.user_id,
            issued_at=caller.token_issued_at,
            ends_at=caller.token_ends_at,
        )


def _check_visit(visit: VisitClaims, event: Mapping[str, Any], call: str) -> None:
    """Check that a visit has not ended, and that the call is about the visit's own chat.

    Raises:
        Unauthenticated, Forbidden: As in `VisitAdmission.check`.
        NotFound: The call is about another chat, or the visitor has not written yet.
    """
    from skein.web_chat.admission import VisitAdmission  # noqa: PLC0415 - only for visitors

    parts = call.split("/")
    if "chats" in parts and visit.chat_id not in parts:
        raise NotFound("chat not found")
    bootstrap.service(VisitAdmission).check(visit, call=call, origin=origin_of(event))


def origin_of(event: Mapping[str, Any]) -> str | None:
    """Return the origin of the page that sent a request; None if no page of a browser sent it."""
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    return headers.get("origin")


def principal_of(event: Mapping[str, Any], settings: Settings) -> Principal:
    """Return the caller, from the claims that the gateway's authorizer verified.

    During a deployment, the claims may still come from the JWT authorizer of release 0.2.0.

    Args:
        event: The request.
        settings: The settings, which name the claims of the scopes and of the tenant.

    Raises:
        Unauthenticated: The authorizer refused the token, there are no claims, or the claims have
            no valid `sub`, tenant or scopes.
    """
    authorizer = event.get("requestContext", {}).get("authorizer") or {}
    found = authorizer.get("lambda") or authorizer.get("jwt") or {}
    if "refused" in found:
        raise Unauthenticated(str(found["refused"]))
    claims, source = found.get("claims") or {}, found.get("source", "issuer")
    subject = claims.get("sub")
    try:
        return Principal(
            name=given_name(str(claims.get("name") or ""), str(subject)),
            user_id=subject,
            source=source,
            token_issued_at=claims.get("iat"),
            token_ends_at=claims.get("exp"),
            **(_of_issuer(claims, settings) if source == "issuer" else _of_skein(claims)),
            visit=_visit_of(claims) if source == "visit" else None,
        )
    except ValidationError:
        raise Unauthenticated("the token has no usable sub, tenant or scope") from None


def _of_issuer(claims: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the tenant and scopes of an issuer's token. The settings name the claims to read."""
    prefix = settings.jwt_scope_prefix
    return {
        "tenant": settings.jwt_tenant or claims.get(settings.jwt_tenant_claim),
        "scopes": tuple(
            scope.removeprefix(prefix)
            for claim in settings.jwt_scope_claims
            for scope in scopes_of(claims.get(claim))
            if scope.startswith(prefix)
        ),
    }


def _of_skein(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tenant, scopes and record ids of an API key or of a token issued by Skein."""
    return {
        "tenant": claims.get("tenant"),
        "scopes": scopes_of(claims.get("scope")),
        "token_id": claims.get("jti"),
        "key_id": claims.get("key_id"),
    }


def _visit_of(claims: Mapping[str, Any]) -> VisitClaims:
    """Return the visit's data from the claims of a visitor's token; see `Callers`."""
    return VisitClaims(
        str(claims["tenant"]),
        str(claims["widget_id"]),
        str(claims["sub"]),
        str(claims["chat_id"]),
        int(claims["number"]),
        int(claims["consent"]),
        datetime.fromtimestamp(float(claims["exp"]), UTC),
    )


def scopes_of(claim: object) -> tuple[str, ...]:
    """Parse a token's scope claim: space-separated words, a list, or the gateway's form `[a b]`."""
    if isinstance(claim, str):
        claim = claim.strip("[]").replace(",", " ").split()
    if not isinstance(claim, list):
        return ()
    return tuple(scope for scope in claim if isinstance(scope, str))


def _readable_body(event: Mapping[str, Any], *, may_be_file: bool) -> dict[str, Any]:
    """Decode a request's body, and check its size and content type. Convert YAML to JSON.

    Args:
        event: The request.
        may_be_file: Whether the body may be YAML, and up to 1 MiB long.

    Returns:
        The fields of the event to replace: the body as text, and headers that declare JSON. The
        body is None if it is empty or if the method takes no body. If an empty body was sent with
        another content type than JSON, the headers declare bytes, so that routes with a body reject
        the request.

    Raises:
        Invalid: The body is not UTF-8, valid base64 or valid YAML.
        TooLarge: The body is longer than 256 KiB, or a file is longer than 1 MiB.
        UnsupportedMediaType: The content type of the body is not JSON.
    """
    body = event.get("body")
    if event["requestContext"]["http"]["method"] in BODILESS:
        return {"body": None, "isBase64Encoded": False}
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    media_type = headers.get("content-type", "").split(";")[0].strip().lower()
    is_yaml = may_be_file and media_type in YAML_TYPES
    is_json = is_yaml or media_type in {"", content_types.APPLICATION_JSON}
    headers["content-type"] = content_types.APPLICATION_JSON if is_json else BYTES
    if not body:
        return {"body": None, "isBase64Encoded": False, "headers": headers}
    try:
        data = b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode()
        text = data.decode()
    except (UnicodeError, binascii.Error, ValueError):
        raise Invalid("the body is not valid UTF-8") from None
    limit = MAX_FILE_BYTES if may_be_file else MAX_BODY_BYTES
    if len(data) > limit:
        raise TooLarge(f"the body is larger than {limit:,} bytes")
    if not is_json:
        raise UnsupportedMediaType(NO_JSON)
    if is_yaml:
        text = json_of(text)
    return {"body": text, "isBase64Encoded": False, "headers": headers}


def parse_object(text: str) -> dict[str, Any]:
    """Parse a body as a JSON object.

    Raises:
        Invalid: The body is not valid JSON, or not an object.
        Unprocessable: A name or text in the body contains a NUL character.
    """
    try:
        value = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError:
        raise Invalid("the body is not valid JSON") from None
    if not isinstance(value, dict):
        raise Invalid("the body must be a JSON object")
    if "\\u0000" in text and _holds_nul(value):
        raise Unprocessable("strings must not contain NUL characters")
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
        PROBLEM_JSON,
        answer["body"],
        headers=dict(answer["headers"]),
    )


def _no_such_route(_error: NotFoundError) -> Response[str]:
    return _answer(NotFound(NO_SUCH_CALL))


def _no_json(_error: RequestUnsupportedContentType) -> Response[str]:
    return _answer(UnsupportedMediaType(NO_JSON))


def _unfit(error: RequestValidationError) -> Response[str]:
    reasons = [
        {
            "where": [str(part) for part in reason["loc"]],
            "why": _why(reason["type"], reason["msg"]),
        }
        for reason in error.errors()[:MAX_REASONS]
    ]
    return _answer(Unprocessable("some values are invalid", details={"reasons": reasons}))


def _why(kind: str, words: str) -> str:
    """Return pydantic's text for an error in the terms of JSON.

    JSON has lists, where pydantic's text may speak of tuples.
    """
    if kind == "tuple_type":
        return "Input should be a valid list"
    return words.removeprefix("Value error, ")  # pydantic adds it


def _unexpected(error: Exception) -> Response[str]:
    """Return a 500 response. Log the error's type and traceback, but not its message.

    The message is left out because it may contain text that a person wrote.
    """
    return _answer(_nameless(error))


def _nameless(error: Exception) -> SkeinError:
    """Return an error with the type and traceback of the given error, but without its message."""
    nameless = SkeinError(f"unexpected {type(error).__name__}")
    return nameless.with_traceback(error.__traceback__)
