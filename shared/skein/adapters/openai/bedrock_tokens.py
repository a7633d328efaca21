"""Short-lived tokens for Amazon Bedrock, signed with the role of the function.

A token is a presigned request, as AWS's `aws-bedrock-token-generator` makes it:
https://github.com/aws/aws-bedrock-token-generator-python
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skein.errors import MissingSecret

if TYPE_CHECKING:
    from skein.adapters.aws.clients import Aws

HOST = re.compile(r"bedrock-(?:runtime|mantle)\.([a-z0-9-]+)\.(?:amazonaws\.com|api\.aws)")
SIGNED_HOST = "bedrock.amazonaws.com"
SECONDS = 900  # of a token, which is used at once


def bedrock_region(base_url: str | None) -> str | None:
    """Return the region of Bedrock's OpenAI-compatible endpoint; None for another address."""
    parts = urlsplit(base_url or "")
    found = HOST.fullmatch(parts.hostname or "") if parts.scheme == "https" else None
    return found[1] if found else None


def bedrock_token(aws: Aws, region: str) -> str:
    """Return a new token for a region.

    Raises:
        MissingSecret: There are no credentials of AWS.
    """
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    credentials = aws.credentials()
    if credentials is None:
        raise MissingSecret("there are no credentials of AWS for Bedrock")
    request = AWSRequest(
        method="POST",
        url=f"https://{SIGNED_HOST}/",
        headers={"host": SIGNED_HOST},
        params={"Action": "CallWithBearerToken"},
    )
    SigV4QueryAuth(credentials, "bedrock", region, expires=SECONDS).add_auth(request)
    signed = f"{str(request.url).removeprefix('https://')}&Version=1"
    return f"bedrock-api-key-{b64encode(signed.encode()).decode()}"
