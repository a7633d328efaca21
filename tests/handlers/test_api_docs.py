"""The OpenAPI document says what the API does, and all of it."""

import gzip
import json
import re
from base64 import b64decode
from typing import Any, get_args

import jsonschema_rs
import pytest

import admin_api
import api_docs
import mobile_api
from routes.app import Role
from routes.document.field_texts import ENUMS, describe_fields
from routes.document.openapi import BY_GATEWAY, ERRORS, LINK, TAGS, document
from skein.errors import Rejected
from tests.support.api_client import Client, Context, operator, recorded
from tests.support.builders import World
from tests.support.each import check_each

WEBHOOK = ("post", "/webhooks/services/{service_id}")
ROUTES = sorted(
    (str(route.method).lower(), str(route.openapi_path))
    for api in (mobile_api.api, admin_api.api)
    for route in api.routes
    if route.openapi_path != LINK
)


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    """The document's operations by method and path."""
    return {
        (method, path): operation
        for path, found in document()["paths"].items()
        for method, operation in found.items()
    }


def references(value: Any) -> set[str]:
    """Every schema that is mentioned anywhere in `value`."""
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(value)))


def test_the_recorded_event_is_answered_with_the_document() -> None:
    answer = Client(World(), api=api_docs).send(recorded("api_docs"))
    assert answer.status == 200
    assert answer.body == document()
    assert answer.body["openapi"].startswith("3.1")


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/asyncapi.json"])
def test_document_is_small_for_callers_that_read_gzip_and_304_for_those_that_have_it(
    path: str,
) -> None:
    def ask(**headers: str) -> dict[str, Any]:
        event = recorded("api_docs") | {"rawPath": path, "headers": headers}
        answer: dict[str, Any] = api_docs.handler(event, Context(api_docs))  # type: ignore[arg-type]
        return answer

    plain, packed = ask(), ask(**{"accept-encoding": "gzip"})
    assert packed["isBase64Encoded"]
    assert packed["headers"]["cache-control"].startswith("public")
    assert gzip.decompress(b64decode(packed["body"])).decode() == plain["body"]
    assert len(b64decode(packed["body"])) < len(plain["body"]) / 4
    again = ask(**{"if-none-match": packed["headers"]["etag"]})
    assert (again["statusCode"], "body" in again) == (304, False)


def test_every_route_is_in_the_document() -> None:
    assert sorted(operations()) == sorted([*ROUTES, WEBHOOK])


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for operation in operations().values()]
    assert len(set(names)) == len(names)
    routes = mobile_api.api.routes
    assert {route.func.__name__ for route in routes} <= {*names, "open_link"}


def test_moments_are_described_as_such() -> None:
    schemas = document()["components"]["schemas"]
    moments = {
        f"{name}.{field}": json.dumps(described)
        for name, schema in schemas.items()
        for field, described in schema.get("properties", {}).items()
        if field.endswith("_at") and name != "NewPlan"  # which takes local times, too
    }
    assert len(moments) > 20
    assert [name for name, described in moments.items() if '"date-time"' not in described] == []


def test_every_schema_that_is_mentioned_is_there_and_the_other_way_round() -> None:
    described = document()
    assert references(described) == described["components"]["schemas"].keys()


def test_each_scope_has_a_bearer_scheme() -> None:
    schemes = document()["components"]["securitySchemes"]
    assert {name: (s["type"], s.get("scheme")) for name, s in schemes.items()} == {
        "chat": ("http", "bearer"),
        "support": ("http", "bearer"),
        "privacy": ("http", "bearer"),
        "owner": ("http", "bearer"),
        "tokens": ("http", "bearer"),
        "signature": ("apiKey", None),
    }


# Routes whose parameters decide between two resources.
ALTERNATIVES = {"/v1/usage": {"UsageResource", "UsageReportResource"}}


def test_every_operation_lists_its_scope_and_its_statuses() -> None:
    check_each({f"{method} {path}": (method, path) for method, path in ROUTES}, _check_lists)


def _check_lists(route: tuple[str, str]) -> None:
    method, path = route
    operation = operations()[method, path]
    statuses = set(operation["responses"])
    of_bodies = {"400", "413", "415"} if method in {"post", "patch", "put"} else set[str]()
    assert operation["summary"]
    assert operation["tags"]
    assert len(operation["description"]) > 10
    if path == "/healthz":
        assert operation["security"] == []
        assert statuses - {"302", "404"} in ({"200", "422", "500"}, {"422", "500"})
        return
    if path.startswith("/v1/widgets/") and not operation["security"]:  # for anybody, on its pages
        assert {"403", "404", "422"} | of_bodies <= statuses
        return
    [[scope]] = operation["security"]
    assert scope in {"chat", *get_args(Role)}
    expected = {"401", "403", "422", "429", "500", "503"} | of_bodies
    if "{" in path:
        expected |= {"404"}
    assert expected <= statuses
    for status, answer in operation["responses"].items():
        if int(status) >= 400:
            assert answer == {"$ref": f"#/components/responses/{ERRORS[status]}"}
        elif status in {"204", "304"}:
            assert "content" not in answer
        else:
            assert references(answer) == ALTERNATIVES.get(path, references(answer))
            assert len(references(answer)) == len(ALTERNATIVES.get(path, "1"))


def test_every_error_that_callers_may_cause_is_described() -> None:
    described = {int(status) for each in operations().values() for status in each["responses"]}
    assert {error.status for error in Rejected.__subclasses__()} <= described


def test_a_chat_that_cannot_be_opened_is_described() -> None:
    """Somebody in it is being erased: found by schemathesis, undescribed (`make fuzz`)."""
    world = World()
    world.agent()
    client = Client(world, sub="usr_gone")
    admin = operator(world)
    assert admin.post("/v1/users", {"id": "usr_gone", "name": "Gone"}).status == 201
    assert admin.delete("/v1/users/usr_gone").status == 202
    answer = client.post("/v1/chats", {"kind": "group"})
    described = document()["paths"]["/v1/chats"]["post"]["responses"]
    assert (answer.status, answer.code) == (409, "conflict")
    assert "409" in described


def test_an_export_of_lines_is_described_as_such() -> None:
    """Found by schemathesis: it was described as JSON (`make fuzz`)."""
    path = "/v1/agents/{agent_id}/threads/{thread_id}/export"
    answers = document()["paths"][path]["get"]["responses"]
    assert list(answers["200"]["content"]) == ["application/jsonl"]


def test_document_with_a_query_parameter_answers_422_with_its_name() -> None:
    answer = Client(World(), api=api_docs).get("/openapi.json", format="yaml")
    assert (answer.status, answer.code) == (422, "unprocessable")
    [reason] = answer.body["details"]["reasons"]
    assert reason == {"where": ["query", "format"], "why": "unknown parameter"}


# ---------------------------------------------------------------------- for code generators


def test_each_error_status_has_one_shape() -> None:
    shared = document()["components"]["responses"]
    for status, name in ERRORS.items():
        schema = "GatewayProblem" if status in BY_GATEWAY else "Problem"
        contents = shared[name]["content"]
        own = {"application/json"} if status in BY_GATEWAY else set()
        assert contents.keys() == {"application/problem+json", *own}
        for content in contents.values():
            assert content["schema"] == {"$ref": f"#/components/schemas/{schema}"}
    assert shared["TooManyRequests"]["headers"].keys() == {"Retry-After"}


def test_every_error_code_is_in_the_enum() -> None:
    codes = {Rejected.code, *(error.code for error in Rejected.__subclasses__())}
    described = document()["components"]["schemas"]["ErrorCode"]["enum"]
    assert set(described) == codes | {"unavailable", "storage_full", "internal"}


def test_every_enum_is_a_schema_with_a_name() -> None:
    schemas = document()["components"]["schemas"]
    enums = {name: schema for name, schema in schemas.items() if "enum" in schema}
    assert {"ChatKind", "MemberKind", "ReplyMode", "RunStatus", "ToolName"} <= enums.keys()
    assert json.dumps(document()).count('"enum"') == len(enums)


def test_optional_fields_of_requests_have_no_default() -> None:
    """openapi-typescript requires a field that has a default."""
    for name, schema in document()["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            if field not in schema.get("required", ()) and "const" not in described:
                assert "default" not in described, f"{name}.{field}"


def test_constraints_are_keywords_of_json_schema() -> None:
    for name, schema in document()["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert not {'"ge"', '"le"', '"gt"', '"lt"'} & set(
            re.findall(r'"\w+"', json.dumps(schema))
        ), name


def test_every_tag_is_described() -> None:
    used = {tag for operation in operations().values() for tag in operation["tags"]}
    assert {tag["name"] for tag in document()["tags"]} == used == TAGS.keys()


def test_list_operations_document_etag_and_304() -> None:
    responses = operations()["get", "/v1/chats"]["responses"]
    assert responses["200"]["headers"].keys() == {"ETag"}
    assert "304" in responses
    assert "304" not in operations()["post", "/v1/chats/{chat_id}/runs"]["responses"]


def test_examples_fit_their_schemas() -> None:
    contents = [
        content
        for operation in operations().values()
        for part in (operation.get("requestBody", {}), *operation["responses"].values())
        for content in part.get("content", {}).values()
    ]
    shared = document()["components"]["responses"].values()
    contents.extend(content for each in shared for content in each["content"].values())
    examples = [content for content in contents if "example" in content]
    assert len(examples) > 20
    # Together, since each schema is read with all components.
    schemas = {str(n): content["schema"] for n, content in enumerate(examples)}
    schema = {"components": document()["components"], "properties": schemas}
    shown = {str(n): content["example"] for n, content in enumerate(examples)}
    jsonschema_rs.validate(schema, shown)


def test_each_field_and_parameter_has_a_description() -> None:
    bare = [
        f"{name}.{field}"
        for name, schema in document()["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
        if not described.get("description", "").partition("Default:")[0].strip()
    ]
    bare += [
        f"{operation['operationId']}({parameter['name']})"
        for operation in operations().values()
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]
    assert bare == [], "describe the fields in their models"


def test_each_schema_has_a_description() -> None:
    schemas = document()["components"]["schemas"]
    named = {name for name, schema in schemas.items() if "enum" in schema} - {"Reason"}
    differing = sorted(named ^ ENUMS.keys())
    assert not differing, (
        f"add {differing} to ENUMS of routes/document/field_texts.py, or remove them"
    )
    bare = {name for name, schema in schemas.items() if not schema.get("description")}
    maps = ("Parameters", "Profile", "Sections")  # the fields that have these maps describe them
    assert {name for name in bare if not name.endswith(maps)} == set()


def test_listed_attributes_of_a_model_describe_its_fields() -> None:
    schema: dict[str, Any] = {
        "description": "A thing.\n\nAttributes:\n    size: The\n        size.\n    name: X.",
        "properties": {"size": {}, "name": {"description": "Own."}},
    }
    describe_fields({"Thing": schema})
    assert schema["description"] == "A thing."
    texts = {name: field["description"] for name, field in schema["properties"].items()}
    assert texts == {"size": "The size.", "name": "Own."}
