"""Route of the health check, which needs no token."""

from routes.app import ApiRouter, documented
from routes.audited import unaudited
from skein.models.api.base import Health

router = ApiRouter()


@router.get(
    "/healthz",
    summary="Check that the service is up",
    tags=["service"],
    responses={status: documented(200, Health)[status] for status in (200, 422)},
    middlewares=unaudited("the response contains no data"),
)
def health() -> Health:
    """No other service is called."""
    return Health()
