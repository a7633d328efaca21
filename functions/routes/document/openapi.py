"""OpenAPI document of both APIs, generated from their routes, for people and code generators.

Powertools generates one document for each API. `document` merges the two, names every enum, and
writes each error once. Code generators then produce one type for each enum and error.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Set
from functools import cache
from typing import Any, Literal, get_args, get_origin

from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

import admin_api
import mobile_api
import skein
from routes.app import ROLES, STATUSES, Api
from routes.audited import Requires
from routes.document.field_texts import describe_fields
from routes.router import IDEMPOTENCY_KEY, TakesKey
from skein.events.payloads import event_models
from skein.http import PROBLEM_JSON, problem
from skein.models.directory.webhook_service import MAX_PAYLOAD_BYTES

TITLE = "Skein"
ABOUT = """AI agents with one coherent mind across many conversations.

Every call needs a JWT with the scope `chat` (people's clients) or a role of operators: `support`,
`privacy` or `owner`. The scope `admin` means all roles.
Ids are opaque. Times are RFC 3339 in UTC.
Lists come in pages: pass `next_cursor` as `cursor` to get the next page.
Unknown query parameters and unknown fields are refused with 422.
If a request fails with 503, or its response is lost, send it again with the same `client_id` or
`Idempotency-Key`."""
LICENCE = {"name": "Apache 2.0", "identifier": "Apache-2.0"}
CONTACT = {"name": "Skein"}
TAGS = {
    "agents": "Agents: their system prompts, models and tools.",
    "audit": "The record of what operators read and changed.",
    "chats": "Chats of people and agents.",
    "documents": "Documents that agents write and read.",
    "events": "Endpoints that are told what has happened.",
    "goals": "Goals of agents.",
    "keys": "API keys of servers, and the tokens that they make for users.",
    "lines": "Phone numbers on which agents receive and send SMS.",
    "live": "The live channel: changes over a WebSocket.",
    "me": "The caller.",
    "media": "Pictures and files of messages.",
    "members": "Members of chats.",
    "memories": "Memories of agents: what they learned, from whom, and who may be shown it.",
    "messages": "Messages of chats.",
    "plans": "Plans: future runs of agents, once or recurring.",
    "privacy": "Export and erasure of people.",
    "recall": "The index in which agents find old messages.",
    "runs": "Runs of agents: their prompts, steps and reasons.",
    "service": "The state of Skein itself.",
    "services": "Services whose webhooks start runs of agents.",
    "settings": "Settings of a tenant.",
    "sharing": "Sharing rules: whom agents may tell what others say to them alone.",
    "skills": "Skills: instructions that agents load when they need them.",
    "sources": "Sources of knowledge: texts, files and pages that agents answer from.",
    "approvals": "Calls of tools that wait for an operator.",
    "desk": "Chats that people of the team take over.",
    "errands": "Questions that agents take to people for others.",
    "outreach": "Outreach: agents write to people for an operator.",
    "tools": "Tools of your own: services that agents call.",
    "threads": "Threads: pieces of work of an agent.",
    "trials": "Cases of agents: situations, and what must hold in them.",
    "usage": "Tokens, SMS and money.",
    "users": "People, as operators manage them.",
    "widgets": "Widgets, which put agents on web pages, and the visits of these pages.",
}
POWERTOOLS_SCHEMAS = ("HTTPValidationError", "ResponseValidationError", "ValidationError")
METHODS = frozenset({"get", "put", "post", "patch", "delete"})
NOT_MODIFIED = "304"
JSON = "application/json"
YAML = "application/yaml"
# API Gateway itself may answer with these statuses, and cannot be configured to use Skein's shape.
GATEWAY_MESSAGES = {
    "401": "Unauthorized",
    "403": "Forbidden",
    "413": "Request Entity Too Large",
    "429": "Too Many Requests",
    "500": "Internal Server Error",
    "503": "Service Unavailable",
}
BY_GATEWAY = frozenset(GATEWAY_MESSAGES)
GATEWAY_PROBLEM: dict[str, Any] = {
    "title": "GatewayProblem",
    "description": "An error of Skein with all fields of `Problem`, or of the API Gateway in front "
    "of it with `message` alone.",
    "type": "object",
    "properties": {
        "message": {
            "type": ["string", "null"],
            "description": "The message of the API Gateway.",
        },
    },
}
ERRORS = {
    "400": "BadRequest",
    "401": "Unauthorized",
    "403": "Forbidden",
    "404": "NotFound",
    "409": "Conflict",
    "413": "TooLarge",
    "415": "UnsupportedMediaType",
    "422": "Unprocessable",
    "429": "TooManyRequests",
    "500": "InternalError",
    "503": "Unavailable",
}
INTERNAL_ERROR = "An internal error occurred."
RETRY_AFTER = {
    "description": "The seconds to wait. Missing if the API Gateway refused the request.",
    "schema": {"type": "integer", "minimum": 1},
}
ETAG = {
    "description": "The version of this list, for `If-None-Match`.",
    "schema": {"type": "string"},
}
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of the same list; the response is 304 if the list has not changed.",
    "schema": {"type": "string"},
}
KEY_PARAMETER = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "required": False,
    "description": "A random text of the caller, the same for each attempt of one call. A repeated "
    "call creates nothing, and is answered from the item as it is now. Kept for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
WEBHOOK_PATH = "/webhooks/services/{service_id}"
LINK = "/v1/m/{token}"  # people open it in a browser; it is not an API call
SIGNATURE = "signature"
SIGNATURE_SCHEME = {
    "type": "apiKey",
    "in": "header",
    "name": "X-Skein-Signature",
    "description": "`t=<seconds>,v1=<HMAC-SHA256 of `<seconds>.<body>` with the secret>`.",
}
WEBHOOK = {
    "post": {
        "tags": ["services"],
        "operationId": "send_webhook",
        "summary": "Trigger a service's agents",
        "description": "The service calls this route. A repeated webhook starts no second run.",
        "security": [{SIGNATURE: []}],
        "parameters": [
            {
                "name": "service_id",
                "in": "path",
                "required": True,
                "description": "The id of a service.",
                "schema": {"type": "string"},
            }
        ],
        "requestBody": {
            "required": True,
            "description": f"A JSON object of at most {MAX_PAYLOAD_BYTES:,} bytes for the agents.",
            "content": {
                "application/json": {
                    "schema": {"type": "object", "additionalProperties": True},
                    "example": {"order": "4711", "status": "shipped"},
                }
            },
        },
        "responses": {
            "202": {
                "description": "Accepted. The runs start asynchronously.",
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/StartedRuns"}}
                },
            },
            **{
                status: {"$ref": f"#/components/responses/{ERRORS[status]}"}
                for status in ("400", "403", "404", "413", "429", "500", "503")
            },
        },
    }
}
CLOUD_EVENT = "application/cloudevents+json"
EVENT_HEADERS = [
    {
        "name": name,
        "in": "header",
        "required": True,
        "description": text,
        "schema": {"type": "string"},
    }
    for name, text in (
        ("webhook-id", "The id of the event, the same each time it is sent."),
        ("webhook-timestamp", "When this try was sent, in seconds since 1970."),
        ("webhook-signature", "The signature by the rules of Standard Webhooks."),
    )
]
STARTED_RUNS = {
    "title": "StartedRuns",
    "description": "The runs that a webhook started.",
    "type": "object",
    "properties": {
        "runs": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The ids of the started runs.",
        }
    },
    "required": ["runs"],
}


def _error(status: int, code: str, message: str, **details: Any) -> dict[str, Any]:
    return {**problem(status, code, message, details), "request_id": "c6af9ac6-7b61-11e6-9a41"}


ERROR_EXAMPLES: dict[str, dict[str, Any]] = {
    "400": _error(400, "invalid", "the body is not valid JSON"),
    "401": _error(401, "unauthenticated", "the token has expired"),
    "403": _error(403, "forbidden", "this call requires the scope 'admin'"),
    "404": _error(404, "not_found", "no such chat"),
    "409": _error(409, "conflict", "the chat is being discarded"),
    "413": _error(413, "too_large", "the body is larger than 262,144 bytes"),
    "415": _error(415, "unsupported_media_type", "the body must be application/json"),
    "422": _error(
        422,
        "unprocessable",
        "some values are invalid",
        reasons=[{"where": ["body", "text"], "why": "Field required"}],
    ),
    "429": _error(429, "rate_limited", "too many messages", retry_after_seconds=12),
    "500": _error(500, "internal", "An internal error occurred."),
    "503": _error(503, "unavailable", "The request failed temporarily. Try again."),
}


@cache
def document() -> dict[str, Any]:
    """Generate the OpenAPI document, once per container.

    Raises:
        ValueError: Both APIs define the same method of a path, or different components with the
            same name.
    """
    merged = _described(mobile_api.api)
    other = _described(admin_api.api)
    for path, operations in other["paths"].items():
        shared = merged["paths"].setdefault(path, {})
        if shared.keys() & operations.keys():
            raise ValueError(f"both APIs define {path}")
        shared.update(operations)
    for kind, entries in other["components"].items():
        known = merged["components"].setdefault(kind, {})
        if any(known[name] != entries[name] for name in known.keys() & entries.keys()):
            raise ValueError(f"both APIs define different {kind} of the same name")
        known.update(entries)
    _add_webhook(merged)
    _add_events(merged)
    _name_enums(merged)
    _name_maps(merged["components"]["schemas"])
    _merge_nulls(merged)
    describe_fields(merged["components"]["schemas"])
    _simplify_fields(merged)
    used = {tag for operation in _operations(merged) for tag in operation["tags"]}
    merged["tags"] = [{"name": tag, "description": TAGS[tag]} for tag in sorted(used)]
    return merged


def _roles_of(api: Api) -> dict[tuple[str, str], str]:
    """Return the role that each operation needs, by method and path; empty for the users' API."""
    return {
        (route.method.lower(), route.openapi_path): needed.role
        for route in api.routes
        for needed in route.middlewares
        if isinstance(needed, Requires)
    }


def _keyed(api: Api) -> set[tuple[str, str]]:
    """Return the operations that take an idempotency key, by method and path."""
    return {
        (route.method.lower(), route.openapi_path)
        for route in api.routes
        if any(isinstance(each, TakesKey) for each in route.middlewares)
    }


def _schemes(scopes: Set[str]) -> dict[str, Any]:
    """Describe a token for each scope. The scope `admin` is enough wherever a role is required."""
    admin = " or `admin`"
    return {
        scope: HTTPBearer(
            description=(
                f"A token or an API key with the scope `{scope}`{admin if scope in ROLES else ''}."
            ),
        )
        for scope in sorted(scopes)
    }


def _described(api: Api) -> dict[str, Any]:
    """Generate one API's document, with the scope that each operation requires."""
    _ = api.routes  # imports their modules
    roles, keyed = _roles_of(api), _keyed(api)
    text = api.get_openapi_json_schema(
        title=TITLE,
        version=skein.__version__,
        description=ABOUT,
        security_schemes=_schemes(set(roles.values()) or {api.scope}),
    )
    described: dict[str, Any] = json.loads(text)
    described["info"] |= {"license": LICENCE, "contact": CONTACT}
    described["paths"].pop(LINK, None)
    for path, operations in described["paths"].items():
        for method in METHODS & operations.keys():
            operation = operations[method]
            operation["operationId"] = _name(operation["operationId"], path)
            needed = roles.get((method, path), api.scope)
            operation["security"] = [] if api.is_public(path) else [{needed: []}]
            operation["responses"] = _responses(operation["responses"])
            if (method, path) in keyed:
                operation.setdefault("parameters", []).append(KEY_PARAMETER)
            if path.replace("{agent_id}", "*") in api.files and "requestBody" in operation:
                content = operation["requestBody"]["content"]
                content[YAML] = content[JSON]
            if method != "get":
                operation["responses"].pop(NOT_MODIFIED, None)
            elif NOT_MODIFIED in operation["responses"]:
                operation.setdefault("parameters", []).append(IF_NONE_MATCH)
                operation["responses"]["200"]["headers"] = {"ETag": ETAG}
            _add_examples(operation, described["components"]["schemas"])
    for schema in described["components"]["schemas"].values():
        schema.pop("example", None)
    for name in POWERTOOLS_SCHEMAS:
        described["components"]["schemas"].pop(name, None)
    schemas = described["components"]["schemas"]
    schemas["GatewayProblem"] = _gateway_problem(schemas["Problem"])
    described["components"]["responses"] = dict(_error_responses())
    return described


def _name(generated: str, path: str) -> str:
    """Return the operation id for generated clients: the function's name, without path and method.

    Args:
        generated: The operation id that Powertools generated.
        path: The path of the operation.
    """
    return generated.partition(re.sub(r"\W", "_", path))[0]


def _responses(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operation's responses by status: its own, and references to the shared errors."""
    statuses = {*found, "500"}
    return {
        status: {"$ref": f"#/components/responses/{ERRORS[status]}"}
        if status in ERRORS
        else _successful(status, found[status])
        for status in sorted(statuses)
    }


def _successful(status: str, response: dict[str, Any]) -> dict[str, Any]:
    if status in {"204", NOT_MODIFIED}:
        response.pop("content", None)
    for media_type, content in response.get("content", {}).items():
        if media_type != JSON:
            # For a generated client, a body of lines is text and not an object.
            content["schema"] = {
                "type": "string",
                "contentMediaType": media_type,
                "contentSchema": content["schema"],
            }
    return response


def _gateway_problem(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an error that Skein or the gateway may send.

    The gateway's errors have fewer fields, so no field is required.
    """
    fields = {**problem["properties"], **GATEWAY_PROBLEM["properties"]}
    return {**GATEWAY_PROBLEM, "properties": fields}


def _error_responses() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the shared response of each error status, by name."""
    for status, name in ERRORS.items():
        schema = "GatewayProblem" if status in BY_GATEWAY else "Problem"
        content = {
            "schema": {"$ref": f"#/components/schemas/{schema}"},
            "example": ERROR_EXAMPLES[status],
        }
        response: dict[str, Any] = {
            "description": STATUSES.get(int(status), INTERNAL_ERROR),
            "content": {PROBLEM_JSON: content},
        }
        if status in BY_GATEWAY:
            by_gateway = {"message": GATEWAY_MESSAGES[status]}
            response["content"][JSON] = {**content, "example": by_gateway}
        if status == "429":
            response["headers"] = {"Retry-After": RETRY_AFTER}
        yield name, response


def _add_examples(operation: dict[str, Any], schemas: Mapping[str, Any]) -> None:
    """Add the examples of the request's and the responses' models, if a model has an example."""
    for part in (operation.get("requestBody", {}), *operation["responses"].values()):
        content = part.get("content", {}).get(JSON, {})
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        if "example" in schemas.get(name, {}):
            content["example"] = schemas[name]["example"]


def _add_webhook(document: dict[str, Any]) -> None:
    """Add the webhook of services, which has its own handler and no route."""
    document["paths"][WEBHOOK_PATH] = WEBHOOK
    document["components"]["schemas"]["StartedRuns"] = STARTED_RUNS
    document["components"]["securitySchemes"][SIGNATURE] = SIGNATURE_SCHEME


def _add_events(document: dict[str, Any]) -> None:
    """Add the events that Skein sends, as `webhooks`."""
    models = event_models()
    schemas = document["components"]["schemas"]
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]]
    wanted = [(model, "serialization") for model in models.values()]
    _, described = models_json_schema(wanted, ref_template="#/components/schemas/{model}")
    for name, schema in described["$defs"].items():
        schemas.setdefault(name, schema)
    document["webhooks"] = {
        kind: {
            "post": {
                "tags": ["events"],
                "operationId": f"on_{kind.replace('.', '_')}",
                "summary": str(model.__doc__).splitlines()[0].rstrip("."),
                "description": "Skein sends this event to the endpoints that list its type.",
                "security": [],
                "parameters": EVENT_HEADERS,
                "requestBody": {
                    "required": True,
                    "content": {
                        CLOUD_EVENT: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
                    },
                },
                "responses": {
                    "204": {"description": "Received. Each status from 200 to 299 counts."},
                    "4XX": {"description": "Not received: Skein sends the event again later."},
                    "5XX": {"description": "Not received: Skein sends the event again later."},
                },
            }
        }
        for kind, model in models.items()
    }


def _name_enums(document: dict[str, Any]) -> None:
    """Replace each enum by a reference to a schema that has the enum's name in the code.

    Raises:
        ValueError: An enum has no name in `skein`.
    """
    names = literal_names()
    schemas: dict[str, Any] = document["components"]["schemas"]
    for holder in [each for each in _holders(document) if each is not schemas]:
        for key, schema in list(_children(holder)):
            if not isinstance(schema, dict) or "enum" not in schema:
                continue
            values = tuple(schema["enum"])
            if values not in names:
                raise ValueError(f"give the values {values} a name in skein")
            name = names[values]
            schemas[name] = {
                "title": name,
                "type": schema.get("type", "string"),
                "enum": list(values),
            }
            kept = {each: schema[each] for each in ("description", "default") if each in schema}
            holder[key] = {"$ref": f"#/components/schemas/{name}", **kept}


def literal_names() -> dict[tuple[object, ...], str]:
    """Return the names of all type aliases of literals in `skein`, by their values.

    If several aliases have the same values, the first by name is used.
    """
    names: dict[tuple[object, ...], str] = {}
    modules = [module for name, module in sys.modules.items() if name.startswith("skein.")]
    for alias, value in sorted(
        ((name, value) for module in modules for name, value in vars(module).items()),
        key=lambda found: found[0],
    ):
        if get_origin(value) is Literal:
            names.setdefault(get_args(value), alias)
    return names


def _name_maps(schemas: dict[str, Any]) -> None:
    """Replace each object in a nullable field by a reference to a named schema.

    Code generators would otherwise name such a type with a number: `UserChangeProfileType0`.

    Args:
        schemas: The schemas of the document, by name.
    """
    for name, schema in list(schemas.items()):
        for field, described in schema.get("properties", {}).items():
            for position, choice in enumerate(described.get("anyOf", ())):
                if choice.get("type") == "object":
                    named = f"{name}{field.title().replace('_', '')}"
                    schemas[named] = {"title": named, **choice}
                    described["anyOf"][position] = {"$ref": f"#/components/schemas/{named}"}


def _merge_nulls(document: dict[str, Any]) -> None:
    """Replace each choice between a type and null by a list of both types.

    Some code generators create a numbered type for each choice that has constraints: `Title1`.
    """
    for schema in [each for each in _holders(document) if isinstance(each, dict)]:
        match schema.get("anyOf"):
            case [{"type": str(kind), **rest}, {"type": "null"}]:
                schema.pop("anyOf")
                given = dict(schema)
                schema.clear()
                schema.update({**rest, **given, "type": [kind, "null"]})


def _simplify_fields(document: dict[str, Any]) -> None:
    """Remove generated titles, and move the defaults of optional fields into their descriptions.

    Some code generators create a type for each title, and require fields that have a default.
    """
    for schema in document["components"]["schemas"].values():
        for name, field in schema.get("properties", {}).items():
            field.pop("title", None)
            if name in schema.get("required", ()) or "default" not in field or "const" in field:
                continue
            default = field.pop("default")
            if default is not None and not isinstance(default, dict):
                text = f"Default: `{json.dumps(default)}`."
                field["description"] = f"{field.get('description', '')} {text}".strip()


def _operations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for operations in document["paths"].values():
        for method in METHODS & operations.keys():
            yield operations[method]


def _holders(value: Any) -> Iterator[Any]:
    """Yield all objects and arrays in a document."""
    if isinstance(value, dict | list):
        yield value
        for _, child in _children(value):
            yield from _holders(child)


def _children(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of an object, or the positions and items of an array."""
    yield from holder.items() if isinstance(holder, dict) else enumerate(holder)
