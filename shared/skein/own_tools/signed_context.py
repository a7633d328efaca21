"""The signed context of a call: the person it is made for, and the readers of its result.

It is signed according to Standard Webhooks (https://www.standardwebhooks.com): the header
`webhook-signature` signs the id, the time and the JSON. Signing takes ten lines of code, so a
library in each Lambda function is not worthwhile.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import datetime

from skein.models.common.base import Identifier, Tenant, Value

SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with
NONCE_BYTES = 32
GIVEN_BYTES = range(24, 65)  # lengths that are allowed for a secret that a caller provides


class CallContext(Value):
    """The context of a call, which the service may trust.

    Attributes:
        agent_id, chat_id, run_id: None if an operator makes the call to try the tool.
        person: The only person whose messages the call answers; None if that is unclear.
        readers: The people who will see the result; None for all members, and no visitors.
        idempotency_key: The key of the call, which is the same in each retry.
    """

    tenant: Tenant
    agent_id: Identifier | None
    chat_id: Identifier | None
    run_id: Identifier | None
    person: Identifier | None
    readers: tuple[Identifier, ...] | None
    idempotency_key: str

    def payload(self, request_sha256: str) -> str:
        """Return the JSON that is signed.

        Args:
            request_sha256: The hash of the request; see `hash_of_request`.
        """
        shown = self.model_dump(mode="json", exclude={"idempotency_key"})
        shown["readers"] = "tenant" if self.readers is None else list(self.readers)
        return json.dumps(shown | {"request_sha256": request_sha256}, separators=(",", ":"))


def context_of_operator(tenant: str, by: str | None, key: str) -> CallContext:
    """Return the context of an operator's call: the operator is the person and the only reader.

    Args:
        key: The idempotency key.
    """
    return CallContext(
        tenant=tenant,
        agent_id=None,
        chat_id=None,
        run_id=None,
        person=by,
        readers=(by,) if by is not None else (),
        idempotency_key=key,
    )


def hash_of_request(method: str, url: str, body: bytes) -> str:
    """Return the SHA-256, in hex, of three lines: a request's method, its URL, and its body."""
    return hashlib.sha256(f"{method}\n{url}\n".encode() + body).hexdigest()


def new_nonce() -> str:
    """Return the random part of a new secret."""
    return secrets.token_hex(NONCE_BYTES)


def secret_of(nonce: str, *, key: str, sealed: str | None = None) -> str:
    """Return a secret in the form of Standard Webhooks.

    A secret that no caller provided is derived from its nonce and the services' key. Because the
    key is not in the table, read access to the table is not enough to sign.

    Args:
        nonce: The random part of the secret, unique to it.
        key: The services' key, which is not in the table.
        sealed: The secret that a caller provided, as returned by `seal`.
    """
    if sealed is None:
        secret = hmac.digest(key.encode(), nonce.encode(), "sha256")
    else:
        secret = _masked(base64.b64decode(sealed), nonce, key)
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def seal(secret: str, nonce: str, *, key: str) -> str:
    """Return a secret that a caller provided, encrypted for the table.

    The secret is encrypted with a mask that is as long as the longest secret. The mask is used only
    once, because it is derived from the nonce of this secret.
    """
    return base64.b64encode(_masked(_bytes_of(secret), nonce, key)).decode()


def given_secret(secret: str) -> str:
    """Check a secret that a caller provides, and return it.

    Raises:
        ValueError: The secret does not have the form of Standard Webhooks. The error does not
            quote the secret.
    """
    try:
        if secret.startswith(SECRET_PREFIX) and len(_bytes_of(secret)) in GIVEN_BYTES:
            return secret
    except binascii.Error:
        pass
    raise ValueError(f"a secret is {SECRET_PREFIX} and the base64 of 24 to 64 bytes")


def _masked(secret: bytes, nonce: str, key: str) -> bytes:
    mask = hmac.digest(key.encode(), b"seal:" + nonce.encode(), "sha512")
    return bytes(one ^ other for one, other in zip(secret, mask, strict=False))


def _bytes_of(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)


def signature_headers(
    secret: str, message_id: str, payload: bytes, now: datetime
) -> Mapping[str, str]:
    """Return the headers of Standard Webhooks for a payload.

    Args:
        secret: The secret, with its prefix.
        message_id: The ID of the message, which is the same in each retry.
    """
    timestamp = str(int(now.timestamp()))
    key = _bytes_of(secret)
    signed = f"{message_id}.{timestamp}.".encode() + payload
    signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature}",
    }


def context_headers(
    secret: str, context: CallContext, request_sha256: str, now: datetime
) -> Mapping[str, str]:
    """Return the headers of a call: its key, its context, and the context's signature."""
    payload = context.payload(request_sha256).encode()
    return {
        "Idempotency-Key": context.idempotency_key,
        "Skein-Context": base64.urlsafe_b64encode(payload).decode().rstrip("="),
        **signature_headers(secret, context.idempotency_key, payload, now),
    }
