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
    """Pass the caller's identity, or the reason why it is unknown, to the function that is called.

    A request with an unknown caller is let through, so that the function can answer with 401 and
    the reason. If the authorizer refused the request, the gateway would answer with 403 and its own
    text.
    """
    try:
        caller = service(Callers).identify(event["identitySource"][0])
    except Unauthenticated as refused:
        return {"isAuthorized": True, "context": {"refused": refused.message}}
    claims = dict(caller.claims)
    found = {"source": caller.source, "sub": claims.get("sub", ""), "claims": claims}
    return {"isAuthorized": True, "context": found}
