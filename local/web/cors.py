"""CORS of the local API Gateway, which lets pages of other origins call the API.

As in a deployment, the gateway itself answers preflight requests, and adds the CORS headers to
every response, even to its own errors. The functions know nothing about CORS.
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from local.events import Request, Response
from local.template import Template


@dataclass(frozen=True)
class Cors:
    """CORS rules of the gateway.

    Attributes:
        rules: `CorsConfiguration` of the template: origins, methods, headers, the maximum age.
    """

    rules: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, template: Template, origins: Sequence[str], *, every: bool = False) -> "Cors":
        """Read the rules of the template's API.

        Args:
            origins: The origins whose pages may call the API, such as `http://127.0.0.1:8787`.
            every: Whether pages of every origin may call the API, as with `Widget=on`.
        """
        _, api = next(template.resources("AWS::Serverless::HttpApi"), ("", {}))
        given = {"CorsOrigins": ",".join(origins), "Widget": "on" if every else "off"}
        return cls(template.resolve(api.get("CorsConfiguration"), given) or {})

    def preflight(self, request: Request) -> Response | None:
        """Answer a preflight request; None for any other request."""
        asked = "access-control-request-method" in request.headers
        if request.method != "OPTIONS" or not asked or not self.rules:
            return None
        allowed: list[tuple[str, str]] = []
        if self._allowed(request) is not None:
            allowed = [
                ("access-control-allow-methods", ",".join(self.rules["AllowMethods"])),
                ("access-control-allow-headers", ",".join(self.rules["AllowHeaders"])),
                ("access-control-max-age", str(self.rules["MaxAge"])),
            ]
        return self.answering(request, Response(204, allowed))

    def answering(self, request: Request, response: Response) -> Response:
        """Add to a response the headers that let pages of an allowed origin read it."""
        origin = self._allowed(request)
        if origin is None:
            return response
        exposed = ",".join(self.rules["ExposeHeaders"])
        headers = [
            ("access-control-allow-origin", origin),
            ("access-control-expose-headers", exposed),
            ("vary", "origin"),
        ]
        return replace(response, headers=(*response.headers, *headers))

    def _allowed(self, request: Request) -> str | None:
        """Return the origin to allow in the response; None if the page may not read it."""
        origin, allowed = request.headers.get("origin"), self.rules.get("AllowOrigins", ())
        if origin is None or "*" in allowed:
            return None if origin is None else "*"
        return origin if origin in allowed else None


def own_origins(url: str) -> tuple[str, ...]:
    """Return the origins of the stack's own pages in a browser on this machine."""
    return (url, url.replace("127.0.0.1", "localhost"))
