"""The router of the APIs, which audits and documents each route by default.

A route only specifies how it differs from the defaults of its method and its router:

| method | status | audited as | errors, besides 401, 403, 422, 429 and 503 |
|---|---|---|---|
| GET | 200 | read | 400 for a list with a cursor |
| POST | 201 | create; change with another status | 400, 413, 415 |
| PUT, PATCH | 200 | change | 400, 413, 415 |
| DELETE | 204; 200 with a body | delete | |

Each route with an id in its path also has the error 404.

A POST that answers 201 takes an `Idempotency-Key`, has the error 409, and creates the item with
`once`. This does not apply if a field of the request, such as `client_id`, already makes a repeated
call harmless (`repeated`).
"""

import json
import re
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from types import UnionType
from typing import Any, Literal, TypedDict, TypeVar, Unpack, get_args, get_origin

from aws_lambda_powertools.event_handler import Response, content_types
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from routes.app import LIST_FIELDS, NOT_MODIFIED, OK, STATUSES, Principal, Role
from routes.audited import Audited, Requires, Unaudited
from skein.bootstrap import app, service
from skein.errors import Invalid
from skein.http import PROBLEM_JSON
from skein.models.api.base import Problem
from skein.models.directory.keyed_call import KeyedCall
from skein.privacy.models.audit import AuditKind, AuditVerb
from skein.services.directory.keyed_calls import KeyedCalls, Kind, its_id

T = TypeVar("T")
Route = TypeVar("Route", bound=Callable[..., Any])
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Audit = AuditKind | Audited | Unaudited

CREATED, NO_CONTENT = 201, 204
SUCCESSES: dict[int, str] = {
    OK: "Success.",
    CREATED: "Created.",
    202: "Accepted. The work continues in the background.",
    NO_CONTENT: "Success. The response has no body.",
    302: "Found. `Location` is the address.",
}
UNCHANGED = "The list has not changed since the given `ETag`."
VERBS: dict[Method, AuditVerb] = {
    "GET": "read",
    "POST": "create",
    "PUT": "change",
    "PATCH": "change",
    "DELETE": "delete",
}
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
IDEMPOTENCY_KEY = "Idempotency-Key"
KEY_TEXT = re.compile(r"[!-~]{1,255}")  # visible ASCII


class RouteOptions(TypedDict, total=False):
    """How a route differs from the defaults.

    Attributes:
        status: The status of a successful response.
        repeated: What status 200 means, for a route that creates an item unless it exists.
        keyed: Whether a POST takes an `Idempotency-Key`, if this differs from the default.
        model: The body of a successful response; default: the type that the function returns.
        media_type: The content type of a successful response.
        tag: The route's tag in the OpenAPI document.
        audit: The kind of resource in the audit entry, or the middleware that audits the route.
        public: Whether the route needs no token.
        role: The role that an operator needs.
        instead: Another role that is enough for the call, in place of `role`.
        polled: Whether the console's pages repeat the call to look for changes; see `Audited`.
    """

    status: int
    repeated: str
    keyed: bool
    model: type
    media_type: str
    tag: str
    audit: Audit
    public: bool
    role: Role
    instead: Role
    polled: bool


class TakesKey:
    """Middleware that declares that a route takes an `Idempotency-Key`; see `ApiRouter.once`."""

    def __init__(self) -> None:
        self.__name__ = "takes a key"

    def __call__(self, api: Any, following: Callable[[Any], Response[Any]]) -> Response[Any]:
        """Call the route.

        Raises:
            Invalid: The key is empty, too long, or has characters other than visible ASCII.
        """
        event, principal = api.current_event, api.context["principal"]
        key = event.headers.get(IDEMPOTENCY_KEY)
        if key is not None:
            if not KEY_TEXT.fullmatch(key):
                raise Invalid(f"{IDEMPOTENCY_KEY} must have 1 to 255 visible ASCII characters")
            request = [event.query_string_parameters, event.json_body if event.body else None]
            api.context["call"] = KeyedCall.of(
                principal.tenant,
                principal.user_id,
                key=key,
                route=f"{event.http_method} {event.path}",
                request=json.dumps(request, sort_keys=True),
                now=app().ports.clock.now(),
            )
        return following(api)


class ApiRouter:
    """Routes of some resources, which an `Api` includes.

    Args:
        tag: The routes' tag in the OpenAPI document.
        audit: The kind of resource that the routes read or change, or why they are not audited.
        made: The field of a response that contains the id of a created resource.
        role: The role that an operator needs; None for the users' API.
        writes: The role for all methods but GET, if it differs from `role`.
    """

    def __init__(
        self,
        tag: str,
        audit: Audit,
        *,
        made: str = "id",
        role: Role | None = None,
        writes: Role | None = None,
    ) -> None:
        self.routes = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]
        self._tag = tag
        self._audit = audit
        self._made = made
        self._role = role
        self._writes = writes or role

    @property
    def caller(self) -> Principal:
        principal: Principal = self.routes.context["principal"]
        return principal

    def once(
        self,
        kind: Kind,
        make: Callable[[], T],
        again: Callable[[str], T],
        *,
        id_of: Callable[[Any], str] = its_id,
        unless: str | None = None,
    ) -> T:
        """Create an item in a route that takes an `Idempotency-Key`; see `KeyedCalls.once`.

        The route checks the caller's rights before it calls `once`, and builds the response
        afterwards. So a repeated call is checked and answered like the first one.

        Args:
            unless: The request's `client_id`, which takes precedence over the key.
        """
        call = self.routes.context.get("call")
        if call is None or unless is not None:
            return make()
        return service(KeyedCalls).once(call, kind, make, again, id_of=id_of)

    def get(
        self, rule: str, summary: str, *errors: int, **options: Unpack[RouteOptions]
    ) -> Callable[[Route], Route]:
        """Register a function for GET; see `route`."""
        return self.route("GET", rule, summary, *errors, **options)

    def post(
        self, rule: str, summary: str, *errors: int, **options: Unpack[RouteOptions]
    ) -> Callable[[Route], Route]:
        """Register a function for POST; see `route`."""
        return self.route("POST", rule, summary, *errors, **options)

    def put(
        self, rule: str, summary: str, *errors: int, **options: Unpack[RouteOptions]
    ) -> Callable[[Route], Route]:
        """Register a function for PUT; see `route`."""
        return self.route("PUT", rule, summary, *errors, **options)

    def patch(
        self, rule: str, summary: str, *errors: int, **options: Unpack[RouteOptions]
    ) -> Callable[[Route], Route]:
        """Register a function for PATCH; see `route`."""
        return self.route("PATCH", rule, summary, *errors, **options)

    def delete(
        self, rule: str, summary: str, *errors: int, **options: Unpack[RouteOptions]
    ) -> Callable[[Route], Route]:
        """Register a function for DELETE; see `route`."""
        return self.route("DELETE", rule, summary, *errors, **options)

    def route(
        self,
        method: Method,
        rule: str,
        summary: str,
        *errors: int,
        **options: Unpack[RouteOptions],
    ) -> Callable[[Route], Route]:
        """Register a function as a route. Its docstring describes the call in the OpenAPI document.

        Args:
            rule: The path, with `<name>` for each parameter.
            summary: A short summary of the call.
            errors: Error statuses from `STATUSES`, in addition to those of the method.
            options: How the route differs from the defaults.
        """

        def register(function: Route) -> Route:
            returned = signature(function).return_annotation
            empty = returned == Response[None]
            status = options.get(
                "status", NO_CONTENT if empty else CREATED if method == "POST" else OK
            )
            model = None if empty else options.get("model", _body(returned))
            usual = {400, 413, 415} if method in WITH_BODY else set()
            keyed = options.get(
                "keyed", method == "POST" and status == CREATED and "repeated" not in options
            )
            if keyed:
                usual.add(409)
            if "<" in rule:
                usual.add(404)
            if "cursor" in signature(function).parameters:
                usual.add(400)
            media_type = options.get("media_type", content_types.APPLICATION_JSON)
            responses = _responses(status, model, {*usual, *errors}, media_type)
            if "repeated" in options:
                responses[OK] = {**responses[status], "description": options["repeated"]}
            if options.get("public"):
                kept = {status, 404, 422, *usual, *errors}
                responses = {each: what for each, what in responses.items() if each in kept}
            role = options.get("role", self._role if method == "GET" else self._writes)
            instead = (options["instead"],) if "instead" in options else ()
            audited = self._audited(
                method,
                status,
                options.get("audit", self._audit),
                role,
                polled=options.get("polled", False),
            )
            return self.routes.route(
                rule,
                method,
                summary=summary,
                tags=[options.get("tag", self._tag)],
                status_code=status,
                responses=responses,
                middlewares=[
                    audited,
                    *([Requires(role, *instead)] if role else []),
                    *([TakesKey()] if keyed else []),
                ],
            )(function)

        return register

    def _audited(
        self, method: Method, status: int, audit: Audit, role: Role | None, *, polled: bool
    ) -> Audited | Unaudited:
        """Return `audit` if it is a middleware, otherwise a middleware that audits this kind."""
        if isinstance(audit, Audited | Unaudited):
            return audit
        verb = "change" if method == "POST" and status != CREATED else VERBS[method]
        return Audited(verb, audit, made=self._made, scope=role or "chat", polled=polled)


def _body(returned: Any) -> Any:
    """Return the model of a response's body.

    A route returns the body alone, or a tuple of the body and a status.
    """
    return get_args(returned)[0] if get_origin(returned) is tuple else returned


def _responses(
    success: int, model: type | UnionType | None, errors: set[int], media_type: str
) -> dict[int, Any]:
    """Describe a route's responses for OpenAPI."""
    answers: dict[int, Any] = {success: {"description": SUCCESSES[success]}}
    if model is not None:
        answers[success]["content"] = {media_type: {"model": model}}
        if set(getattr(model, "model_fields", ())) >= LIST_FIELDS:
            answers[NOT_MODIFIED] = {"description": UNCHANGED}
    for status in sorted({401, 403, 422, 429, 503, *errors}):
        answers[status] = {
            "description": STATUSES[status],
            "content": {PROBLEM_JSON: {"model": Problem}},
        }
    return answers


def no_content() -> Response[None]:
    """Return an empty 204 response."""
    return Response(NO_CONTENT)


def routers_in(name: str) -> list[APIGatewayHttpRouter]:
    """Import a module of routes, such as `chats.messages`, and return its routers."""
    values = vars(import_module(f"routes.{name}")).values()
    return list(dict.fromkeys(each.routes for each in values if isinstance(each, ApiRouter)))
