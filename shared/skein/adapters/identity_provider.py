"""The issuer of people's tokens, discovered from its address by OpenID Connect.

The checks are the same as in API Gateway's JWT authorizer: the key comes from the issuer's
`jwks_uri`, and the audience is `aud` or, if that is missing, `client_id`.
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
"""

import json
import logging
import urllib.request
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import jwt

from skein.errors import Unauthenticated, Unavailable

SECONDS = 5
ALGORITHMS = ("RS256", "RS384", "RS512")
DISCOVERY = "/.well-known/openid-configuration"

logger = logging.getLogger(__name__)


class OpenIdProvider:
    """`IdentityProvider` by PyJWT.

    Args:
        issuer: The `iss` of the tokens, an HTTP address; empty for a deployment without an issuer.
        audience: The `aud` of the tokens.
    """

    def __init__(self, issuer: str, audience: str) -> None:
        self.issuer = issuer
        self._audience = audience

    def claims(self, token: str) -> Mapping[str, Any]:
        if issuer_of(token) != self.issuer or not self.issuer:
            raise Unauthenticated("the token is of another issuer")
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._keys.get_signing_key_from_jwt(token),
                algorithms=list(ALGORITHMS),
                issuer=self.issuer,
                options={"require": ["exp", "iss"], "verify_aud": False},
            )
        except jwt.PyJWKClientConnectionError as error:
            logger.warning("keys of the issuer cannot be read: %s", type(error.__cause__).__name__)
            raise Unavailable("the issuer cannot be reached") from error
        except jwt.PyJWTError as error:
            raise Unauthenticated(refusal(error)) from error
        audiences = claims.get("aud", claims.get("client_id", ()))
        if self._audience not in ([audiences] if isinstance(audiences, str) else audiences):
            raise Unauthenticated("the token is for another audience")
        return claims

    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        """The issuer's keys, which are read again for a token with an unknown key id."""
        address = f"{self.issuer.removesuffix('/')}{DISCOVERY}"
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # noqa: S310
                keys = str(json.load(answer)["jwks_uri"])
        except (OSError, ValueError, LookupError) as error:
            raise jwt.PyJWKClientConnectionError(f"{address} cannot be read") from error
        return jwt.PyJWKClient(keys, timeout=SECONDS)


def issuer_of(token: str) -> str:
    """Return the issuer that a token names, without a check of the signature.

    Raises:
        Unauthenticated: The token is not a JWT.
    """
    try:
        return str(jwt.decode(token, options={"verify_signature": False}).get("iss", ""))
    except jwt.PyJWTError as error:
        raise Unauthenticated("the token is no JWT, and no key or token of Skein") from error


def refusal(error: jwt.PyJWTError) -> str:
    """Return why a token is refused, without any part of the token."""
    if isinstance(error, jwt.ExpiredSignatureError):
        return "the token has expired"
    return f"the token is invalid ({type(error).__name__.removesuffix('Error')})"
