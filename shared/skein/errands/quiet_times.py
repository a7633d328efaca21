"""The quiet hours of the people that errands ask."""

from datetime import datetime

from skein.errands.models.errand import Errand
from skein.errors import NotFound
from skein.models.common.reason import Reason
from skein.models.config.overrides import TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.ports import Table
from skein.services.directory.time_zones import quiet_until
from skein.settings import Settings


def end_of_quiet(
    table: Table, settings: Settings, errand: Errand, now: datetime
) -> datetime | None:
    """Return when the quiet hours of the asked person end; None outside their quiet hours.

    Args:
        settings: The settings of the deployment.

    Raises:
        NotFound: The agent is gone.
    """
    user_key = User.key_of(errand.tenant, errand.asked.id)
    agent_key = Agent.key_of(errand.tenant, errand.agent_id)
    settings_key = TenantSettings.key_of(errand.tenant)
    found = table.get_many([user_key, agent_key, settings_key])
    agent = Agent.read(found, agent_key)
    if agent is None or agent.deleted_at is not None:
        raise NotFound("agent not found", reason=Reason.AGENT_DELETED)
    user = User.read(found, user_key)
    overrides = TenantSettings.from_optional(found.get(settings_key))
    return quiet_until(now, user, settings.overridden(overrides), agent.time_zone)
