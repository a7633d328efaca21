"""JWT authorizer of the local API Gateway, and the identity provider that signs its tokens.

The checks and the error responses follow
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
"""

import hashlib
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from local.events import Response, json_response
from local.files import read_whole, write_whole
from local.web.identity_provider import IdentityProvider

KEY_BITS = 2048
TOKEN_SECONDS = 24 * 3600
LOCAL_ISSUED_AT = "local_iat"  # a claim: when the token was issued, by the local clock
ALGORITHMS = ("RS256",)


class RefusedError(Exception):
    """The gateway refuses a request with `response` and does not call the function."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


class Authorizer:
    """Authorizer that signs and verifies tokens with a persistent key.

    Tokens expire by real time, even while the local clock is ahead, because in production they come
    from an external identity provider. But functions get the time of issue by the local clock, with
    which Skein compares it to sign-outs.

    Args:
        key_file: The file of the private key, created on first use.
        issuer: The `iss` of every token.
        audience: The `aud` of every token.
        provider: An identity provider whose tokens are accepted, too.
        now: Returns the time of the local clock, in seconds since 1970.
    """

    def __init__(
        self,
        key_file: Path,
        *,
        issuer: str,
        audience: str,
        provider: IdentityProvider | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.issuer = issuer
        self.audience = audience
        self._provider = provider
        self._now = now
        self._key = _key(key_file)
        self._key_id = _thumbprint(self._key)

    def token(self, *, sub: str, tenant: str, scope: str, name: str | None = None) -> str:
        """Create a token for a user, valid for 24 hours.

        Args:
            sub: The id of the user.
            scope: The scopes, separated by spaces; empty for none.
            name: The name of the user; None for a token without the claim `name`.
        """
        claims: dict[str, Any] = {"aud": self.audience, "jti": str(uuid.uuid4()), "sub": sub}
        claims |= {"tenant": tenant, LOCAL_ISSUED_AT: int(self._now())}
        if scope:
            claims["scope"] = scope
        if name is not None:
            claims["name"] = name
        return self._signed(claims)

    def id_token(self, *, sub: str, name: str, client: str, nonce: str) -> str:
        """Create an ID token, which tells a client who has signed in.

        Args:
            sub: The id of the user.
            client: The id of the client, which is the token's audience.
            nonce: The value that the client sent; empty for none.
        """
        claims = {"aud": client, "sub": sub, "name": name}
        return self._signed({**claims, "nonce": nonce} if nonce else claims)

    @property
    def public_key(self) -> dict[str, Any]:
        """The public key of the tokens, as a JSON Web Key."""
        key: dict[str, Any] = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {**key, "kid": self._key_id, "alg": "RS256", "use": "sig"}

    def _signed(self, claims: Mapping[str, Any]) -> str:
        now = int(time.time())
        given = {"iss": self.issuer, "iat": now, "exp": now + TOKEN_SECONDS, **claims}
        return jwt.encode(given, self._key, algorithm="RS256", headers={"kid": self._key_id})

    def authorize(self, header: str | None, scopes: Sequence[str] = ()) -> dict[str, Any]:
        """Verify an `Authorization` header and return the event's `authorizer` object.

        Args:
            header: The header, with or without `Bearer`.
            scopes: The accepted scopes, of which the token needs one; empty for no requirement.

        Raises:
            RefusedError: The token is missing or invalid (401), or has none of the scopes (403).
        """
        claims = self._claims(header)
        granted = str(claims.get("scope", claims.get("scp", ""))).split()
        matched = [scope for scope in scopes if scope in granted]
        if scopes and not matched:
            raise RefusedError(json_response(403, {"message": "Forbidden"}))
        return {
            "jwt": {
                "claims": {name: _as_text(value) for name, value in claims.items()},
                "scopes": matched or None,
            }
        }

    def _claims(self, header: str | None) -> Mapping[str, Any]:
        if not header:
            raise _unauthorized("Bearer")
        try:
            claims = self._decoded(header)
        except jwt.PyJWTError as error:
            words = str(error).encode("ascii", "replace").decode().replace('"', "'")
            reason = " ".join(words.lower().split())
            raise _unauthorized(
                f'Bearer scope="" error="invalid_token" error_description="{reason}"'
            ) from error
        return claims

    def _decoded(self, header: str) -> dict[str, Any]:
        scheme, _, token = header.strip().rpartition(" ")
        if scheme.lower() not in {"", "bearer"}:
            raise jwt.InvalidTokenError("not a bearer token")
        if self._provider is not None and self._provider.issued(token):
            return self._provider.claims(token)
        if jwt.get_unverified_header(token).get("kid") != self._key_id:
            raise jwt.InvalidTokenError("signed by an unknown key")
        claims: dict[str, Any] = jwt.decode(
            token,
            self._key.public_key(),
            algorithms=list(ALGORITHMS),
            issuer=self.issuer,
            audience=self.audience,
            options={"require": ["exp", "iss", "aud"]},
        )
        if LOCAL_ISSUED_AT in claims:
            claims["iat"] = claims.pop(LOCAL_ISSUED_AT)
        return claims


def _unauthorized(challenge: str) -> RefusedError:
    body = {"message": "Unauthorized"}
    return RefusedError(json_response(401, body, ("www-authenticate", challenge)))


def _as_text(value: Any) -> str:
    """Convert a claim to text, as API Gateway does."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{' '.join(_as_text(part) for part in value)}]"
    return str(value)


def _thumbprint(key: rsa.RSAPrivateKey) -> str:
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(public).hexdigest()[:16]


def _key(path: Path) -> rsa.RSAPrivateKey:
    if path.exists():
        return read_whole(path, _loaded)
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    data = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_whole(path, data)
    return key


def _loaded(data: bytes) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(data, password=None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise TypeError("the key must be an RSA key")
    return key
