"""Handler of the gateway's authorizer, which finds out who sends a request."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import load_adapters, service
from skein.errors import Unauthenticated
from skein.identity.callers import Callers
from skein.logs import logged

load_adapters("identity_provider")


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Tell the function behind the gateway who calls, or why the caller is unknown.

    If the authorizer refused a request, the gateway would answer with 403 and a text of its own.
    The authorizer therefore lets a request with an unknown caller pass, and the function answers
    with 401 and the reason.
    """
    try:
        caller = service(Callers).identify(event["identitySource"][0])
    except Unauthenticated as refused:
        return {"isAuthorized": True, "context": {"refused": refused.message}}
    claims = dict(caller.claims)
    found = {"source": caller.source, "sub": claims.get("sub", ""), "claims": claims}
    return {"isAuthorized": True, "context": found}
