"""Routes of API keys, and of the tokens that servers make for people (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import Limit, PageCursor, UserId
from routes.audited import Audited, note_seen
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.identity.api import KeyPage, KeyResource, NewKey, NewKeyResource, NewToken, TokenResource
from skein.identity.api_keys import ApiKeys
from skein.identity.models.api_key import ApiKey
from skein.identity.models.user_token import UserToken
from skein.identity.user_tokens import UserTokens
from skein.models.common.base import EntityId
from skein.services.common.pagination import DEFAULT_PAGE

KeyId = Annotated[EntityId, Path(description="The id of an API key.")]

TOKEN_REASON = "A server made a token for this person."  # noqa: S105 - what the person reads

router = ApiRouter("keys", "key", role="owner")


@router.post("/v1/keys", "Create an API key", 409)
def create_key(new: NewKey) -> NewKeyResource:
    """The key is shown only once. It is the bearer token of the server's calls.

    A caller can give a key only roles that the caller has.
    The role `tokens` can be given only by callers with the role `privacy`.
    """
    caller = router.caller
    keys = service(ApiKeys)
    made = router.once(
        ApiKey,
        lambda: keys.create(caller.tenant, new, by=caller.user_id, roles=caller.roles),
        lambda key_id: keys.rotate(caller.tenant, key_id),
    )
    shown = KeyResource.of(made).model_dump()
    return NewKeyResource(**shown, key=made.text)


@router.get("/v1/keys", "List API keys, oldest first")
def list_keys(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> KeyPage:
    """The list has expired keys, too, but no key's secret."""
    return KeyPage.of(service(ApiKeys).list(router.caller.tenant, limit=limit, cursor=cursor))


@router.delete("/v1/keys/<key_id>", "Revoke an API key")
def delete_key(key_id: KeyId) -> Response[None]:
    """The key, and all tokens that were created with it, are refused from now on."""
    service(ApiKeys).delete(router.caller.tenant, key_id)
    return no_content()


@router.post(
    "/v1/users/<user_id>/tokens",
    "Issue a token for a user",
    role="tokens",
    audit=Audited("create", "token", scope="tokens", reason=TOKEN_REASON),
)
def create_token(user_id: UserId, new: NewToken) -> TokenResource:
    """Requires an API key with the role `tokens`. The token has the scope `chat`.

    The user sees the token in their list of accesses to private content. A sign-out of the user
    ends the token.
    """
    caller = router.caller
    note_seen([user_id])
    tokens = service(UserTokens)
    token, expires_at = router.once(
        UserToken,
        lambda: tokens.create(
            caller.tenant, user_id, key_id=caller.user_id, seconds=new.expires_in_seconds
        ),
        lambda token_id: tokens.rotate(caller.tenant, user_id, token_id),
    )
    return TokenResource(token=token, expires_at=expires_at)
