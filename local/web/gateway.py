"""Local API Gateway, which converts requests to events and results to responses."""

import logging
from collections.abc import Sequence

from local.events import Request, Response, http_event, http_response, json_response
from local.functions import Invoker
from local.template import Function
from local.web.authorizer import Authorizer, RefusedError
from local.web.cors import Cors
from local.web.routes import Match, Routes
from skein.ports import Clock

# https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
MAX_BODY_BYTES = 10 * 1024 * 1024

logger = logging.getLogger(__name__)


class Gateway:
    """Gateway that routes requests to the template's functions.

    Args:
        template_functions: The functions with their routes.
        authorizer: Finds the caller of routes that require one.
        cors: The CORS rules, which say whose pages may call the API; by default, no other origin's
            may.
    """

    def __init__(
        self,
        template_functions: Sequence[Function],
        *,
        functions: Invoker,
        authorizer: Authorizer,
        clock: Clock,
        cors: Cors | None = None,
    ) -> None:
        self._routes = Routes(template_functions)
        self._functions = functions
        self._authorizer = authorizer
        self._clock = clock
        self._cors = cors or Cors()

    def answer(self, request: Request) -> Response:
        """Handle one request; errors become error responses."""
        preflight = self._cors.preflight(request)
        return preflight or self._cors.answering(request, self._answer(request))

    def _answer(self, request: Request) -> Response:
        match = self._routes.match(request.method, request.path)
        if match is None:
            return json_response(404, {"message": "Not Found"})
        if len(request.body) > MAX_BODY_BYTES:
            return json_response(413, {"message": "Request Entity Too Large"})
        try:
            return self._invoke(match, request)
        except RefusedError as refused:
            return refused.response
        except Exception:
            logger.exception("%s failed", match.function.logical_id)
            return json_response(500, {"message": "Internal Server Error"})

    def _invoke(self, match: Match, request: Request) -> Response:
        authorizer = None
        if match.route.authorized:
            authorizer = self._authorizer.authorize(request, match.key)
        event = http_event(
            request,
            route_key=match.key,
            path_parameters=match.path_parameters,
            authorizer=authorizer,
            now=self._clock.now(),
        )
        return http_response(self._functions.invoke(match.function, event))
