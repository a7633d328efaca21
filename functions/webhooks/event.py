"""What a webhook's event carries (API Gateway's payload format 2.0).

Powertools has a class for it, but only together with the classes of all other services, which a
webhook would load for nothing.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self


class Webhook(NamedTuple):
    """A request by somebody else's machine.

    Attributes:
        path: Of the route, as the template has it: without stage and domain.
        query: As it was sent.
        headers: By their names in lower case.
        parameters: Of the path, by name.
        body: Text, in base64 if `encoded`.
    """

    path: str
    query: str
    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    body: str
    encoded: bool

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """The request of an event."""
        return cls(
            path=event["routeKey"].partition(" ")[2],
            query=event.get("rawQueryString") or "",
            headers={name.lower(): value for name, value in (event.get("headers") or {}).items()},
            parameters=event.get("pathParameters") or {},
            body=event.get("body") or "",
            encoded=bool(event.get("isBase64Encoded")),
        )
