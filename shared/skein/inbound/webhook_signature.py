"""Signatures of webhook services: `X-Skein-Signature: t=<unix>,v1=<hex>`."""

import hashlib
import hmac
import re
from datetime import datetime, timedelta

WINDOW = timedelta(minutes=5)

_FORM = re.compile(r"t=(?P<t>[0-9]{1,12}),v1=(?P<v1>[0-9a-fA-F]{64})")


def secret_of(nonce: str, *, key: str) -> str:
    """Return the secret of a service in hex, derived from its nonce and the services' key."""
    return hmac.new(key.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def sign(secret: str, sent_at: str, body: bytes) -> str:
    """Return the HMAC-SHA256 of `<sent_at>.<body>` in hex, with the text of `secret` as the key."""
    signed = b".".join([sent_at.encode(), body])
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def verified(secret: str, header: str, body: bytes, now: datetime) -> str | None:
    """Verify the signature of a webhook.

    Args:
        secret: The service's secret.
        header: The header `X-Skein-Signature` as received.
        body: The bytes that were signed.
        now: The current time. The time in the header must be within 5 minutes of it.

    Returns:
        The signature; None if the header is malformed, wrong, or more than 5 minutes old or in
        the future.
    """
    match = _FORM.fullmatch(header.replace(" ", ""))
    sent_at = match["t"] if match else "0"
    right = sign(secret, sent_at, body)
    same = hmac.compare_digest(right, match["v1"].lower() if match else "")
    fresh = abs(now.timestamp() - int(sent_at)) <= WINDOW.total_seconds()
    return right if same and fresh else None
