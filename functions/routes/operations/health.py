"""Route of the health check, which needs no token."""

import logging

from routes.audited import Unaudited
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.errors import Transient
from skein.models.api.base import Health
from skein.services.config.stack_settings import StackSettingsService

router = ApiRouter("service", Unaudited("the response contains no data of a tenant"))

logger = logging.getLogger(__name__)


@router.get("/healthz", "Check that the service is up", public=True)
def get_health() -> Health:
    """The call reads the stack's pauses. The answer is `ok` even if they cannot be read."""
    try:
        paused = tuple(sorted(service(StackSettingsService).pauses().since))
    except Transient:
        logger.warning("failed to read the stack's pauses")
        return Health()
    return Health(paused=paused)
