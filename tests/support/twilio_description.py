"""Twilio's own description of its API, held against requests and stand-ins' answers.

`tests/golden/twilio_messages.json` has the parts about messages and numbers of the OpenAPI
description that Twilio publishes (twilio/twilio-oai, `twilio_api_v2010.json`).
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jsonschema import Draft4Validator

from tests.support.goldens import FOLDER

JSON, FORM = "application/json", "application/x-www-form-urlencoded"


class UnknownToTwilioError(AssertionError):
    """A request or an answer is not as Twilio describes it."""


@cache
def _description() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(
        (FOLDER / "twilio_messages.json").read_text(encoding="utf-8")
    )
    return found


def _operation(method: str, path: str) -> Mapping[str, Any] | None:
    """Return the description of a call; None for parts of the API that are not described here."""
    for template, calls in _description()["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        if re.search(f"{pattern}$", path):
            found: Mapping[str, Any] = calls[method.lower()]
            return found
    return None


def check_request(method: str, path: str, values: Sequence[tuple[str, str]]) -> None:
    """Check the form or the query of a request.

    Raises:
        UnknownToTwilioError: A field is missing, unknown or of the wrong form.
    """
    operation = _operation(method, path)
    if operation is None:
        return
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"][FORM]["schema"]
    else:
        described = [one for one in operation["parameters"] if one["in"] == "query"]
        schema = {"properties": {one["name"]: one["schema"] for one in described}}
    properties = schema["properties"]
    given: dict[str, Any] = {}
    for name, text in values:
        kind = _resolved(properties.get(name, {})).get("type", "string")
        value = _read(kind, text)
        given[name] = [*given.get(name, []), text] if kind == "array" else value
    _check(f"{method} {path}", {**schema, "additionalProperties": False}, given)


def check_answer(method: str, path: str, status: int, body: Any) -> None:
    """Check the answer, in bytes or as data, to a request that has succeeded.

    Raises:
        UnknownToTwilioError: A field is unknown or of the wrong type, or the status is.
    """
    operation = _operation(method, path)
    if operation is None or status >= 400:
        return
    described = operation["responses"].get(str(status))
    if described is None:
        raise UnknownToTwilioError(f"{method} {path} never answers {status}")
    schema = _resolved(described["content"][JSON]["schema"])
    found = json.loads(body) if isinstance(body, bytes) else body
    _check(f"the answer to {method} {path}", {**schema, "additionalProperties": False}, found)


def _read(kind: str, text: str) -> Any:
    """Return a field of a form as its type; a text that is none stays one, and fails."""
    try:
        return json.loads(text) if kind in {"boolean", "integer", "number"} else text
    except ValueError:
        return text


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    named = schema.get("$ref", "").rsplit("/", 1)[-1]
    found: Mapping[str, Any] = _description()["components"]["schemas"][named] if named else schema
    return found


def _strict(schema: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema that allows no unknown fields."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {key: _strict(each) for key, each in _resolved(schema).items()}
    if found.pop("nullable", False) and "type" in found:
        found["type"] = [found["type"], "null"]
    if "properties" in found:
        found["additionalProperties"] = False
    return found


def _check(what: str, schema: Mapping[str, Any], value: Any) -> None:
    errors = [error.message for error in Draft4Validator(_strict(schema)).iter_errors(value)]
    if errors:
        raise UnknownToTwilioError(f"{what}: {'; '.join(errors)}")
