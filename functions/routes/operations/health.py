"""Route of the health check, which needs no token."""

import logging

from routes.audited import Unaudited
from routes.router import ApiRouter
from skein.bootstrap.api import services
from skein.errors import Transient
from skein.models.api.base import Health

router = ApiRouter("service", Unaudited("the response contains no data of a tenant"))

logger = logging.getLogger(__name__)


@router.get("/healthz", "Check that the service is up", public=True)
def get_health() -> Health:
    """This reads the stack's pauses. The answer is `ok` even if they cannot be read."""
    try:
        paused = tuple(sorted(services().stack_settings.pauses().since))
    except Transient:
        logger.warning("failed to read the stack's pauses")
        return Health()
    return Health(paused=paused)
