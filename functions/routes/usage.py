"""Route of a day's model usage, for operators (function `admin_api`)."""

from routes.app import ApiRouter, Day, documented
from routes.audited import reads
from skein.bootstrap.api import services
from skein.models.api.usage import UsageResource

router = ApiRouter()


@router.get(
    "/v1/usage",
    summary="Get the tenant's usage of one day",
    tags=["usage"],
    responses=documented(200, UsageResource, 400),
    middlewares=reads("usage"),
)
def get_usage(day: Day = None) -> UsageResource:
    """Counts all model answers: in runs, for summaries and for memories."""
    return UsageResource.of(services().usage.of_day(router.caller.tenant, day))
