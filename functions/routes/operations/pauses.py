"""Routes of a tenant's pauses, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.router import ApiRouter
from skein.bootstrap import service
from skein.models.api.pauses import PausesResource, PauseTimes
from skein.models.config.pauses import PauseKind
from skein.services.config.pauses import TenantPauses

router = ApiRouter("settings", "pause", role="support", writes="owner")

Kind = Annotated[PauseKind, Path(description="The kind of work.")]


@router.get("/v1/pauses", "List active pauses")
def get_pauses() -> PausesResource:
    """The pauses of the tenant and of the whole stack."""
    return _shown()


@router.put("/v1/pauses/<kind>", "Pause work of the tenant")
def begin_pause(kind: Kind) -> PausesResource:
    """Skein still accepts messages. Paused work waits until the pause ends."""
    service(TenantPauses).switch(router.caller.tenant, kind, on=True)
    return _shown()


@router.delete("/v1/pauses/<kind>", "Resume work of the tenant")
def end_pause(kind: Kind) -> PausesResource:
    """Paused work continues within a minute, oldest first. A pause of the whole stack stays."""
    service(TenantPauses).switch(router.caller.tenant, kind, on=False)
    return _shown()


def _shown() -> PausesResource:
    tenants, stacks = service(TenantPauses).get(router.caller.tenant)
    return PausesResource(tenant=PauseTimes.of(tenants), stack=PauseTimes.of(stacks))
