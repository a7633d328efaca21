"""The text of an API key or a token issued by Skein, which a client sends as its bearer token."""

import base64
import hashlib
import hmac
import json
import re
import secrets
from typing import Literal, NamedTuple, Self

SECRET_BYTES = 32
MAX_TENANT, MAX_ID = 64, 128
TEXT = re.compile(r"skein_(key|token|visit|renewal)_([A-Za-z0-9_-]{1,1000})\.([A-Za-z0-9_-]{43})")

CallerSource = Literal["issuer", "key", "token", "visit"]
"""Who has issued what a caller sends: the issuer, or Skein."""

CredentialKind = Literal["key", "token", "visit", "renewal"]
PARTS: dict[CredentialKind, int] = {"key": 1, "token": 2, "visit": 6, "renewal": 6}


class Credential(NamedTuple):
    """An API key or a token: the ids that lead to its record, and its secret.

    Attributes:
        ids: For a key, its id. For a token, the ids of its person and of the token. For a token of
            a visit, all claims of the token.
        secret: The secret. For a token of a visit, the signature (`visit_tokens`).
    """

    kind: CredentialKind
    tenant: str
    ids: tuple[str, ...]
    secret: str

    @classmethod
    def new(cls, kind: CredentialKind, tenant: str, *ids: str) -> Self:
        """Create a credential with a new secret."""
        return cls(kind, tenant, ids, secrets.token_urlsafe(SECRET_BYTES))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read the text of a credential; None if the text has another form."""
        found = TEXT.fullmatch(text)
        if found is None:
            return None
        kind: CredentialKind = found[1]  # type: ignore[assignment]
        try:
            address = json.loads(base64.urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4)))
        except ValueError:
            return None
        if not isinstance(address, list) or len(address) != 1 + PARTS[kind]:
            return None
        tenant, *ids = address
        if not _fits(tenant, MAX_TENANT) or not all(_fits(each, MAX_ID) for each in ids):
            return None
        return cls(kind, tenant, tuple(ids), found[3])

    @property
    def text(self) -> str:
        """The text that the client sends."""
        encoded = base64.urlsafe_b64encode(self.address).decode().rstrip("=")
        return f"skein_{self.kind}_{encoded}.{self.secret}"

    @property
    def address(self) -> bytes:
        """The tenant and the ids, in the form that the credential's text contains."""
        return json.dumps([self.tenant, *self.ids], separators=(",", ":")).encode()

    @property
    def hash(self) -> str:
        """The stored hash of the secret; a fast hash suffices because the secret is random."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def matches(self, stored: str) -> bool:
        """Return whether a stored hash matches the secret, in constant time."""
        return hmac.compare_digest(self.hash, stored)


def _fits(part: object, length: int) -> bool:
    return isinstance(part, str) and 0 < len(part) <= length
