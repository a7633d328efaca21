"""Routes of a tenant's settings, for operators (function `admin_api`)."""

from routes.app import ApiRouter, documented
from routes.audited import changes, reads
from skein.bootstrap.api import services
from skein.models.api.directory import SettingsResource
from skein.models.config.overrides import TenantOverrides, TenantOverridesChange

router = ApiRouter()


@router.get(
    "/v1/settings",
    summary="Get the tenant's settings",
    tags=["settings"],
    responses=documented(200, SettingsResource),
    middlewares=reads("settings"),
)
def get_settings() -> SettingsResource:
    """Null means the deployment's setting. Agents and lines may have their own settings."""
    return _shown(services().tenant_settings.get(router.caller.tenant))


@router.patch(
    "/v1/settings",
    summary="Update the tenant's settings",
    tags=["settings"],
    responses=documented(200, SettingsResource, 400, 413),
    middlewares=changes("settings"),
)
def change_settings(change: TenantOverridesChange) -> SettingsResource:
    """Omitted settings stay unchanged; null resets a setting to the deployment's."""
    return _shown(services().tenant_settings.change(router.caller.tenant, change))


def _shown(said: TenantOverrides) -> SettingsResource:
    return SettingsResource.model_validate(said.said)
