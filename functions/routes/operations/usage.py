"""Routes of usage, for operators (function `admin_api`)."""

from datetime import date
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BeforeValidator

from routes.app import Day, iso_day
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.errors import Unprocessable
from skein.models.api.usage import UsageReportResource, UsageResource, UsageRowResource
from skein.services.quotas.usage import UsageCounters
from skein.services.quotas.usage_reports import UsageBy, UsageReport, UsageReports, UsageRow

router = ApiRouter("usage", "usage", role="support")

By = Annotated[
    UsageBy | None, Query(description="What each row of a report stands for; default: the day.")
]
From = Annotated[
    date | None,
    BeforeValidator(iso_day),
    Query(alias="from", description="The first day of a report (UTC); default: its last day."),
]
To = Annotated[
    date | None,
    BeforeValidator(iso_day),
    Query(description="The last day of a report, at most 31 days; default: today."),
]


@router.get("/v1/usage", "Get the tenant's usage, of one day or as a report", 400)
def get_usage(
    day: Day = None, by: By = None, from_: From = None, to: To = None
) -> UsageResource | UsageReportResource:
    """Without `by`, `from` or `to`, the usage of one day: all answers of models.

    The usage includes answers in runs, for summaries and for memories. With `by`, `from` or `to`, a
    report has one row for each day (the default), agent, person, model or channel, or one for the
    tenant. Rows by person leave out work that no person caused. Rows by channel count only
    messages.
    """
    tenant = router.caller.tenant
    if by is None and from_ is None and to is None:
        return UsageResource.of(service(UsageCounters).of_day(tenant, day))
    if day is not None:
        raise Unprocessable("for a report, use `from` and `to` instead of `day`")
    return _report(service(UsageReports).report(tenant, by or "day", first=from_, last=to))


def _report(report: UsageReport) -> UsageReportResource:
    return UsageReportResource(
        by=report.by,
        first=report.first,
        last=report.last,
        total=_row(report.total),
        rows=tuple(map(_row, report.rows)),
    )


def _row(row: UsageRow) -> UsageRowResource:
    return UsageRowResource.from_parts(row.key, row.usage, row.money)
