"""A tool of an MCP server, as an operator approved it."""

import hashlib
import json
import re
from typing import Annotated, Any, Literal

from pydantic import Field

from skein.models.common.base import Value
from skein.models.common.json_types import JsonBool

OwnToolEffect = Literal["read", "write"]

OF_SERVER = "__"  # separates the name of a server from the name of its tool
NOT_IN_NAMES = re.compile(r"[^a-z0-9_]")
DIGEST_CHARACTERS = 16


class ServerToolRights(Value):
    """An operator's classification of an MCP server's tool, which replaces the server's hints."""

    effect: Annotated[
        OwnToolEffect,
        Field(description="Whether a call only reads, or has effects that must happen once."),
    ] = "write"
    idempotent: Annotated[
        JsonBool,
        Field(description="Whether the server repeats no write with the same Idempotency-Key."),
    ] = False
    values_confirmed: Annotated[
        JsonBool,
        Field(
            description="Whether the operator has read the values of all enums, so that a private "
            "run may choose among them and the values of booleans without a question."
        ),
    ] = False


class ServerTool(Value):
    """A tool of an MCP server: what a model sees of it, and what the server hints about it."""

    name: Annotated[str, Field(description="The name, as the server lists it.")]
    description: Annotated[str, Field(description="What the model reads about the tool.")]
    parameters: Annotated[
        dict[str, Any], Field(description="JSON Schema of the arguments, as models get it.")
    ]
    effect: Annotated[
        OwnToolEffect,
        Field(description="Whether a call only reads, as the server hints; this is only shown."),
    ]
    idempotent: Annotated[
        bool,
        Field(
            description="Whether a repeated call has no effect, as the server hints; this is only "
            "shown."
        ),
    ]

    @property
    def short_name(self) -> str:
        """The normalised name. Agents see it after the server's name, as in `server__name`."""
        return NOT_IN_NAMES.sub("_", self.name.casefold())

    @property
    def digest(self) -> str:
        """The hash of everything that an operator approves."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]
