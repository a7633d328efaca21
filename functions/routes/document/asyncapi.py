"""AsyncAPI document of the live channel, generated from the models of its frames."""

from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

import skein
from routes.document.openapi import CONTACT, LICENCE, TITLE
from skein.live.api import ClientFrame, Frame

ABOUT = """The live channel tells an app at once what has changed in a person's chats.

`POST /v1/live` of the HTTP API returns the URL of the channel and a ticket, which opens one
WebSocket connection within 60 seconds. Each frame is a JSON object with a `type`."""
LICENCE_URL = "https://www.apache.org/licenses/LICENSE-2.0"
TAG = {"name": "live", "description": "Frames of the live channel."}
TICKET = {
    "type": "httpApiKey",
    "name": "ticket",
    "in": "query",
    "description": "The ticket from `POST /v1/live`.",
}


@cache
def document() -> dict[str, Any]:
    """Generate the AsyncAPI document, once per container."""
    sent, received = get_args(Frame), get_args(get_args(ClientFrame)[0])
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]]
    wanted = [(model, "serialization") for model in sent]
    wanted += [(model, "validation") for model in received]
    _, described = models_json_schema(wanted, ref_template="#/components/schemas/{model}")
    names = [model.__name__ for model in (*sent, *received)]
    schemas = described["$defs"]
    return {
        "asyncapi": "3.0.0",
        "id": "urn:skein:live",
        "info": {
            "title": f"{TITLE} live channel",
            "version": skein.__version__,
            "description": ABOUT,
            "license": {"name": LICENCE["name"], "url": LICENCE_URL},
            "contact": CONTACT,
            "tags": [TAG],
        },
        "defaultContentType": "application/json",
        "servers": {
            "live": {
                "host": "{host}",
                "protocol": "wss",
                "description": "The `url` of the ticket.",
                "variables": {"host": {"description": "The host and path of the ticket's `url`."}},
            }
        },
        "channels": {
            "live": {
                "address": "/",
                "description": "One connection of a person.",
                "servers": [{"$ref": "#/servers/live"}],
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
            }
        },
        "operations": {
            "sendFrame": _operation("send", "A frame from the server.", sent),
            "receiveFrame": _operation("receive", "A frame from a client.", received),
        },
        "components": {
            "messages": {name: _message(name, schemas[name]) for name in names},
            "schemas": _plain(schemas),
            "securitySchemes": {"ticket": TICKET},
        },
    }


def _operation(action: str, summary: str, models: tuple[type, ...]) -> dict[str, Any]:
    return {
        "action": action,
        "channel": {"$ref": "#/channels/live"},
        "summary": summary,
        "description": f"{summary} Skein {action}s it.",
        "security": [{"$ref": "#/components/securitySchemes/ticket"}],
        "messages": [{"$ref": f"#/channels/live/messages/{each.__name__}"} for each in models],
    }


def _message(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "title": name,
        "summary": schema.get("description", name),
        "contentType": "application/json",
        "payload": {"$ref": f"#/components/schemas/{name}"},
    }


def _plain(value: Any) -> Any:
    """Return the schemas, with only `$ref` in each object that has a reference.

    AsyncAPI allows no other keywords beside a reference.
    """
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("$ref"), str):
        return {"$ref": value["$ref"]}
    return {name: _plain(each) for name, each in value.items()}
