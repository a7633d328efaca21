"""Authorizer of the local API Gateway, which calls the template's authorizer function.

The events, the cache and the error responses follow
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
"""

from typing import Any

from local.events import Request, Response, json_response
from local.functions import Invoker
from local.template import Function
from skein.ports import Clock

CACHED = 1_000  # results


class RefusedError(Exception):
    """The gateway refuses a request: it sends `response` and does not call the function."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


class Authorizer:
    """Authorizer of the routes that require a caller.

    Args:
        function: The template's authorizer function.
        functions: The invoker that calls the function.
        cache_seconds: How long a result is cached for requests with the same `Authorization`
            header.
    """

    def __init__(
        self, function: Function, functions: Invoker, clock: Clock, *, cache_seconds: int
    ) -> None:
        self._function = function
        self._functions = functions
        self._clock = clock
        self._cache_seconds = cache_seconds
        self._results: dict[str, tuple[float, dict[str, Any]]] = {}

    def authorize(self, request: Request, route_key: str) -> dict[str, Any]:
        """Return the event's `authorizer` object.

        Raises:
            RefusedError: The request has no `Authorization` header (401), or the function denies
                it (403).
        """
        header = request.headers.get("authorization")
        if not header:
            raise RefusedError(json_response(401, {"message": "Unauthorized"}))
        now = self._clock.now().timestamp()
        until, result = self._results.get(header, (0.0, {}))
        if not now < until <= now + self._cache_seconds:  # the local clock may go back
            result = self._functions.invoke(self._function, _event(request, route_key, header))
            if len(self._results) >= CACHED:
                self._results.clear()
            self._results[header] = (now + self._cache_seconds, result)
        if result.get("isAuthorized") is not True:
            raise RefusedError(json_response(403, {"message": "Forbidden"}))
        return {"lambda": result.get("context", {})}


def _event(request: Request, route_key: str, header: str) -> dict[str, Any]:
    return {
        "version": "2.0",
        "type": "REQUEST",
        "routeKey": route_key,
        "identitySource": [header],
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": dict(request.headers),
    }
