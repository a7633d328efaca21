"""Requests and resources of the HTTP API: API keys, and tokens for people."""

from typing import Annotated

from pydantic import ConfigDict, Field

from skein.identity.models.api_key import ApiKeyFields, KeyEndFields
from skein.models.api.base import CreatedAt, Id, Page, Request, Resource
from skein.models.common.base import Instant
from skein.models.common.json_types import NUMBER

MIN_SECONDS, DEFAULT_SECONDS, MAX_SECONDS = 60, 3_600, 86_400


class NewKey(KeyEndFields, ApiKeyFields, Request):
    """A new API key."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"name": "shop server", "roles": ["support", "tokens"]}}
    )


class KeyResource(KeyEndFields, ApiKeyFields, Resource):
    """An API key, without its secret."""

    id: Id
    created_by: Annotated[str, Field(description="The `sub` of the operator who made the key.")]
    created_at: CreatedAt


class NewKeyResource(KeyResource):
    """A new API key. The key is shown only once."""

    key: Annotated[str, Field(description="The bearer token of the server's calls.")]


class KeyPage(Page[KeyResource]):
    """A page of API keys, oldest first."""


class NewToken(Request):
    """A new token for a person."""

    expires_in_seconds: Annotated[
        int,
        Field(ge=MIN_SECONDS, le=MAX_SECONDS, description="How long the token is valid."),
        NUMBER,
    ] = DEFAULT_SECONDS


class TokenResource(Resource):
    """A token for a person. It is shown only once."""

    token: Annotated[str, Field(description="The bearer token of the person's calls.")]
    expires_at: Annotated[Instant, Field(description="When the token expires.")]
