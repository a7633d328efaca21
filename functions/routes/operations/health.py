"""Route of the health check, which needs no token."""

import logging

from routes.app import ApiRouter, documented
from routes.audited import unaudited
from skein.bootstrap.api import services
from skein.errors import Transient
from skein.models.api.base import Health

router = ApiRouter()

logger = logging.getLogger(__name__)


@router.get(
    "/healthz",
    summary="Check that the service is up",
    tags=["service"],
    responses={status: documented(200, Health)[status] for status in (200, 422)},
    middlewares=unaudited("the response contains no data of a tenant"),
)
def get_health() -> Health:
    """This reads the stack's pauses. The answer is `ok` even if they cannot be read."""
    try:
        paused = tuple(sorted(services().stack_settings.pauses().since))
    except Transient:
        logger.warning("failed to read the stack's pauses")
        return Health()
    return Health(paused=paused)
