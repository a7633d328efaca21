"""Routes of a tenant's settings, for operators (function `admin_api`)."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.router import ApiRouter
from skein.bootstrap import service
from skein.models.api.directory import (
    EffectiveSettingPage,
    EffectiveSettingResource,
    SettingsResource,
)
from skein.models.common.base import EntityId
from skein.models.config.overrides import Overrides, TenantOverridesChange
from skein.models.directory.phone_number import Phone
from skein.services.config.sources import SettingSources
from skein.services.config.tenant_settings import TenantSettingsService

router = ApiRouter("settings", "settings", role="support", writes="owner")

OfAgent = Annotated[EntityId | None, Query(description="An agent, whose own settings win.")]
OnLine = Annotated[Phone | None, Query(description="A line; omitted: chats in the app.")]


@router.get("/v1/settings", "Get the tenant's settings", model=SettingsResource)
def get_settings() -> dict[str, Any]:
    """Null means that the deployment's value applies. Agents and lines may override settings."""
    return _shown(service(TenantSettingsService).get(router.caller.tenant))


@router.patch("/v1/settings", "Update the tenant's settings", model=SettingsResource)
def change_settings(change: TenantOverridesChange) -> dict[str, Any]:
    """Omitted settings stay unchanged. Null resets a setting to the deployment's value."""
    return _shown(service(TenantSettingsService).change(router.caller.tenant, change))


@router.get("/v1/settings/effective", "Get effective settings and their sources", 404)
def get_effective_settings(agent_id: OfAgent = None, line: OnLine = None) -> EffectiveSettingPage:
    """The values that apply in direct chats: of the agent, or of the tenant without an agent."""
    found = service(SettingSources).show(router.caller.tenant, agent_id, line)
    items = tuple(EffectiveSettingResource.from_parts(*each) for each in found)
    return EffectiveSettingPage(items=items, next_cursor=None)


def _shown(overrides: Overrides) -> dict[str, Any]:
    return {name: overrides.get(name) for name in SettingsResource.model_fields}
