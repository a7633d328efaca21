"""Signer of the local issuer's tokens, in place of a deployment's identity provider."""

import hashlib
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from local.files import read_whole, write_whole
from skein.adapters.identity_provider import issuer_of, refusal
from skein.errors import Unauthenticated
from skein.ports import IdentityProvider

KEY_BITS = 2048
TOKEN_SECONDS = 24 * 3600
LOCAL_ISSUED_AT = "local_iat"  # a claim: when the token was issued, by the local clock
ALGORITHMS = ("RS256",)


class TokenSigner:
    """Signs tokens with a persistent key, and verifies them (see `IdentityProvider`).

    Tokens expire by real time, even while the local clock is ahead, because in production they come
    from an external identity provider. In the claims that functions get, the times of issue and
    expiry are in local time, because Skein compares them with the local clock.

    Args:
        key_file: The file of the private key, created on first use.
        issuer: The `iss` of every token.
        audience: The `aud` of every token.
        other: A further identity provider whose tokens are accepted; None for none.
        now: Returns the time of the local clock, in seconds since 1970.
    """

    def __init__(
        self,
        key_file: Path,
        *,
        issuer: str,
        audience: str,
        other: IdentityProvider | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.issuer = issuer
        self.audience = audience
        self._other = other
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
        """Create an ID token, which tells a client which user has signed in.

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

    def claims(self, token: str) -> Mapping[str, Any]:
        """See `skein.ports.IdentityProvider`. Times are in the time of the local clock."""
        own = issuer_of(token) == self.issuer
        if not own and self._other is None:
            raise Unauthenticated("the token is of another issuer")
        given = self._verified(token) if own or self._other is None else self._other.claims(token)
        claims = dict(given)
        if LOCAL_ISSUED_AT in claims:
            claims["iat"] = claims.pop(LOCAL_ISSUED_AT)
        return {**claims, "exp": claims["exp"] + round(self._now() - time.time())}

    def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            if jwt.get_unverified_header(token).get("kid") != self._key_id:
                raise Unauthenticated("the token is signed by an unknown key")
            claims: dict[str, Any] = jwt.decode(
                token,
                self._key.public_key(),
                algorithms=list(ALGORITHMS),
                issuer=self.issuer,
                audience=self.audience,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(refusal(error)) from error
        return claims


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
