"""Route of the caller's own user record."""

from routes.app import ApiRouter, documented
from routes.audited import unaudited
from skein.bootstrap.api import services
from skein.models.api.directory import Myself

router = ApiRouter()


@router.get(
    "/v1/me",
    summary="Get the caller's profile",
    tags=["me"],
    responses=documented(200, Myself),
    middlewares=unaudited("the caller reads their own data"),
)
def me() -> Myself:
    """A caller without a record gets the data of the token."""
    caller = router.caller
    user = services().users.me(caller.tenant, caller.person)
    return Myself.of(user, tenant=caller.tenant, scopes=caller.scopes)
