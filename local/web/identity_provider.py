"""An identity provider whose tokens the local API Gateway accepts besides its own."""

import json
import urllib.request
from functools import cached_property
from typing import Any

import jwt

SECONDS = 5
ALGORITHMS = ("RS256", "RS384", "RS512")
DISCOVERY = "/.well-known/openid-configuration"


class IdentityProvider:
    """Identity provider that is found by its issuer.

    Tokens are checked as by API Gateway: the key comes from the issuer's `jwks_uri`, and the
    audience is `aud` or, without it, `client_id`.
    https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html

    Args:
        issuer: The `iss` of its tokens, an HTTP address.
        audience: The `aud` of its tokens.
    """

    def __init__(self, issuer: str, audience: str) -> None:
        self.issuer = issuer
        self._audience = audience

    def issued(self, token: str) -> bool:
        """Tell whether a token names this issuer; the signature is not checked.

        Raises:
            jwt.PyJWTError: The token is no JWT.
        """
        claims = jwt.decode(token, options={"verify_signature": False})
        return claims.get("iss") == self.issuer

    def claims(self, token: str) -> dict[str, Any]:
        """Verify a token and return its claims.

        Raises:
            jwt.PyJWTError: The token is invalid, or the provider cannot be reached.
        """
        claims: dict[str, Any] = jwt.decode(
            token,
            self._keys.get_signing_key_from_jwt(token),
            algorithms=list(ALGORITHMS),
            issuer=self.issuer,
            options={"require": ["exp", "iss"], "verify_aud": False},
        )
        audiences = claims.get("aud", claims.get("client_id", ()))
        if self._audience not in ([audiences] if isinstance(audiences, str) else audiences):
            raise jwt.InvalidAudienceError("invalid audience")
        return claims

    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        """The keys, which are read again for a token with an unknown key id."""
        address = f"{self.issuer.removesuffix('/')}{DISCOVERY}"
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # noqa: S310
                keys = str(json.load(answer)["jwks_uri"])
        except (OSError, ValueError, LookupError) as error:
            raise jwt.PyJWKClientConnectionError(f"{address} cannot be read: {error}") from error
        return jwt.PyJWKClient(keys, timeout=SECONDS, cooldown_duration=0)
