"""Responses with public files: compressed, and cached by browsers and shared caches."""

import gzip
import hashlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# A shared cache answers for a minute. A browser revalidates each time, and gets 304 for the same
# ETag.
CACHING = "public, max-age=0, s-maxage=60, must-revalidate"


@dataclass(frozen=True)
class PublicFile:
    """A file that is the same for all callers.

    Attributes:
        content: Its bytes, as UTF-8 if it is text.
        kind: Its content type.
    """

    content: bytes
    kind: str

    @cached_property
    def etag(self) -> str:
        """A hash of the content, as a weak tag.

        It is weak because the compressed and the uncompressed file have the same tag.
        """
        return f'W/"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    @cached_property
    def _compressed(self) -> str:
        return b64encode(gzip.compress(self.content, mtime=0)).decode()

    def answer(
        self, event: Mapping[str, Any], headers: Mapping[str, str], caching: str = CACHING
    ) -> dict[str, Any]:
        """Return the file as an API Gateway HTTP API response (payload format 2.0).

        The response is 304 without a body if the caller already has the file.

        Args:
            event: The request.
            headers: Additional headers of the response.
            caching: How long browsers and shared caches keep the file.
        """
        asked: Mapping[str, str] = event.get("headers") or {}
        sent = {
            **headers,
            "cache-control": caching,
            "etag": self.etag,
            "vary": "accept-encoding",
        }
        if self.etag in asked.get("if-none-match", ""):
            return {"statusCode": 304, "headers": sent}
        sent["content-type"] = self.kind
        if "gzip" not in asked.get("accept-encoding", ""):
            return {"statusCode": 200, "headers": sent, "body": self.content.decode()}
        return {
            "statusCode": 200,
            "headers": sent | {"content-encoding": "gzip"},
            "body": self._compressed,
            "isBase64Encoded": True,
        }
