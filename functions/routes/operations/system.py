"""Route of the state of the system, for operators (function `admin_api`)."""

from dataclasses import asdict

from routes.router import ApiRouter
from skein.bootstrap import app, service
from skein.models.api.runs import RunResource
from skein.models.api.system import (
    BacklogResource,
    BacklogRowResource,
    LastErrorResource,
    ModelStatusResource,
    SystemResource,
)
from skein.models.api.usage import UsageRowResource
from skein.models.common.reason import meaning_of
from skein.models.runs.run import Run
from skein.services.directory.model_status import ModelStatuses
from skein.services.outbox.backlogs import Backlogs
from skein.services.quotas.usage_reports import UsageReports
from skein.services.runs.current_work import WorkOverviews

router = ApiRouter("service", "system", role="support")


@router.get("/v1/system", "Get the system status")
def get_system() -> SystemResource:
    """The model's state, and the tenant's current runs, last error and today's usage."""
    tenant, ports = router.caller.tenant, app().ports
    status = service(ModelStatuses).current()
    overview = service(WorkOverviews).of_tenant(tenant)
    total = service(UsageReports).report(tenant, "tenant").total
    return SystemResource(
        now=ports.clock.now(),
        model=ModelStatusResource(name=ports.settings.default_model, **status._asdict()),
        runs=tuple(RunResource.for_operators(run, private=False) for run in overview.live),
        last_error=_last_error(overview.troubled) if overview.troubled is not None else None,
        today=UsageRowResource.from_parts(tenant, total.usage, total.money),
    )


@router.get("/v1/system/backlog", "Get the tenant's backlog")
def get_backlog() -> BacklogResource:
    """Counts by kind: due later, due now and overdue. Only work of the tenant is counted."""
    backlogs = service(Backlogs).of_tenant(router.caller.tenant)
    rows = map(asdict, backlogs)
    return BacklogResource(
        now=app().ports.clock.now(), items=tuple(BacklogRowResource(**row) for row in rows)
    )


def _last_error(run: Run) -> LastErrorResource:
    return LastErrorResource(
        run_id=run.id,
        agent_id=run.agent_id,
        reason=run.reason,
        meaning=meaning_of(run.reason),
        error=None if run.private else run.error,
        at=run.ended_at or run.created_at,
    )
