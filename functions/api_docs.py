"""Handler that serves the OpenAPI document of both APIs, generated from their routes."""

import json
import re
from functools import cache
from typing import Any

from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer
from aws_lambda_powertools.utilities.typing import LambdaContext

import admin_api
import mobile_api
import skein
from routes.app import Api, check_query
from skein.errors import Unprocessable
from skein.http import error_response
from skein.logs import logged

TITLE = "Skein"
ABOUT = "AI agents with one coherent mind across many conversations."
POWERTOOLS_SCHEMAS = ("HTTPValidationError", "ResponseValidationError", "ValidationError")
ERROR = {"$ref": "#/components/schemas/ErrorEnvelope"}
# With these statuses, API Gateway itself may answer, and its body is not an `ErrorEnvelope`.
BY_GATEWAY = frozenset({"401", "403", "413", "429", "500", "503"})
GATEWAY_ERROR = {
    "title": "GatewayError",
    "description": "An error of API Gateway itself.",
    "type": "object",
    "properties": {"message": {"type": ["string", "null"]}},
    "required": ["message"],
}
EITHER = {"anyOf": [ERROR, {"$ref": "#/components/schemas/GatewayError"}]}
ERROR_CONTENT = {"application/json": {"schema": ERROR}}
EITHER_CONTENT = {"application/json": {"schema": EITHER}}
NOT_MODIFIED = "304"
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of the same list; the answer is 304 if the list has not changed.",
    "schema": {"type": "string"},
}
METHODS = frozenset({"get", "put", "post", "patch", "delete"})


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Return the OpenAPI document; a query gets 422, as in the other calls of the API."""
    try:
        check_query(event.get("queryStringParameters") or {})
    except Unprocessable as error:
        return error_response(error)
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(document(), ensure_ascii=False, separators=(",", ":")),
    }


@cache
def document() -> dict[str, Any]:
    """Generate the OpenAPI document, once per container.

    Raises:
        ValueError: Both APIs have the same method of a path, or different components of one name.
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
    return merged


def _described(api: Api) -> dict[str, Any]:
    """Generate one API's document, with the scope that each operation requires."""
    scheme = HTTPBearer(bearerFormat="JWT", description=f"A JWT with the scope `{api.scope}`.")
    text = api.get_openapi_json_schema(
        title=TITLE,
        version=skein.__version__,
        description=ABOUT,
        security_schemes={api.scope: scheme},
    )
    described: dict[str, Any] = json.loads(text)
    for path, operations in described["paths"].items():
        for method in METHODS & operations.keys():
            operation = operations[method]
            operation["operationId"] = _name(operation["operationId"], path)
            operation["security"] = [] if path in api.public else [{api.scope: []}]
            operation["responses"] = _answers(operation["responses"])
            if NOT_MODIFIED in operation["responses"]:
                operation.setdefault("parameters", []).append(IF_NONE_MATCH)
    for name in POWERTOOLS_SCHEMAS:
        described["components"]["schemas"].pop(name, None)
    described["components"]["schemas"]["GatewayError"] = GATEWAY_ERROR
    return described


def _name(generated: str, path: str) -> str:
    """Return the operation id for generated clients: the function's name, without path and method.

    Args:
        generated: The operation id that Powertools generated.
        path: The path of the operation.
    """
    return generated.partition(re.sub(r"\W", "_", path))[0]


def _answers(found: dict[str, Any]) -> dict[str, Any]:
    """Return an operation's responses by status, without Powertools' own error schemas."""
    kept = {
        status: answer
        for status, answer in sorted(found.items())
        if not any(schema in json.dumps(answer) for schema in POWERTOOLS_SCHEMAS)
    }
    for status in {"204", NOT_MODIFIED} & kept.keys():
        kept[status].pop("content", None)
    kept["500"] = {"description": "An internal error occurred.", "content": ERROR_CONTENT}
    for status in BY_GATEWAY & kept.keys():
        kept[status] = kept[status] | {"content": EITHER_CONTENT}
    return kept
