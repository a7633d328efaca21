"""Error responses of the local stack, in the form of Skein's API."""

import json
from collections.abc import Mapping

from local.events import Response
from skein.http import PROBLEM_JSON, problem


def error_answer(
    status: int, code: str, message: str, *, details: Mapping[str, object] | None = None
) -> Response:
    """Return an error response.

    Args:
        status: The HTTP status.
        code: The error code, such as `not_found`.
        message: One sentence for the developer.
        details: JSON values for programs.
    """
    body = json.dumps(problem(status, code, message, details or {})).encode()
    return Response(status, (("content-type", PROBLEM_JSON),), body)
