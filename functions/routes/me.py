"""Routes of the caller's own user record."""

from routes.app import ApiRouter, documented
from routes.audited import changes, unaudited
from skein.bootstrap.api import services
from skein.models.api.directory import Myself, OwnChange

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


@router.patch(
    "/v1/me",
    summary="Update the caller's profile",
    tags=["me"],
    responses=documented(200, Myself, 400, 409, 413),
    middlewares=changes("user"),
)
def change_me(change: OwnChange) -> Myself:
    """A caller without a record gets one. A new name appears in the caller's chats."""
    caller = router.caller
    services().rate_limiter.admit_change(caller.tenant, caller.user_id)
    user = services().users.change_own(caller.tenant, caller.person, change)
    return Myself.of(user, tenant=caller.tenant, scopes=caller.scopes)
