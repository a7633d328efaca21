"""Amazon Bedrock's OpenAI-compatible endpoint; requests are signed with the function's role."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skein.errors import KeyRefused

if TYPE_CHECKING:
    from collections.abc import Callable

HOST = re.compile(r"bedrock-(?:runtime|mantle)\.([a-z0-9-]+)\.(?:amazonaws\.com|api\.aws)")


def bedrock_region(base_url: str | None) -> str | None:
    """Return the region of Bedrock's OpenAI-compatible endpoint; None for any other address."""
    parts = urlsplit(base_url or "")
    found = HOST.fullmatch(parts.hostname or "") if parts.scheme == "https" else None
    return found[1] if found else None


def bedrock_signer(base_url: str, region: str, credentials: Callable[[], object | None]) -> Any:
    """Return the SDK's provider that signs each request with AWS Signature Version 4.

    Args:
        base_url: The address of the endpoint.
        region: The region for which requests are signed.
        credentials: Returns the current credentials of AWS, or None.

    Raises:
        KeyRefused: There are no credentials.
    """
    from openai.providers.bedrock import bedrock

    if credentials() is None:
        raise KeyRefused("there are no credentials of AWS for Bedrock")
    return bedrock(region=region, base_url=base_url, credential_provider=credentials)
